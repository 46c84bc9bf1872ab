// Tests products of quantised weights: the bits of every product must be those of the decoded
// matrix, for all kinds of codes, scales and groups, all tiles and all epilogues.
#include <cmath>

#include "../backend/quantised_example.h"
#include "backend/cuda/code_packing.h"
#include "backend/cuda/code_upload.h"
#include "cuda_support.h"
#include "tensor/float8.h"

namespace counterbeam {
namespace {

using cuda::CodeRoute;
using cuda::Finish;
using testing::QuantisedExample;
using Kind = QuantisedExample::Kind;

// A quantised matrix of these sizes, with scales of a type.
struct Case {
  Kind kind;
  DType scales;
  int group;
  bool zeros;
  CodeRoute route;
};

constexpr Case kCases[] = {
    {Kind::Fp8, DType::BF16, 128, false, CodeRoute::Fp8Bf16},
    {Kind::Fp8, DType::BF16, 0, false, CodeRoute::Fp8Bf16},
    {Kind::Fp8, DType::F32, 128, false, CodeRoute::Fp8Float},
    {Kind::Fp8, DType::F16, 32, false, CodeRoute::Fp8Float},
    {Kind::Int8, DType::BF16, 0, false, CodeRoute::Int8Bf16},
    {Kind::Int8, DType::BF16, 64, false, CodeRoute::Int8Bf16},
    {Kind::Int8, DType::F16, 16, false, CodeRoute::Int8Float},
    {Kind::Int8, DType::F32, 128, true, CodeRoute::Int8Float},
    {Kind::Int4, DType::BF16, 128, false, CodeRoute::Int4Bf16},
    {Kind::Int4, DType::BF16, 32, false, CodeRoute::Int4Bf16},
    {Kind::Int4, DType::BF16, 0, false, CodeRoute::Int4Bf16},
    {Kind::Int4, DType::F16, 128, true, CodeRoute::Int4Half},
    {Kind::Int4, DType::F16, 16, true, CodeRoute::Int4Half},
    {Kind::Int4, DType::F16, 64, false, CodeRoute::Int4Half},
    {Kind::Int4, DType::F32, 128, true, CodeRoute::Int4Float},
    {Kind::Int4, DType::F32, 48, false, CodeRoute::Int4Float},
};

class CudaCodes : public CudaTest {
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
    device_.partial_sums = reinterpret_cast<float*>(sums_->data());
    device_.flags = flags_->data();
  }

  // The same matrix as codes and as bf16.
  struct Both {
    std::unique_ptr<DeviceArray<std::uint8_t>> records;
    std::unique_ptr<DeviceArray<std::uint16_t>> blocks;
    cuda::Weights codes, plain;
  };

  Both pack(const Case& c, int out, int in) {
    const QuantisedExample first(options_of(c, out / 3, in, 1)),
        second(options_of(c, out - out / 3, in, 2));
    std::vector<Tensor> kept;
    std::vector<StoredMatrix> parts;
    for (const QuantisedExample* example : {&first, &second})
      if (example->o.out > 0) parts.push_back(with_scales(*example, c.scales, kept));
    return pack(parts, out, in, c.route);
  }

  Both pack(const std::vector<StoredMatrix>& parts, int out, int in, CodeRoute route);
  static QuantisedExample::Options options_of(const Case& c, int out, int in, std::uint32_t seed) {
    return {.kind = c.kind, .out = out, .in = in, .group = c.group, .zeros = c.zeros, .seed = seed};
  }
  // The example with scales that need all bits of their type.
  static StoredMatrix with_scales(const QuantisedExample& example, DType dtype,
                                  std::vector<Tensor>& kept) {
    ScaledMatrix m = example.m;
    std::mt19937 random(7);
    std::vector<float> scales;
    for (std::int64_t i = 0; i < m.scales.shape.elements(); ++i)
      scales.push_back(1e-5f * static_cast<float>(1 + random() % 2000000) / 1000);
    kept.push_back(Tensor::from_f32(scales, dtype, {m.scales.shape[0], m.scales.shape[1]}));
    m.scales = kept.back().view();
    return m;
  }

