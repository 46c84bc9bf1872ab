#include "backend/cuda/code_products.cuh"

namespace counterbeam::cuda {

template <>
CodeLauncher code_launcher<CodeRoute::Fp8Bf16>();
template <>
CodeLauncher code_launcher<CodeRoute::Fp8Float>();
template <>
CodeLauncher code_launcher<CodeRoute::Int8Bf16>();
template <>
CodeLauncher code_launcher<CodeRoute::Int8Float>();
template <>
CodeLauncher code_launcher<CodeRoute::Int4Bf16>();
template <>
CodeLauncher code_launcher<CodeRoute::Int4Half>();
template <>
CodeLauncher code_launcher<CodeRoute::Int4Float>();

namespace {

CodeLauncher launcher_of(CodeRoute route) {
  switch (route) {
    case CodeRoute::Fp8Bf16:
      return code_launcher<CodeRoute::Fp8Bf16>();
    case CodeRoute::Fp8Float:
      return code_launcher<CodeRoute::Fp8Float>();
    case CodeRoute::Int8Bf16:
      return code_launcher<CodeRoute::Int8Bf16>();
    case CodeRoute::Int8Float:
      return code_launcher<CodeRoute::Int8Float>();
    case CodeRoute::Int4Bf16:
      return code_launcher<CodeRoute::Int4Bf16>();
    case CodeRoute::Int4Half:
      return code_launcher<CodeRoute::Int4Half>();
    case CodeRoute::Int4Float:
      break;
  }
  return code_launcher<CodeRoute::Int4Float>();
}

}  // namespace

void prepare_code_products() {
  for (const CodeRoute route :
       {CodeRoute::Fp8Bf16, CodeRoute::Fp8Float, CodeRoute::Int8Bf16, CodeRoute::Int8Float,
        CodeRoute::Int4Bf16, CodeRoute::Int4Half, CodeRoute::Int4Float})
    launcher_of(route).prepare();
}

void run_codes(cudaStream_t stream, int tile_rows, Finish finish, CodeParameters p,
               const CUtensorMap& rows) {
  launcher_of(p.codes.route).run(stream, tile_rows, finish, p, rows);
}

}  // namespace counterbeam::cuda
