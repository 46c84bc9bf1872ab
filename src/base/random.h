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

// What a draw is for. Draws for different uses never share a key, whatever their other numbers are.
enum class DrawUse : std::uint8_t {
  Tokens,              // of answers and of rollouts, which are beams with numbers of their own
  Choices,             // the order of a question's choices
  SignFlips,           // of paired tests
  Metropolis,          // positions and acceptances of mcmc-power
  GradingPoints,       // where two expressions are compared
  WeightVectors,       // random models
  WeightMatrices,      //
  ToyModels,           //
  BenchPrompts,        //
  ProblemOrder,        // which problems of a task choose and which confirm
  PowerChoice = 0xff,  // the chunk that power sampling takes
};

// Identifies one draw.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint32_t question = 0;
  std::uint32_t block = 0;
  std::uint32_t beam = 0;  // below kMostBeams
  std::uint32_t position = 0;
  DrawUse use = DrawUse::Tokens;
};
constexpr std::uint32_t kMostBeams = 1u << 24;

// 128 random bits. REQUIRES key.beam < kMostBeams, which leaves room for the use.
Words4 random_words(const DrawKey& key);

// Uniform in [0, 1), 53 bits.
double uniform(const DrawKey& key);

// Uniform in [0, bound). REQUIRES bound > 0.
std::uint64_t uniform_below(const DrawKey& key, std::uint64_t bound);

}  // namespace counterbeam
