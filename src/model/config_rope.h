// Rotary position encoding: the settings, and the frequencies they give. Same formulas and the same
// float32 steps as transformers.
#pragma once

#include <vector>

#include "base/json_fields.h"

namespace counterbeam {

enum class RopeKind { Default, Linear, Llama3, Yarn };

struct RopeConfig {
  RopeKind kind = RopeKind::Default;
  int width = 0;  // rotated dimensions of a head, even; the rest pass through
  double theta = 10000;
  double factor = 1;              // linear, llama3, yarn: how far the context is stretched
  double original_positions = 0;  // llama3, yarn: the context before stretching
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;              // yarn
  bool truncate = true;                              // yarn: whole numbers as ramp borders
  double scale = 1;                                  // cosines and sines are multiplied by it
};

// [width / 2]: the angle of pair j at position p is p * frequency[j].
std::vector<float> inverse_frequencies(const RopeConfig& rope);

// Reads rope_parameters (wins), or rope_theta and rope_scaling, of a config.
struct RopeDefaults {
  double theta = 10000;
  double partial_rotary_factor = 1;
};
RopeConfig read_rope(const JsonFields& config, int head_dim, int max_positions,
                     const RopeDefaults& defaults);

}  // namespace counterbeam
