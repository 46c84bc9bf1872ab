#include "engine/back_end.h"

#include <algorithm>
#include <thread>

#include "backend/profiled_ops.h"
#include "base/error.h"
#include "base/quote.h"
#include "engine/local_engine.h"

namespace counterbeam {
namespace {

// Asking for float32, rows in 8 bits or an instruction set of the CPU is asking for the CPU.
bool wants_cuda(const LocalOptions& options) {
  const bool f32 = options.precision == Precision::F32;
  const bool int8 = options.activations == Activations::Int8;
  if (options.device == "cpu") return false;
  if (options.device == "auto")
    return !f32 && !int8 && options.isa.empty() && why_no_cuda().empty();
  if (options.device != "cuda")
    bad_input("device {} is not known (known: auto, cpu, cuda)", in_quotes(options.device));
  if (f32) bad_input("--device cuda computes in bf16; for float32 use --device cpu --dtype f32");
  if (int8)
    bad_input("--device cuda does not offer --activations int8; leave it out, or use --device cpu");
  return true;
}

}  // namespace

BackEndChoice choose_back_end(const LocalOptions& options, DType stored, bool quantised) {
  if (wants_cuda(options)) return {.cuda = true, .precision = Precision::Bf16};
  if (options.isa == "reference") return {.cuda = false, .precision = Precision::F32};
  const Precision own = stored == DType::BF16 || quantised ? Precision::Bf16 : Precision::F32;
  return {.cuda = false, .precision = options.precision.value_or(own)};
}

std::unique_ptr<Ops> make_back_end(const BackEndChoice& choice, const LocalOptions& options) {
  if (choice.cuda) {
    if (options.profile) bad_input("operations are timed on the CPU only; give --device cpu");
    return make_cuda_ops();
  }
  const auto cpu = [&]() -> std::unique_ptr<Ops> {
    const bool int8 = options.activations == Activations::Int8;
    if (options.isa == "reference") return int8 ? make_int8_reference_ops() : make_reference_ops();
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    return make_cpu_ops(choice.precision, options.threads > 0 ? options.threads : cores,
                        options.isa, options.activations);
  };
  return options.profile ? make_profiled_ops(cpu(), *options.profile) : cpu();
}

std::int64_t bytes_of(Precision precision) {
  return precision == Precision::F32 ? 4 : 2;
}

}  // namespace counterbeam
