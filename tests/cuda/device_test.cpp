// The test support itself: what goes to the device comes back.
#include "cuda_support.h"

namespace counterbeam {
namespace {

using CudaSupport = CudaTest;

TEST_F(CudaSupport, MatricesComeBackAsTheyWent) {
  const std::vector<float> values = Numbers(3).many(7 * 13);
  EXPECT_EQ(DeviceMatrix(values, 7, 13, 24).get(), values);
}

}  // namespace
}  // namespace counterbeam
