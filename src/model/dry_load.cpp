#include "model/dry_load.h"

#include "backend/code_form.h"
#include "backend/int8_rows.h"
#include "base/error.h"
#include "model/model.h"

namespace counterbeam {
namespace {

// A back end that counts what it is given. It never looks at the numbers.
class CountingOps : public WeightOps {
 public:
  std::unique_ptr<PackedMatrix> pack(std::span<const StoredMatrix> parts) override {
    auto packed = std::make_unique<PackedMatrix>();
    packed->out = stacked_rows(parts);
    packed->in = parts[0].in();
    matrix_elements += std::int64_t{packed->out} * packed->in;
    if (const auto form = common_form(parts)) {
      const std::int64_t elements = std::int64_t{packed->out} * packed->in;
      const std::int64_t bytes = form->bytes(packed->out, packed->in);
      code_elements += elements;
      code_bytes += bytes;
      if (!form->order.empty()) ordered_elements += elements, ordered_bytes += bytes;
      if (whole_codes(*form)) int8_elements += elements;
    }
    return packed;
  }
  std::unique_ptr<Vector> upload(std::span<const TensorView> parts) override {
    auto vector = std::make_unique<Vector>();
    for (const TensorView& part : parts) vector->size += static_cast<int>(part.shape.elements());
    vector_elements += vector->size;
    return vector;
  }

  std::int64_t matrix_elements = 0, vector_elements = 0;
  std::int64_t code_elements = 0, code_bytes = 0;
  std::int64_t ordered_elements = 0, ordered_bytes = 0;
  std::int64_t int8_elements = 0;
};

// A view without data, for a tensor that nobody reads.
TensorView placeholder(const Shape& shape) {
  return {DType::F32, shape, nullptr};
}

// Passes every request on and notes what is thrown. done() is not passed on: nothing was read.
class NotedProblems : public WeightSource {
 public:
  explicit NotedProblems(WeightSource& weights) : weights_(weights) {}

  TensorView get(const std::string& name, const Shape& shape) override {
    try {
      return weights_.get(name, shape);
    } catch (const Error& error) {
      problems.emplace_back(error.what());
      return placeholder(shape);
    }
  }
  StoredMatrix matrix(const std::string& name, int out, int in) override {
    try {
      return weights_.matrix(name, out, in);
    } catch (const Error& error) {
      problems.emplace_back(error.what());
      return placeholder({out, in});
    }
  }
  void done() override {}

  std::vector<std::string> problems;

 private:
  WeightSource& weights_;
};

class ListedTensors : public WeightSource {
 public:
  explicit ListedTensors(std::string_view prefix) : prefix_(prefix) {}

  TensorView get(const std::string& name, const Shape& shape) override {
    tensors.push_back({name.starts_with("lm_head.") ? name : prefix_ + name, shape});
    return placeholder(shape);
  }
  void done() override {}

  std::vector<ExpectedTensor> tensors;

 private:
  std::string prefix_;
};

}  // namespace

DryLoad dry_load(const ModelConfig& config, WeightSource& weights) {
  CountingOps ops;
  NotedProblems noted(weights);
  load_model(config, ops, noted);
  return {std::move(noted.problems), ops.matrix_elements, ops.code_elements,   ops.code_bytes,
          ops.ordered_elements,      ops.ordered_bytes,   ops.vector_elements, ops.int8_elements};
}

DryLoad dry_load(const ModelConfig& config) {
  ListedTensors whole("");
  return dry_load(config, whole);
}

std::int64_t parameter_count(const ModelConfig& config) {
  const DryLoad load = dry_load(config);
  return load.matrix_elements + load.vector_elements;
}

std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config, std::string_view prefix) {
  ListedTensors listed(prefix);
  CountingOps ops;
  load_model(config, ops, listed);
  return std::move(listed.tensors);
}

}  // namespace counterbeam
