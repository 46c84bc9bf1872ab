// Cosines and sines per position, computed on first use of a position.
#pragma once

#include <memory>
#include <vector>

#include "backend/ops.h"

namespace counterbeam {

class RopeTable {
 public:
  explicit RopeTable(const Rope& rope) : rope_(rope) {}

  bool is_of(const Rope& rope) const {
    return rope_.scale == rope.scale && rope_.inverse_frequency == rope.inverse_frequency;
  }
  // Computes the entries of a position if they are missing. Not safe to run beside at().
  void prepare(int position);
  // Cosines [half], then sines [half]. REQUIRES a prepared position.
  const float* at(int position) const;

 private:
  static constexpr int kBlock = 64;  // positions
  std::size_t row() const { return 2 * rope_.inverse_frequency.size(); }

  Rope rope_;
  std::vector<std::unique_ptr<float[]>> blocks_;
};

}  // namespace counterbeam
