// Loading a model without its weights: the code that loads it runs against a back end that keeps
// nothing. So the list of tensors, the number of parameters and the verdict on a checkpoint cannot
// differ from what loading does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "model/weights.h"

namespace counterbeam {

struct DryLoad {
  // What loading would throw, tensor by tensor in the order in which it would. The first one is the
  // message that loading ends with.
  std::vector<std::string> problems;
  std::int64_t matrix_elements = 0;  // held in the precision of the back end, but for codes
  std::int64_t code_elements = 0;    // of them those that a back end may keep quantised
  std::int64_t code_bytes = 0;       // what these take then
  // Of those, what has inputs that belong to groups in any order.
  std::int64_t ordered_elements = 0, ordered_bytes = 0;
  std::int64_t vector_elements = 0;  // held in float32
  std::int64_t int8_elements = 0;    // of the codes, those that take rows in 8 bits (int8_rows.h)
};

// Asks for every tensor as loading does, and reads none of them.
DryLoad dry_load(const ModelConfig& config, WeightSource& weights);
// The same for a model of this config whose weights are all as they should be.
DryLoad dry_load(const ModelConfig& config);

// Every number of the model once: a tied output layer does not count twice.
std::int64_t parameter_count(const ModelConfig& config);

// The tensors that a checkpoint of this config must hold, in the order of loading. `prefix` stands
// before the names of the decoder. No lm_head.weight if it is tied.
struct ExpectedTensor {
  std::string name;
  Shape shape;
};
std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config,
                                             std::string_view prefix = "model.");

}  // namespace counterbeam
