// Tests operations on rows against the reference at odd widths and alignments.
#include "backend/cuda/products.h"
#include "cuda_support.h"

namespace counterbeam {
namespace {

class CudaRows : public CudaTest {};

struct Shape2 {
  int rows, width;
};
constexpr Shape2 kShapes[] = {{1, 8}, {3, 5}, {5, 72}, {4, 1000}, {17, 3584}, {2, 9001}};

TEST_F(CudaRows, NormsMatchTheReference) {
  const auto reference = make_reference_ops();
  for (const Shape2& shape : kShapes) {
    for (const NormKind kind : {NormKind::Plain, NormKind::ZeroCentred}) {
      Numbers numbers(1);
      const auto x = numbers.many(std::size_t(shape.rows * shape.width));
      const auto w = numbers.many(std::size_t(shape.width));
      begin_rows(*reference, shape.rows);
      const Matrix expected = reference->matrix(shape.rows, shape.width);
      reference->rms_norm(expected, put(*reference, x, shape.rows, shape.width),
                          *upload(*reference, w), 1e-6f, kind);
      const DeviceMatrix from(x, shape.rows, shape.width), to(shape.rows, shape.width);
      const DeviceArray<float> weight(w);
      cuda::rms_norm(nullptr, to.matrix(), from.matrix(), weight.data(), shape.width, 1e-6f,
                     kind == NormKind::ZeroCentred);
      expect_near(to.get(), get(expected), 1.0 / 100, fmt::format("width {}", shape.width));
    }
  }
}

// Many rows use another kernel than few.
TEST_F(CudaRows, NormsDoNotDependOnTheOtherRows) {
  for (const int width : {520, 1000, 2048, 3584, 4096, 4104}) {
    constexpr int kRows = 300, kFew = 7;
    Numbers numbers(5);
    const auto x = numbers.many(std::size_t(kRows * width));
    const DeviceArray<float> weight(numbers.many(std::size_t(width)));
    for (const bool zero_centred : {false, true}) {
      const DeviceMatrix from(x, kRows, width), to(kRows, width), few(kFew, width);
      Matrix first = from.matrix();
      first.rows = kFew;
      cuda::rms_norm(nullptr, to.matrix(), from.matrix(), weight.data(), width, 1e-6f,
                     zero_centred);
      cuda::rms_norm(nullptr, few.matrix(), first, weight.data(), width, 1e-6f, zero_centred);
      auto beginning = to.get();
      beginning.resize(std::size_t(kFew * width));
      EXPECT_TRUE(same_bits(beginning, few.get())) << "width " << width;
    }
  }
}

TEST_F(CudaRows, HeadNormsMatchTheReferenceInPlace) {
  const auto reference = make_reference_ops();
  for (const auto& [heads, dim] : {std::pair{28, 128}, {3, 5}, {16, 64}, {2, 256}, {1, 600}}) {
    Numbers numbers(2);
    const int width = heads * dim;
    const auto x = numbers.many(std::size_t(3 * width)), w = numbers.many(std::size_t(dim));
    const auto gate = numbers.many(std::size_t(3 * width));
    begin_rows(*reference, 3);
    const Matrix expected = put(*reference, x, 3, width), gated = reference->matrix(3, width);
    reference->gated_norm(gated, expected, put(*reference, gate, 3, width), *upload(*reference, w),
                          1e-6f);
    reference->rms_norm(expected, expected, *upload(*reference, w), 1e-6f, NormKind::Plain);
    const DeviceMatrix here(x, 3, width), gates(gate, 3, width), there(3, width);
    const DeviceArray<float> weight(w);
    cuda::gated_norm(nullptr, there.matrix(), here.matrix(), gates.matrix(), weight.data(), dim,
                     1e-6f);
    cuda::rms_norm(nullptr, here.matrix(), here.matrix(), weight.data(), dim, 1e-6f, false);
    expect_near(here.get(), get(expected), 1.0 / 100, fmt::format("{} heads of {}", heads, dim));
    expect_near(there.get(), get(gated), 1.0 / 100, fmt::format("{} heads of {}", heads, dim));
  }
}

TEST_F(CudaRows, GatesMatchTheReference) {
  const auto reference = make_reference_ops();
  for (const Shape2& shape : kShapes) {
    Numbers numbers(3);
    const std::size_t count = std::size_t(shape.rows * shape.width);
    const auto a = numbers.many(count), b = numbers.many(count);
    begin_rows(*reference, shape.rows);
    const Matrix first = put(*reference, a, shape.rows, shape.width);
    const Matrix second = put(*reference, b, shape.rows, shape.width);
    const Matrix product = reference->matrix(shape.rows, shape.width);
    const Matrix gelu = reference->matrix(shape.rows, shape.width);
    const Matrix sum = put(*reference, a, shape.rows, shape.width);
    reference->silu_mul(product, first, second);
    reference->gelu_mul(gelu, first, second);
    reference->add(sum, second);
    reference->sigmoid_gate(first, second);
    const DeviceMatrix x(a, shape.rows, shape.width), y(b, shape.rows, shape.width);
    const DeviceMatrix to(shape.rows, shape.width);
    cuda::silu_mul(nullptr, to.matrix(), x.matrix(), y.matrix());
    expect_near(to.get(), get(product), 1.0 / 100, "silu_mul");
    cuda::gelu_mul(nullptr, to.matrix(), x.matrix(), y.matrix());
    expect_near(to.get(), get(gelu), 1.0 / 100, "gelu_mul");
    const DeviceMatrix sums(a, shape.rows, shape.width);
    cuda::add(nullptr, sums.matrix(), y.matrix());
    expect_near(sums.get(), get(sum), 1.0 / 100, "add");
    cuda::sigmoid_gate(nullptr, x.matrix(), y.matrix());
    expect_near(x.get(), get(first), 1.0 / 100, "sigmoid_gate");
  }
}

TEST_F(CudaRows, HeadsAreSplitAndRowsPicked) {
  Numbers numbers(4);
  const auto x = numbers.many(6 * 2 * 3 * 10);
  const DeviceMatrix all(x, 6, 60), first(6, 30), second(6, 30), picked(3, 60);
  cuda::split_heads(nullptr, first.matrix(), second.matrix(), all.matrix(), 3);
  const DeviceArray<int> rows(std::vector<int>{4, 0, 4});
  cuda::gather(nullptr, picked.matrix(), all.matrix(), rows.data());
  const auto a = first.get(), b = second.get(), p = picked.get();
  for (int r = 0; r < 6; ++r) {
    for (int h = 0; h < 3; ++h) {
      for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(a[std::size_t(r * 30 + h * 10 + i)], x[std::size_t(r * 60 + h * 20 + i)]);
        ASSERT_EQ(b[std::size_t(r * 30 + h * 10 + i)], x[std::size_t(r * 60 + h * 20 + 10 + i)]);
      }
    }
  }
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(p[std::size_t(i)], x[std::size_t(4 * 60 + i)]);
    ASSERT_EQ(p[std::size_t(60 + i)], x[std::size_t(i)]);
  }
}

