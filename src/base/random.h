// Counter-based random numbers: Philox 4x32-10 (Salmon et al., SC'11). A draw is a pure function of
// its key, so it does not matter what else is in the batch, in which order draws are made, or
// whether a run was resumed.
#pragma once

#include <array>
#include <cstdint>

namespace counterbeam {

using Words4 = std::array<std::uint32_t, 4>;

// One block of Philox 4x32-10.
Words4 philox(Words4 counter, std::array<std::uint32_t, 2> key);

// Identifies one draw of a search.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint32_t question = 0;
  std::uint32_t block = 0;
  std::uint32_t beam = 0;
  std::uint32_t position = 0;
};

// Uniform in [0, 1), 53 bits.
double uniform(const DrawKey& key);

// Uniform in [0, bound). REQUIRES bound > 0.
std::uint64_t uniform_below(const DrawKey& key, std::uint64_t bound);

}  // namespace counterbeam