  std::vector<float> run(const cuda::Weights& weights, const DeviceMatrix& x, Finish finish,
                         const std::vector<float>& bias) {
    const Matrix rows = x.matrix();
    const int out = cuda::is_gated(finish) ? weights.out / 2 : weights.out;
    const DeviceArray<float> biases(bias);
    const float* b = bias.empty() ? nullptr : biases.data();
    if (finish == Finish::StoreFloat) {
      const DeviceArray<float> y(std::size_t(rows.rows) * std::size_t(out));
      cuda::product(nullptr, device_, {finish, y.data(), out, nullptr}, rows, weights);
      return y.get();
    }
    const std::vector<float> before(std::size_t(rows.rows) * std::size_t(out), 0.75f);
    const DeviceMatrix y(before, rows.rows, out);
    cuda::product(nullptr, device_, {finish, y.matrix().data, y.matrix().stride, b}, rows, weights);
    return y.get();
  }

  void expect_same(const Both& both, int rows, Finish finish, const std::string& what) {
    const auto x = Numbers(6).many(std::size_t(rows) * std::size_t(both.plain.in));
    const auto bias = Numbers(7).many(std::size_t(both.plain.out));
    const DeviceMatrix matrix(x, rows, both.plain.in);
    EXPECT_TRUE(
        same_bits(run(both.codes, matrix, finish, bias), run(both.plain, matrix, finish, bias)))
        << what << ", " << rows << " rows, finish " << int(finish);
  }

