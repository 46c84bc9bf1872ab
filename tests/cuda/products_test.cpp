// Tests GEMMs against plain sums at odd sizes with every epilogue. The bits of a row must not
// depend on the other rows, from the kernel that streams weights to the tiled one.
#include "backend/cuda/products.h"

#include "cuda_support.h"

namespace counterbeam {
namespace {

using cuda::Finish;

struct Size {
  int rows, out, in;
};

// Weights, and the workspace that the GEMMs of a device share.
class CudaProducts : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, 0), "properties");
    cuda::prepare_products();
    const int processors = properties.multiProcessorCount;
    sums_ = std::make_unique<DeviceArray<std::byte>>(cuda::product_workspace(processors));
    flags_ = std::make_unique<DeviceArray<unsigned>>(
        std::vector<unsigned>(std::size_t(cuda::product_flags(processors)), 0));
    device_ = {reinterpret_cast<float*>(sums_->data()), flags_->data()};
  }

  struct Packed {
    std::vector<float> values;
    DeviceArray<std::uint16_t> blocks;
    cuda::Weights weights;
  };
  // Packed from two parts, like the projections of a model.
  std::unique_ptr<Packed> pack(int out, int in, std::uint64_t seed) {
    Numbers numbers(seed);
    auto packed = std::unique_ptr<Packed>(
        new Packed{numbers.many(std::size_t(out) * std::size_t(in)),
                   DeviceArray<std::uint16_t>(cuda::packed_elements(out, in)),
                   {}});
    packed->weights = {reinterpret_cast<cuda::Bf16*>(packed->blocks.data()), out, in};
    const DeviceArray<float> rows(packed->values);
    const int first = out / 3;
    if (first > 0)
      cuda::pack_rows(nullptr, packed->weights, 0, first, rows.data(), cuda::Number::F32);
    cuda::pack_rows(nullptr, packed->weights, first, out - first,
                    rows.data() + std::size_t(first) * std::size_t(in), cuda::Number::F32);
    cuda::check(cudaDeviceSynchronize(), "packing");
    return packed;
  }

  std::vector<float> run(const Packed& packed, const DeviceMatrix& x, Finish finish,
                         const std::vector<float>& bias, const std::vector<float>& before = {}) {
    const Matrix rows = x.matrix();
    const int out = cuda::is_gated(finish) ? packed.weights.out / 2 : packed.weights.out;
    const DeviceArray<float> biases(bias);
    const float* b = bias.empty() ? nullptr : biases.data();
    if (finish == Finish::StoreFloat) {
      const DeviceArray<float> y(std::size_t(rows.rows) * std::size_t(out));
      cuda::product(nullptr, device_, {finish, y.data(), out, b}, rows, packed.weights);
      return y.get();
    }
    const DeviceMatrix y =
        before.empty() ? DeviceMatrix(rows.rows, out) : DeviceMatrix(before, rows.rows, out);
    cuda::product(nullptr, device_, {finish, y.matrix().data, y.matrix().stride, b}, rows,
                  packed.weights);
    return y.get();
  }

  void expect_sums(const Size& size);

  cuda::ProductDevice device_;
  std::unique_ptr<DeviceArray<std::byte>> sums_;
  std::unique_ptr<DeviceArray<unsigned>> flags_;
};