TEST_F(CudaRows, FusedSplitAndNormsGiveTheSameBits) {
  for (const auto& [heads, kv_heads, dim] :
       {std::tuple{8, 2, 256}, {3, 1, 64}, {2, 2, 5}, {2, 1, 600}}) {
    constexpr int kRows = 5;
    const int q_width = heads * dim, k_width = kv_heads * dim;
    Numbers numbers(6);
    const auto fused = numbers.many(std::size_t(kRows * (2 * q_width + k_width)));
    const DeviceArray<float> q_weight(numbers.many(std::size_t(dim))),
        k_weight(numbers.many(std::size_t(dim)));
    const auto run = [&](bool in_one) {
      const DeviceMatrix all(fused, kRows, 2 * q_width + k_width), q(kRows, q_width),
          gate(kRows, q_width);
      const Matrix q_gate = all.matrix().columns(0, 2 * q_width, 2);
      const Matrix k = all.matrix().columns(2 * q_width, k_width, 2);
      if (in_one) {
        cuda::split_and_norm(nullptr, q.matrix(), gate.matrix(), q_gate, k, q_weight.data(),
                             k_weight.data(), dim, 1e-6f, true);
      } else {
        cuda::split_heads(nullptr, q.matrix(), gate.matrix(), q_gate, heads);
        cuda::rms_norm(nullptr, q.matrix(), q.matrix(), q_weight.data(), dim, 1e-6f, true);
        cuda::rms_norm(nullptr, k, k, k_weight.data(), dim, 1e-6f, true);
      }
      return std::array{q.get(), gate.get(), all.get()};
    };
    const auto in_one = run(true), one_by_one = run(false);
    for (std::size_t i = 0; i < in_one.size(); ++i)
      EXPECT_TRUE(same_bits(in_one[i], one_by_one[i])) << "heads of " << dim << ", result " << i;
  }
}

TEST_F(CudaRows, TokensAreLookedUpInPackedWeights) {
  for (const int width : {5, 64, 200}) {
    const auto table = Numbers(5).many(std::size_t(150 * width));
    const DeviceArray<float> plain(table);
    const DeviceArray<std::uint16_t> blocks(cuda::packed_elements(150, width));
    auto* packed = reinterpret_cast<cuda::Bf16*>(blocks.data());
    cuda::pack_rows(nullptr, {packed, 150, width}, 0, 150, plain.data(), cuda::Number::F32);
    TestBatch batch;
    for (int i = 0; i < 4; ++i) batch.add(i, 1, {});
    batch.ids = {149, 0, 64, 63};
    const DeviceTestBatch rows(batch.batch());
    const DeviceMatrix to(4, width);
    const DeviceMatrix twice(4, width);
    cuda::embed(nullptr, to.matrix(), packed, 1, rows.batch());
    cuda::embed(nullptr, twice.matrix(), packed, 2, rows.batch());
    const auto got = to.get(), doubled = twice.get();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(doubled[i], 2 * got[i]);
    for (int r = 0; r < 4; ++r) {
      for (int i = 0; i < width; ++i)
        ASSERT_EQ(got[std::size_t(r * width + i)],
                  table[std::size_t(batch.ids[std::size_t(r)] * width + i)]);
    }
  }
}

}  // namespace
}  // namespace counterbeam
