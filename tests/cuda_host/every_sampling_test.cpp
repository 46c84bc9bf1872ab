// Every sampling option reaches the device: the host's side of the head on a simulated device.
#include "backend/every_sampling.h"

namespace counterbeam {
namespace {

TEST(SimulatedDevice, DrawsWithEverySampling) {
  expect_every_draw(make_cuda_ops);
}

}  // namespace
}  // namespace counterbeam
