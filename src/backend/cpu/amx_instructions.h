// The AMX instructions as inline assembly. The compiler does not know that they read and write
// memory: see settled() in amx_tiles.h. Include only from files compiled for AMX.
#pragma once

#include <cstddef>

// While the sibling hardware thread of a core is busy, adjacent tile loads and products take up to
// twice as long, probably because they fill the shared scheduler queue. Eight nops after each
// prevent that and cost nothing on a core whose sibling is idle.
#define COUNTERBEAM_SPACED(instruction) instruction "\n.rept 8\nnop\n.endr"

namespace counterbeam::hardware_tiles {

template <typename Config>
void configure_tiles(const Config& config) {
  static_assert(sizeof(Config) == 64);
  __asm__ volatile("ldtilecfg %0" : : "m"(config));
}
inline void release_tiles() {
  __asm__ volatile("tilerelease");
}

template <int kTile>
void load_tile(const void* from, std::ptrdiff_t stride) {
  __asm__ volatile(COUNTERBEAM_SPACED("tileloadd (%0,%1,1), %%tmm%c2")
                   :
                   : "r"(from), "r"(stride), "i"(kTile));
}
template <int kTile>
void store_tile(void* to, std::ptrdiff_t stride) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile));
}
template <int kTile>
void zero_tile() {
  __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
// sums += inputs * weights
template <int kSums, int kInputs, int kWeights>
void multiply_tiles() {
  __asm__ volatile(COUNTERBEAM_SPACED("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0")
                   :
                   : "i"(kSums), "i"(kInputs), "i"(kWeights));
}

// The same with signed bytes of inputs and unsigned bytes of weights, in int32.
template <int kSums, int kInputs, int kWeights>
void multiply_bytes() {
  __asm__ volatile(COUNTERBEAM_SPACED("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0")
                   :
                   : "i"(kSums), "i"(kInputs), "i"(kWeights));
}

}  // namespace counterbeam::hardware_tiles

#undef COUNTERBEAM_SPACED
