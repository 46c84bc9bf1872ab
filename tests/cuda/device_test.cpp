// Tests the test support: matrices round-trip through the device.
#include "cuda_support.h"

namespace counterbeam {
namespace {

using CudaSupport = CudaTest;

TEST_F(CudaSupport, MatricesRoundTrip) {
  const std::vector<float> values = Numbers(3).many(7 * 13);
  EXPECT_EQ(DeviceMatrix(values, 7, 13, 24).get(), values);
}

}  // namespace
}  // namespace counterbeam
