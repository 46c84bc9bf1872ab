// What `bench` measures: the engine as searches use it, and the memory it runs on. Every figure is
// the median of a few rounds, and the rounds of all figures are interleaved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/profiled_ops.h"
#include "base/json.h"
#include "engine/local_engine.h"

namespace counterbeam::cli {

struct BenchSettings {
  std::vector<int> rows = {1, 4, 16, 48};  // sequences that decode together
  int context = 256;                       // tokens of every prompt
  int shared = 0;                          // of them the same in all prompts that decode together
  int tokens = 32;                         // decoded per sequence
  int prefill = 512;                       // tokens of a prompt that is timed
  int prompts = 1;                         // of those, read together
  int beams = 16;     // of the block that is compared with and without contexts
  int survivors = 4;  // sequences that the beams were forked from, per context
  int block = 32;     // tokens of that block
  int questions = 1;  // more: so many blocks with two contexts at the same time, too
  int rounds = 3;
  OperationProfile* profile = nullptr;  // the engine's; if set, figures have profiles
};

struct BenchFigure {
  std::string name;             // "decode 16 rows"
  int rows = 0;                 // per step
  double seconds = 0;           // median
  double tokens = 0;            // in that time
  double bytes = 0;             // weights, keys, values and states that had to be moved
  double operations = 0;        // floating-point
  OperationProfile profile{};   // of all rounds
  double profiled_seconds = 0;  // all rounds
  double tokens_per_second() const { return tokens / seconds; }
  double gigabytes_per_second() const { return bytes / seconds / 1e9; }
  double gigaflops() const { return operations / seconds / 1e9; }
};

struct BenchReport {
  double memory_gigabytes_per_second = 0;  // of what the back end computes on
  std::vector<BenchFigure> figures;
  double block_ratio = 0;  // a block with two contexts over one without
};

// Pages and states that hold everything at once, so that nothing is computed twice.
CacheNeed bench_cache(const BenchSettings& settings);

// One table per figure: where its time went, operation by operation.
std::string profile_tables(const BenchReport& report);
Json profile_json(const BenchFigure& figure);  // an object, empty without a profile

BenchReport run_bench(LocalEngine& engine, const BenchSettings& settings);

}  // namespace counterbeam::cli
