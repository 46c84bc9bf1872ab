// The CUDA back end of a build without CUDA: an error that says so.
#ifndef COUNTERBEAM_CUDA

#include "backend/ops.h"
#include "base/error.h"

namespace counterbeam {

std::string why_no_cuda() {
  return "this build has no CUDA back end; build it where nvcc (CUDA 12.4 or newer) is installed";
}

std::unique_ptr<Ops> make_cuda_ops() {
  failed("{}", why_no_cuda());
}

}  // namespace counterbeam

#endif