std::vector<float> plain_product(const std::vector<float>& x, const std::vector<float>& w, int rows,
                                 int out, int in, const std::vector<float>& bias) {
  std::vector<float> y;
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) {
      double sum = bias.empty() ? 0 : double(bias[std::size_t(o)]);
      for (int i = 0; i < in; ++i)
        sum += double(x[std::size_t(r * in + i)]) * double(w[std::size_t(o * in + i)]);
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

// With every epilogue except the gated one.
void CudaProducts::expect_sums(const Size& size) {
  const std::string what = fmt::format("{} x {} x {}", size.rows, size.out, size.in);
  const auto packed = pack(size.out, size.in, 5);
  Numbers numbers(6);
  const auto x = numbers.many(std::size_t(size.rows) * std::size_t(size.in));
  const auto bias = numbers.many(std::size_t(size.out));
  const DeviceMatrix rows(x, size.rows, size.in);
  const auto expected = plain_product(x, packed->values, size.rows, size.out, size.in, bias);
  expect_near(run(*packed, rows, Finish::Store, bias), expected, 1.0 / 128, what);
  const auto unbiased = plain_product(x, packed->values, size.rows, size.out, size.in, {});
  expect_near(run(*packed, rows, Finish::StoreFloat, {}), unbiased, 1e-4, what + " float");
  const auto before = numbers.many(expected.size());
  auto sums = expected;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += before[i];
  expect_near(run(*packed, rows, Finish::Add, bias, before), sums, 1.0 / 64, what + " added");
}

// Odd sizes, and every way to split a GEMM: all tile shapes, parts of a tile in a cluster, tiles
// passed between workers, and partial sums in the workspace.
constexpr Size kSizes[] = {{1, 1, 1},        {1, 64, 64},     {3, 300, 72},     {16, 256, 256},
                           {17, 65, 130},    {33, 512, 200},  {64, 1000, 320},  {70, 130, 1000},
                           {129, 96, 64},    {520, 320, 136}, {20, 17000, 130}, {150, 34000, 66},
                           {300, 200, 1000}, {3100, 320, 520}};

TEST_F(CudaProducts, AreSumsOfProducts) {
  for (const Size& size : kSizes)
    if (!is_left_out(size.rows, size.out, size.in)) expect_sums(size);
}

// Small, because compute-sanitizer's racecheck is slow.
TEST_F(CudaProducts, PartsMeetInACluster) {
  for (const Size& size : {Size{1, 130, 512}, Size{48, 128, 1024}, Size{200, 256, 600}})
    expect_sums(size);
}

TEST_F(CudaProducts, GateTheSecondHalfByTheFirst) {
  for (const Size& size :
       {Size{1, 128, 64}, Size{20, 384, 200}, Size{65, 640, 96}, Size{600, 256, 80}}) {
    const auto packed = pack(size.out, size.in, 8);
    Numbers numbers(9);
    const auto x = numbers.many(std::size_t(size.rows) * std::size_t(size.in));
    const auto bias = numbers.many(std::size_t(size.out));
    const auto y = plain_product(x, packed->values, size.rows, size.out, size.in, bias);
    std::vector<float> expected, gelu;
    const int half = size.out / 2;
    for (int r = 0; r < size.rows; ++r) {
      for (int i = 0; i < half; ++i) {
        const float gate = y[std::size_t(r * size.out + i)];
        const float up = y[std::size_t(r * size.out + half + i)];
        const float u = 0.797884561f * (gate + 0.044715f * gate * gate * gate);
        expected.push_back(gate / (1 + std::exp(-gate)) * up);
        gelu.push_back(gate / 2 * (1 + std::tanh(u)) * up);
      }
    }
    const std::string what = fmt::format("{} x {} x {}", size.rows, size.out, size.in);
    const DeviceMatrix rows(x, size.rows, size.in);
    expect_near(run(*packed, rows, Finish::SiluMul, bias), expected, 1.0 / 32, what);
    expect_near(run(*packed, rows, Finish::GeluMul, bias), gelu, 1.0 / 32, what + " gelu");
  }
}

TEST_F(CudaProducts, ARowDoesNotDependOnTheOtherRows) {
  for (const Size& size : {Size{3000, 1152, 896}, Size{700, 320, 4864}, Size{600, 9728, 192},
                           Size{520, 37888, 192}, Size{520, 72, 600}}) {
    if (is_left_out(1, size.out, size.in)) continue;
    const auto packed = pack(size.out, size.in, 21);
    const auto x = Numbers(22).many(std::size_t(size.rows) * std::size_t(size.in));
    for (const Finish finish : {Finish::StoreFloat, Finish::Store}) {
      const auto all = run(*packed, DeviceMatrix(x, size.rows, size.in), finish, {});
      for (const auto& [first, count] : {std::pair{0, 1},
                                         {7, 1},
                                         {3, 16},
                                         {5, 31},
                                         {100, 48},
                                         {40, 64},
                                         {9, 128},
                                         {30, 180},
                                         {50, 200},
                                         {2, 370},
                                         {1, 512}}) {
        const auto begin = x.begin() + std::ptrdiff_t{first} * size.in;
        const std::vector<float> some(begin, begin + std::ptrdiff_t{count} * size.in);
        const auto alone = run(*packed, DeviceMatrix(some, count, size.in), finish, {});
        EXPECT_TRUE(
            same_bits(alone, std::span(all).subspan(std::size_t(first * size.out), alone.size())))
            << count << " rows from " << first << " of " << size.out << " x " << size.in;
      }
    }
  }
}

TEST_F(CudaProducts, KeepNotANumberInItsRow) {
  const auto packed = pack(512, 256, 3);
  auto x = Numbers(4).many(20 * 256);
  const auto clean = run(*packed, DeviceMatrix(x, 20, 256), Finish::Store, {});
  x[5 * 256 + 17] = std::nanf("");
  const auto spoilt = run(*packed, DeviceMatrix(x, 20, 256), Finish::Store, {});
  for (int r = 0; r < 20; ++r) {
    const auto row = std::span(spoilt).subspan(std::size_t(r) * 512, 512);
    if (r == 5) {
      EXPECT_TRUE(std::all_of(row.begin(), row.end(), [](float v) { return std::isnan(v); }));
    } else {
      EXPECT_TRUE(same_bits(row, std::span(clean).subspan(std::size_t(r) * 512, 512))) << r;
    }
  }
}

}  // namespace
}  // namespace counterbeam
