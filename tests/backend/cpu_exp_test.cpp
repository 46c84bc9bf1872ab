// The kernels' exp and the functions built on it, on every path that this machine supports.
#include "backend/cpu/kernels.h"
#include "cpu_support.h"

namespace counterbeam {
namespace {

class CpuExp : public CpuPaths {
 protected:
  const Kernels& kernels() const { return kernels_for(GetParam().isa); }
  std::vector<float> exp_of(const std::vector<float>& x) const {
    std::vector<float> terms(x.size());
    kernels().exp_terms(terms.data(), x.data(), static_cast<int>(x.size()), 1.0f, 0.0f);
    return terms;
  }
};
INSTANTIATE_TEST_SUITE_P(Paths, CpuExp, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(CpuExp, IsWithinItsBound) {
  std::vector<float> x;
  for (float value = -87.0f; value < 88.0f; value += 0.00371f) x.push_back(value);
  for (const float value : {0.0f, -0.0f, 1e-30f, -1e-30f, 1.0f, -1.0f}) x.push_back(value);
  const std::vector<float> got = exp_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(double(x[i]));
    ASSERT_NEAR(got[i] / expected, 1.0, 2e-7 + 8e-8 * std::abs(x[i])) << x[i];
  }
}

TEST_P(CpuExp, UnderflowsToZeroAndPropagatesNaN) {
  const float never = -3.0e38f;
  for (const float x : {-87.5f, -100.0f, -1e6f, never, -INFINITY})
    EXPECT_EQ(exp_of({x})[0], 0) << x;
  EXPECT_TRUE(std::isnan(exp_of({std::nanf("")})[0]));
}

TEST_P(CpuExp, EveryLaneGivesTheSameBits) {
  for (int lane = 0; lane < 37; ++lane) {
    std::vector<float> x(37, -0.5f);
    x[std::size_t(lane)] = -1.2345f;
    EXPECT_EQ(exp_of(x)[std::size_t(lane)], exp_of({-1.2345f})[0]) << lane;
  }
}

TEST_P(CpuExp, SiluIsZeroFarBelowAndTheIdentityFarAbove) {
  const std::vector<float> gate = {-1e30f, -500.0f, -90.0f, 0.0f, 30.0f, 500.0f, 1e30f};
  const std::vector<float> up(gate.size(), 1.0f);
  std::vector<float> out(gate.size());
  kernels().silu_mul(out.data(), gate.data(), up.data(), static_cast<int>(gate.size()));
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(out[std::size_t(i)], 0, 1e-6) << gate[std::size_t(i)];
  for (std::size_t i = 4; i < gate.size(); ++i) EXPECT_FLOAT_EQ(out[i], gate[i]);
}

TEST_P(CpuExp, GeluIsWithinItsBound) {
  std::vector<float> x;
  for (float value = -9.0f; value < 9.0f; value += 0.00071f) x.push_back(value);
  for (const float value : {0.0f, -0.0f, 1e-30f, -1e-30f, 100.0f, 1e4f, 1e30f}) x.push_back(value);
  const std::vector<float> ones(x.size(), 1.0f);
  std::vector<float> got(x.size());
  kernels().gelu_mul(got.data(), x.data(), ones.data(), static_cast<int>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wide = x[i], u = std::sqrt(2 / M_PI) * (wide + 0.044715 * wide * wide * wide);
    const double expected = wide / (1 + std::exp(-2 * u));
    // A few ulps near zero and above it; below, as much as the exponent 2 u is rounded.
    const double bound = 5e-7 + (u < 0 ? 4e-7 * std::abs(u) : 0);
    ASSERT_NEAR(got[i], expected, bound * std::abs(expected) + 1e-38) << x[i];
  }
  for (const float value : {-20.0f, -500.0f, -1e30f}) {
    kernels().gelu_mul(got.data(), &value, ones.data(), 1);
    EXPECT_NEAR(got[0], 0, 1e-6) << value;
  }
}

}  // namespace
}  // namespace counterbeam
