#include "base/random.h"

#include "base/error.h"

namespace counterbeam {
namespace {

std::uint64_t draw_bits(const DrawKey& key) {
  const Words4 words = random_words(key);
  return (std::uint64_t{words[0]} << 32) | words[1];
}

}  // namespace

Words4 philox(Words4 counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Words4 random_words(const DrawKey& key) {
  CB_CHECK(key.beam < kMostBeams);
  const std::uint32_t beam = static_cast<std::uint32_t>(key.use) << 24 | key.beam;
  return philox({key.question, key.block, beam, key.position},
                {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
}

double uniform(const DrawKey& key) {
  return static_cast<double>(draw_bits(key) >> 11) * 0x1p-53;
}

std::uint64_t uniform_below(const DrawKey& key, std::uint64_t bound) {
  CB_CHECK(bound > 0);
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(draw_bits(key)) * bound) >> 64);
}

}  // namespace counterbeam