  cuda::ProductDevice device_;
  std::unique_ptr<DeviceArray<std::byte>> sums_;
  std::unique_ptr<DeviceArray<unsigned>> flags_;
  cuda::UploadPieces pieces_;
};

// code * scale + offset in float32, for every element.
std::vector<float> decoded(const cuda::CodePlan& plan, const StoredMatrix& part) {
  const auto in = std::size_t(part.in());
  std::vector<std::uint8_t> codes(in);
  std::vector<float> scales(std::size_t(plan.form.groups)), offsets(scales.size()), values;
  for (int row = 0; row < part.out(); ++row) {
    read_codes(plan.form, part, row, 0, codes);
    read_scales(plan.form, part, row, scales, offsets);
    for (std::size_t i = 0; i < in; ++i) {
      const std::size_t g = i / std::size_t(plan.form.group);
      const float code = plan.form.kind == CodeKind::E4M3   ? from_e4m3(codes[i])
                         : plan.form.kind == CodeKind::Int8 ? float(std::int8_t(codes[i]))
                                                            : plan.form.table[codes[i]];
      values.push_back(plan.form.offsets ? std::fma(code, scales[g], offsets[g])
                                         : code * scales[g]);
    }
  }
  return values;
}

CudaCodes::Both CudaCodes::pack(const std::vector<StoredMatrix>& parts, int out, int in,
                                CodeRoute route) {
  cuda::CodeUpload upload(pieces_);
  const auto plan = upload.plan(parts);
  Both both;
  both.codes = both.plain = {nullptr, out, in, {}};
  EXPECT_TRUE(plan.has_value());
  if (!plan) return both;
  EXPECT_EQ(int(plan->codes.route), int(route));
  both.codes.codes = plan->codes;
  both.records = std::make_unique<DeviceArray<std::uint8_t>>(
      std::vector<std::uint8_t>(cuda::packed_code_bytes(plan->codes, out, in), 0));
  both.codes.codes.records = both.records->data();
  EXPECT_TRUE(upload.pack(nullptr, both.codes, *plan, parts));
  both.blocks = std::make_unique<DeviceArray<std::uint16_t>>(cuda::packed_elements(out, in));
  both.plain.blocks = reinterpret_cast<cuda::Bf16*>(both.blocks->data());
  int first = 0;
  for (const StoredMatrix& part : parts) {
    const DeviceArray<float> rows(decoded(*plan, part));
    cuda::pack_rows(nullptr, both.plain, first, part.out(), rows.data(), cuda::Number::F32);
    cuda::check(cudaDeviceSynchronize(), "packing");
    first += part.out();
  }
  return both;
}

std::string name_of(const Case& c, int out, int in) {
  return fmt::format("route {}, group {}, zeros {}, {} x {}", int(c.route), c.group, c.zeros, out,
                     in);
}

TEST_F(CudaCodes, GiveTheBitsOfTheDecodedMatrix) {
  for (const Case& c : kCases) {
    for (const auto& [out, in] : {std::pair{64, 64}, {130, 200}, {300, 1000}, {512, 2048}}) {
      if (is_left_out(1, out, in)) continue;
      const Both both = pack(c, out, in);
      for (const int rows : {1, 16, 17, 48, 49, 128, 300}) {
        if (is_left_out(rows, out, in)) continue;
        for (const Finish finish : {Finish::Store, Finish::Add, Finish::StoreFloat})
          expect_same(both, rows, finish, name_of(c, out, in));
      }
    }
  }
}

TEST_F(CudaCodes, GateLikeTheDecodedMatrix) {
  for (const Case& c : kCases) {
    for (const auto& [out, in] : {std::pair{128, 64}, {640, 328}}) {
      const Both both = pack(c, out, in);
      for (const int rows : {1, 20, 65, 200}) {
        if (is_left_out(rows, out, in)) continue;
        expect_same(both, rows, Finish::SiluMul, name_of(c, out, in));
        expect_same(both, rows, Finish::GeluMul, name_of(c, out, in));
      }
    }
  }
}

// Parts of tiles in clusters, tiles passed between workers, sums set aside, records cut in half.
TEST_F(CudaCodes, SplitLikeTheDecodedMatrix) {
  for (const Case& c : {kCases[0], kCases[8], kCases[14]}) {
    for (const auto& [out, in] : {std::pair{4608, 3584},
                                  {320, 4864},
                                  {3584, 1344},
                                  {17000, 136},
                                  {37888, 192},
                                  {130, 1032},
                                  {70, 3000}}) {
      if (is_left_out(1, out, in)) continue;
      const Both both = pack(c, out, in);
      for (const int rows : {1, 16, 40, 100, 260})
        expect_same(both, rows, Finish::StoreFloat, name_of(c, out, in));
    }
  }
}

TEST_F(CudaCodes, AreDecodedForManyRows) {
  for (const Case& c : kCases) {
    for (const auto& [out, in] : {std::pair{64, 64}, {130, 200}, {600, 1000}}) {
      const Both both = pack(c, out, in);
      const DeviceArray<std::uint16_t> blocks(cuda::packed_elements(out, in));
      cuda::Weights again = both.plain;
      again.blocks = reinterpret_cast<cuda::Bf16*>(blocks.data());
      cuda::decode_codes(nullptr, again.blocks, both.codes);
      const DeviceMatrix x(Numbers(3).many(std::size_t(520 * in)), 520, in);
      EXPECT_TRUE(same_bits(run(again, x, Finish::StoreFloat, {}),
                            run(both.plain, x, Finish::StoreFloat, {})))
          << name_of(c, out, in);
      // The product decodes by itself where there is room, and gives the same bits.
      device_.decoded = again.blocks;
      device_.decoded_elements = cuda::packed_elements(out, in);
      for (const int rows : {129, 520, 3000})
        if (!is_left_out(rows, out, in)) expect_same(both, rows, Finish::Store, "with room");
      device_.decoded = nullptr;
      device_.decoded_elements = 0;
    }
  }
}

TEST_F(CudaCodes, EmbedTheirRows) {
  const int ids[] = {0, 7, 8, 63, 64, 129};
  const DeviceArray<int> on_device(std::vector<int>(std::begin(ids), std::end(ids)));
  cuda::DeviceBatch batch;
  batch.ids = on_device.data();
  batch.rows = 6;
  for (const Case& c : kCases) {
    const Both both = pack(c, 130, 200);
    const DeviceMatrix from_codes(6, 200), from_plain(6, 200);
    cuda::embed_codes(nullptr, from_codes.matrix(), both.codes, 1.0f, batch);
    cuda::embed(nullptr, from_plain.matrix(), both.plain.blocks, 1.0f, batch);
    EXPECT_TRUE(same_bits(from_codes.get(), from_plain.get())) << name_of(c, 130, 200);
  }
}

TEST_F(CudaCodes, RefuseAMatrixWithNotANumber) {
  QuantisedExample example({.kind = Kind::Fp8, .out = 70, .in = 128});
  example.values[5 * 128 + 3] = 0x7f;
  const StoredMatrix part = example.matrix();
  cuda::CodeUpload upload(pieces_);
  const auto plan = upload.plan({&part, 1});
  ASSERT_TRUE(plan);
  cuda::Weights weights{nullptr, 70, 128, plan->codes};
  const DeviceArray<std::uint8_t> records(
      std::vector<std::uint8_t>(cuda::packed_code_bytes(plan->codes, 70, 128), 0));
  weights.codes.records = records.data();
  EXPECT_FALSE(upload.pack(nullptr, weights, *plan, {&part, 1}));
}

}  // namespace
}  // namespace counterbeam
