// The options that every command takes, before or after its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"

namespace counterbeam::cli {

struct Globals {
  std::string model;                 // empty: the shipped model
  std::string device = "auto";       // auto, cpu, cuda
  std::string dtype = "auto";        // auto, f32, bf16
  std::string activations = "auto";  // auto, int8
  int threads = 0;                   // 0: all cores
  std::int64_t cache_bytes = 0;      // 0: a share of the free memory
  std::string cache_dtype = "auto";  // auto, fp8, int8
  std::string engine;                // URLs of servers that compute; empty: this process does
  std::string engine_key;            // empty: that of the environment variable
  std::string engine_model;          // what they call the model; empty: the only one they serve
  std::uint64_t seed = 0;
  bool json = false;
  bool quiet = false;
  std::string command;  // the whole command line, as it could be typed again
};

// Their description. REQUIRES that `globals` outlives the parse.
std::vector<Option> global_options(Globals& globals);

}  // namespace counterbeam::cli
