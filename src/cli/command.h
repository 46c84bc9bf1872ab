// What every command shares: the global options, and how a command is registered. A command is one
// file with one add_... function; main lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace counterbeam::cli {

struct Globals {
  std::string model;             // empty: the shipped model
  std::string device = "auto";   // auto, cpu, cuda
  std::string dtype = "auto";    // auto, f32, bf16
  int threads = 0;               // 0: all cores
  std::int64_t cache_bytes = 0;  // 0: a share of what is free
  std::uint64_t seed = 0;
  bool json = false;
  bool quiet = false;
};

// Adds a subcommand whose callback does the work; `globals` outlives the parse. A new command is
// declared here and listed in main.cpp.
using AddCommand = void (*)(CLI::App& app, const Globals& globals);
void add_inspect(CLI::App& app, const Globals& globals);
void add_tokenize(CLI::App& app, const Globals& globals);
void add_render(CLI::App& app, const Globals& globals);
void add_theory(CLI::App& app, const Globals& globals);
void add_ask(CLI::App& app, const Globals& globals);
void add_score(CLI::App& app, const Globals& globals);
void add_reproduce(CLI::App& app, const Globals& globals);
void add_merge(CLI::App& app, const Globals& globals);
void add_eval(CLI::App& app, const Globals& globals);
void add_logits(CLI::App& app, const Globals& globals);
void add_bench(CLI::App& app, const Globals& globals);
void add_grade(CLI::App& app, const Globals& globals);

}  // namespace counterbeam::cli
