// Negative control on a GPU: a CUDA back end whose norms depend on the size of the batch, by about
// one unit in the last place of bf16. The comparison of schedules must find differences. It is
// linked in place of the real one; skipped without a device.
#ifdef COUNTERBEAM_CUDA
#define make_cuda_ops make_invariant_cuda_ops
#include "backend/cuda/cuda_ops.cpp"
#undef make_cuda_ops

#include "engine/schedules.h"

namespace counterbeam {
namespace {

using namespace testing;

class BatchDependentCudaOps : public cuda::CudaOps {
 public:
  void rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) override {
    constexpr int kSmallStep = 4;
    CudaOps::rms_norm(out, x, weight, x.rows <= kSmallStep ? eps : eps + 1e-2f, kind);
  }
};

TEST(InvarianceControl, SchedulesFindAGpuBackEndThatDependsOnTheBatch) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const LocalOptions on{.device = "cuda"};
  EXPECT_GT(compare_schedules(tiny_attention(), 6, 10, on).wrong, 0);
  EXPECT_GT(compare_schedules(tiny_recurrent(), 6, 10, on).wrong, 0);
  EXPECT_GT(compare_schedules(tiny_windows(), 6, 10, on).wrong, 0);
}

}  // namespace

std::unique_ptr<Ops> make_cuda_ops() {
  return std::make_unique<BatchDependentCudaOps>();
}

}  // namespace counterbeam
#endif
