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
  bool amx = false;  // in bf16 and int8; permission to use it is requested separately
  bool avx_vnni = false;
  bool avx512_vnni = false;
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
  found.avx512_vnni = found.avx512 && (c & bit_AVX512VNNI);
  constexpr unsigned kAmx = 1u << 22 | 1u << 24 | 1u << 25;  // bf16, tiles, int8
  constexpr unsigned kBf16 = 1u << 5, kAvxVnni = 1u << 4;
  const bool amx = (d & kAmx) == kAmx && kept(kTiles) && found.avx512_vnni;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) return found;
  found.avx512_bf16 = found.avx512 && (a & kBf16);
  found.avx_vnni = found.avx2 && (a & kAvxVnni);
  found.amx = found.avx512_bf16 && (amx || (kEmulatedTiles && found.avx512_vnni));
  return found;
}

// Linux grants the 8 KiB of tile registers on request only; the grant covers all threads.
bool ask_for_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

const Features& features() {
  static const Features features = detect();
  return features;
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
  switch (isa) {
    case Isa::Generic:
      return true;
    case Isa::Avx2:
      return features().avx2;
    case Isa::Avx512:
      return features().avx512;
    case Isa::Avx512Bf16:
      return features().avx512_bf16;
    case Isa::Amx: {
      static const bool granted = features().amx && (kEmulatedTiles || ask_for_tiles());
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

const IntegerKernels& int8_kernels_for(Isa isa) {
  switch (isa) {
    case Isa::Generic:
      return int8_generic_kernels();
    case Isa::Avx2:
      return features().avx_vnni ? int8_avx_vnni_kernels() : int8_avx2_kernels();
    case Isa::Avx512:
    case Isa::Avx512Bf16:
      return features().avx512_vnni ? int8_avx512_vnni_kernels() : int8_avx512_kernels();
    case Isa::Amx:
      return int8_amx_kernels();
  }
  return int8_generic_kernels();
}

const IntegerKernels* int16_kernels_for(Isa isa) {
  const bool vnni = isa == Isa::Avx512 || isa == Isa::Avx512Bf16;
  return vnni && features().avx512_vnni ? &int16_avx512_vnni_kernels() : nullptr;
}

std::vector<const IntegerKernels*> runnable_integer_kernels() {
  std::vector<const IntegerKernels*> all{&int8_generic_kernels()};
  if (features().avx2) all.push_back(&int8_avx2_kernels());
  if (features().avx_vnni) all.push_back(&int8_avx_vnni_kernels());
  if (features().avx512) all.push_back(&int8_avx512_kernels());
  if (features().avx512_vnni) all.push_back(&int8_avx512_vnni_kernels());
  if (runs_here(Isa::Amx)) all.push_back(&int8_amx_kernels());
  return all;
}

}  // namespace counterbeam
