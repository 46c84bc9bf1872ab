// Rotary position embedding (RoPE): its settings and frequencies, computed with the formulas and in
// the float32 steps of transformers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/json_fields.h"

namespace counterbeam {

enum class RopeKind { Default, Factors, Linear, Llama3, LongRope, Yarn };

std::string_view name_of(RopeKind kind);  // as config.json spells it, or "factors"

struct RopeConfig {
  RopeKind kind = RopeKind::Default;
  int width = 0;  // rotated dimensions of a head, even; the rest are unchanged
  double theta = 10000;
  double factor = 1;              // linear, llama3, yarn: factor of the context extension
  double original_positions = 0;  // llama3, longrope, yarn: the context before stretching
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;              // yarn
  bool truncate = true;          // yarn: round the ramp's boundaries to integers
  std::vector<double> dividers;  // longrope, factors: of every frequency, [width / 2]
  double scale = 1;              // factor of cosines and sines
};

// [width / 2]: the angle of pair j at position p is p * frequency[j].
std::vector<float> inverse_frequencies(const RopeConfig& rope);

// What an architecture assumes where the file does not say.
struct RopeDefaults {
  double theta = 10000;
  double partial_rotary_factor = 1;
  std::optional<double> original_positions{};  // without one: max_position_embeddings
  bool old_longrope_names = false;             // "su" and "yarn" mean longrope: old Phi-3 files
  const char* theta_key = "rope_theta";        // outside rope_parameters
  // With one, the architecture has a rope for each type of layer: that of
  // rope_parameters.LAYER_TYPE; in older files rope_scaling is of the full_attention layers alone.
  const char* layer_type = nullptr;
};

// Reads rope_parameters or, if absent, rope_theta and rope_scaling of a config.
//
// Of the two lists of longrope, the long one is taken wherever max_position_embeddings is above the
// original context, whatever the length of a sequence, as vLLM does. transformers changes lists
// when a sequence outgrows the original context, so that keys of the same token differ with the
// moment they were computed; here a token's key depends on the tokens before it alone.
RopeConfig read_rope(const JsonFields& config, int head_dim, int max_positions,
                     const RopeDefaults& defaults);

}  // namespace counterbeam
