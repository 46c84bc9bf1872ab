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
  Pool(const KvShape& shape, int pages)
      : keys(std::size_t(2 * pages * shape.heads * cuda::block_elements(shape))),
        values(std::size_t(2 * pages * shape.heads * cuda::block_elements(shape))),
        view{reinterpret_cast<cuda::Bf16*>(keys.data()),
             reinterpret_cast<cuda::Bf16*>(values.data()), shape, pages} {}
  DeviceArray<std::uint16_t> keys, values;
  cuda::KvView view;
};

TEST_F(CudaRope, RotatesAndStoresLikeTheReference) {
  for (const RopeCase& shape : kCases) {
    for (const auto& [offset, type] : {std::pair{0, CacheType::Plain},
                                       {3, CacheType::Plain},
                                       {0, CacheType::Int8},
                                       {3, CacheType::Fp8}}) {
      const DeviceArray<float> inverse(frequencies(shape.half));
      const cuda::DeviceRope rope{inverse.data(), shape.half, 1.25f};
      const std::vector<PageId> far(4096, PageId{1});  // the last row's page is page 1
      TestBatch rows = far_rows({PageId{0}}, far);
      const DeviceTestBatch batch(rows.batch(), 2);
      const Fused apart(shape, 11, offset, 5), fused(shape, 11, offset, 5);
      const KvShape pages{2, shape.kv_heads, shape.width, type};
      const Pool one(pages, 2), other(pages, 2);
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

// Scales and codes on the device are those of HeadCoder, bit for bit.
TEST_F(CudaRope, CodesAreThoseOfTheReference) {
  const int rows = kPageTokens, heads = 3;
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    for (const int width : {5, 64, 80, 128, 256}) {
      std::vector<float> numbers = Numbers(6).many(std::size_t(rows * heads * width));
      // Heads of several magnitudes, of zeros, of tiny numbers, and with what is not finite.
      const float sizes[] = {1.0f, 1e-20f, 3e30f, 0.0f, 1e-38f, 700.0f};
      for (int i = 0; i < rows * heads; ++i) {
        for (int j = 0; j < width; ++j) {
          float& number = numbers[std::size_t(i * width + j)];
          number = from_bf16(to_bf16(number * sizes[i % 6]));
        }
      }
      numbers[std::size_t(7 * width)] = std::nanf("");
      numbers[std::size_t(12 * width + 1)] = -HUGE_VALF;
      const Pool pool({2, heads, width, type}, 1);
      TestBatch batch;
      batch.add(0, rows, {PageId{0}});
      const DeviceTestBatch on_device(batch.batch());
      const DeviceMatrix kv(numbers, rows, heads * width);
      cuda::store_kv(nullptr, pool.view, 1, kv.matrix(), kv.matrix(), on_device.batch());
      const std::vector<std::uint16_t> stored = pool.values.get();
      EXPECT_TRUE(std::equal(stored.begin() + std::ptrdiff_t(stored.size() / 2), stored.end(),
                             pool.keys.get().begin() + std::ptrdiff_t(stored.size() / 2)));
      const int block = cuda::block_elements(pool.view.shape);
      for (int i = 0; i < rows * heads; ++i) {
        const int row = i / heads, head = i % heads;
        const auto* at = reinterpret_cast<const std::byte*>(stored.data() + (heads + head) * block);
        float scale = 0;
        std::memcpy(&scale, at + row * 4, 4);
        const float* from = numbers.data() + i * width;
        const HeadCoder coder(type, from, width);
        if (std::isnan(coder.scale())) {
          EXPECT_TRUE(std::isnan(scale)) << i;
        } else {
          EXPECT_EQ(scale, coder.scale()) << "width " << width << ", head " << i;
        }
        for (int j = 0; j < width; ++j) {
          const auto code = std::to_integer<std::uint8_t>(at[kPageTokens * 4 + row * width + j]);
          EXPECT_EQ(code_value(type, code), code_value(type, coder.code(from[j])))
              << "width " << width << ", head " << i << ", column " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace counterbeam
