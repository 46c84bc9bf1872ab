#include "backend/cpu/rope_table.h"

#include <cmath>

namespace counterbeam {

void RopeTable::prepare(int position) {
  const std::size_t block = std::size_t(position) / kBlock;
  if (block >= blocks_.size()) blocks_.resize(block + 1);
  if (blocks_[block]) return;
  const std::size_t half = rope_.inverse_frequency.size();
  blocks_[block] = std::make_unique<float[]>(kBlock * row());
  for (int i = 0; i < kBlock; ++i) {
    float* out = blocks_[block].get() + std::size_t(i) * row();
    for (std::size_t j = 0; j < half; ++j) {
      const float angle = float(int(block) * kBlock + i) * rope_.inverse_frequency[j];
      out[j] = std::cos(angle) * rope_.scale;
      out[half + j] = std::sin(angle) * rope_.scale;
    }
  }
}

const float* RopeTable::at(int position) const {
  return blocks_[std::size_t(position) / kBlock].get() + std::size_t(position) % kBlock * row();
}

}  // namespace counterbeam
