// Tests RoPE and KV-cache writes on the device against the reference, at positions up to 131,071
// and for slices of wider matrices with any alignment. One fused launch gives the bits of three
// launches.
#include "cuda_support.h"

namespace counterbeam {
namespace {

using CudaRope = CudaTest;

struct RopeCase {
  int heads, kv_heads, width, half;
};
constexpr RopeCase kCases[] = {{28, 4, 128, 64}, {8, 2, 256, 32}, {3, 1, 80, 40},
                               {2, 2, 5, 2},     {4, 2, 64, 12},  {32, 32, 128, 64}};

std::vector<float> frequencies(int half) {
  std::vector<float> all;
  for (int j = 0; j < half; ++j)
    all.push_back(static_cast<float>(std::pow(10000.0, -double(j) / double(half))));
  return all;
}

// Queries, keys and values side by side, after `before` columns of NaN.
struct Fused {
  Fused(const RopeCase& shape, int row_count, int before, std::uint64_t seed)
      : rows(row_count),
        q_width(shape.heads * shape.width),
        kv_width(shape.kv_heads * shape.width),
        offset(before),
        width(before + q_width + 2 * kv_width),
        numbers(Numbers(seed).many(std::size_t(rows * width))),
        matrix(numbers, rows, width) {}
  Matrix q() const { return matrix.matrix().columns(offset, q_width, 2); }
  Matrix k() const { return matrix.matrix().columns(offset + q_width, kv_width, 2); }
  Matrix v() const { return matrix.matrix().columns(offset + q_width + kv_width, kv_width, 2); }
  int rows, q_width, kv_width, offset, width;
  std::vector<float> numbers;
  DeviceMatrix matrix;
};

// Two sequences, one at a large position. RoPE does not use their pages.
TestBatch far_rows(std::vector<PageId> near, std::vector<PageId> far) {
  TestBatch batch;
  batch.add(3, 5, std::move(near));
  batch.add(131071 - 3, 4, std::move(far));
  return batch;
}

std::vector<float> turned_by_reference(const RopeCase& shape, const Fused& fused, float scale) {
  const auto ops = make_reference_ops();
  TestBatch batch = far_rows({}, {});
  ops->begin(batch.batch());
  const Matrix all = put(*ops, fused.numbers, fused.rows, fused.width);
  const Rope rope{frequencies(shape.half), scale};
  ops->rope(all.columns(fused.offset, fused.q_width, 4), shape.heads, rope);
  ops->rope(all.columns(fused.offset + fused.q_width, fused.kv_width, 4), shape.kv_heads, rope);
  return get(all);
}

struct Pool {
  Pool(const RopeCase& shape, int pages)
      : keys(std::size_t(2 * pages * shape.kv_heads * kPageTokens * shape.width)),
        values(std::size_t(2 * pages * shape.kv_heads * kPageTokens * shape.width)),
        view{reinterpret_cast<cuda::Bf16*>(keys.data()),
             reinterpret_cast<cuda::Bf16*>(values.data()),
             {2, shape.kv_heads, shape.width},
             pages} {}
  DeviceArray<std::uint16_t> keys, values;
  cuda::KvView view;
};

TEST_F(CudaRope, RotatesAndStoresLikeTheReference) {
  for (const RopeCase& shape : kCases) {
    for (const int offset : {0, 3}) {
      const DeviceArray<float> inverse(frequencies(shape.half));
      const cuda::DeviceRope rope{inverse.data(), shape.half, 1.25f};
      const std::vector<PageId> far(4096, PageId{1});  // the last row's page is page 1
      TestBatch rows = far_rows({PageId{0}}, far);
      const DeviceTestBatch batch(rows.batch(), 2);
      const Fused apart(shape, 11, offset, 5), fused(shape, 11, offset, 5);
      const Pool one(shape, 2), other(shape, 2);
      cuda::rope(nullptr, apart.q(), shape.heads, rope, batch.batch());
      cuda::rope(nullptr, apart.k(), shape.kv_heads, rope, batch.batch());
      cuda::store_kv(nullptr, one.view, 1, apart.k(), apart.v(), batch.batch());
      cuda::rope_and_store(nullptr, fused.q(), fused.k(), fused.v(), shape.heads, rope, other.view,
                           1, batch.batch());
      auto expected = turned_by_reference(shape, fused, rope.scale);
      // One rounding: an error of 2^-9 for values below 2 * scale.
      expect_near(fused.matrix.get(), expected, 4e-3, "width " + std::to_string(shape.width));
      EXPECT_EQ(fused.matrix.get(), apart.matrix.get());
      EXPECT_EQ(one.keys.get(), other.keys.get());
      EXPECT_EQ(one.values.get(), other.values.get());
    }
  }
}

}  // namespace
}  // namespace counterbeam
