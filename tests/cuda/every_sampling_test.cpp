// Every sampling option on the GPU, through the back end's head.
#include "backend/every_sampling.h"

#include "cuda_support.h"

namespace counterbeam {
namespace {

using CudaHead = CudaTest;

TEST_F(CudaHead, DrawsWithEverySampling) {
  expect_every_draw(make_cuda_ops);
}

}  // namespace
}  // namespace counterbeam
