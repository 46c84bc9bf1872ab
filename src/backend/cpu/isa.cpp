#include "backend/cpu/isa.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "backend/cpu/kernels.h"
#include "base/error.h"

namespace counterbeam {
namespace {

#ifdef COUNTERBEAM_EMULATED_TILES
constexpr bool kEmulatedTiles = true;  // tests select them by name
#else
constexpr bool kEmulatedTiles = false;
#endif

struct Features {
  bool avx2 = false;    // with FMA and F16C
  bool avx512 = false;  // F, BW, DQ, VL
  bool avx512_bf16 = false;
  bool amx_bf16 = false;  // supported; permission to use it is requested separately
};

std::uint64_t enabled_registers() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

Features detect() {
  Features found;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return found;
  const bool fma = c & bit_FMA, f16c = c & bit_F16C, osxsave = c & bit_OSXSAVE;
  if (!osxsave || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;

  constexpr std::uint64_t kAvx = 0x6, kAvx512 = 0xe6, kTiles = 0x60000;
  const std::uint64_t registers = enabled_registers();
  const auto kept = [&](std::uint64_t mask) { return (registers & mask) == mask; };
  found.avx2 = kept(kAvx) && fma && f16c && (b & bit_AVX2);
  constexpr unsigned kSet512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  found.avx512 = found.avx2 && kept(kAvx512) && (b & kSet512) == kSet512;
  constexpr unsigned kAmxTile = 1u << 24, kAmxBf16 = 1u << 22, kBf16 = 1u << 5;
  const bool amx = (d & kAmxTile) && (d & kAmxBf16) && kept(kTiles);
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) return found;
  found.avx512_bf16 = found.avx512 && (a & kBf16);
  found.amx_bf16 = found.avx512_bf16 && (amx || kEmulatedTiles);
  return found;
}

// Linux grants the 8 KiB of tile registers on request only; the grant covers all threads.
bool ask_for_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::string runnable_names() {
  std::string names;
  for (const Isa isa : kAllIsas) {
    if (runs_here(isa)) names += (names.empty() ? "" : ", ") + std::string(name_of(isa));
  }
  return names;
}

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::Generic:
      return "generic";
    case Isa::Avx2:
      return "avx2";
    case Isa::Avx512:
      return "avx512";
    case Isa::Avx512Bf16:
      return "avx512-bf16";
    case Isa::Amx:
      return "amx";
  }
  return "";
}

bool runs_here(Isa isa) {
  static const Features features = detect();
  switch (isa) {
    case Isa::Generic:
      return true;
    case Isa::Avx2:
      return features.avx2;
    case Isa::Avx512:
      return features.avx512;
    case Isa::Avx512Bf16:
      return features.avx512_bf16;
    case Isa::Amx: {
      static const bool granted = features.amx_bf16 && (kEmulatedTiles || ask_for_tiles());
      return granted;
    }
  }
  return false;
}

Isa choose_isa(std::string_view name) {
  Isa best = Isa::Generic;
  for (const Isa isa : kAllIsas) {
    if (name == name_of(isa)) {
      if (runs_here(isa)) return isa;
      bad_input("this machine cannot run the CPU path \"{}\"; it can run: {}", name,
                runnable_names());
    }
    const bool slow = isa == Isa::Amx && kEmulatedTiles;
    if (runs_here(isa) && !slow) best = isa;
  }
  if (!name.empty()) {
    bad_input("there is no CPU path \"{}\"; this machine can run: {}", name, runnable_names());
  }
  return best;
}

const Kernels& kernels_for(Isa isa) {
  switch (isa) {
    case Isa::Generic:
      return generic_kernels();
    case Isa::Avx2:
      return avx2_kernels();
    case Isa::Avx512:
      return avx512_kernels();
    case Isa::Avx512Bf16:
      return avx512_bf16_kernels();
    case Isa::Amx:
      return amx_kernels();
  }
  return generic_kernels();
}

}  // namespace counterbeam
