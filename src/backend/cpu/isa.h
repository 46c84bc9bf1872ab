// The instruction sets the CPU back end has kernels for, and which of them this machine can run:
// the processor supports them and the operating system saves their registers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace counterbeam {

struct Kernels;
struct IntegerKernels;

enum class Isa { Generic, Avx2, Avx512, Avx512Bf16, Amx };

inline constexpr Isa kAllIsas[] = {Isa::Generic, Isa::Avx2, Isa::Avx512, Isa::Avx512Bf16, Isa::Amx};

std::string_view name_of(Isa isa);  // "avx512-bf16"

// For Isa::Amx this asks the kernel for the tile registers, once per process.
bool runs_here(Isa isa);

// The path of that name, or the best one this machine can run if the name is empty. Throws an Error
// for an unknown name and for a path that this machine cannot run.
Isa choose_isa(std::string_view name);

const Kernels& kernels_for(Isa isa);

// Those of the path for rows in 8 bits; with VNNI where the machine has it.
const IntegerKernels& int8_kernels_for(Isa isa);
// Those for rows in 16 bits; null where products in bf16 are as fast.
const IntegerKernels* int16_kernels_for(Isa isa);

// All kernels for rows in 8 bits that this machine can run, for tests.
std::vector<const IntegerKernels*> runnable_integer_kernels();

}  // namespace counterbeam
