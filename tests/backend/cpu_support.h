// Support for the tests of the CPU back end: every path that this machine supports, random
// matrices, and a batch that owns its memory.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "backend/cache_codes.h"
#include "backend/cpu/isa.h"
#include "backend/ops.h"

namespace counterbeam {

struct Path {
  Isa isa = Isa::Generic;
  Precision precision = Precision::F32;
};

inline void PrintTo(const Path& path, std::ostream* out) {
  *out << name_of(path.isa) << (path.precision == Precision::F32 ? " f32" : " bf16");
}

inline std::vector<Path> all_paths() {
  std::vector<Path> paths;
  for (const Isa isa : kAllIsas) {
    for (const Precision precision : {Precision::F32, Precision::Bf16})
      paths.push_back({isa, precision});
  }
  return paths;
}

// A fast back end and the reference. Paths that the machine does not support are skipped.
class CpuPaths : public ::testing::TestWithParam<Path> {
 protected:
  void SetUp() override {
    if (!runs_here(GetParam().isa))
      GTEST_SKIP() << "this machine does not support " << name_of(GetParam().isa);
  }
  std::unique_ptr<Ops> fast(int threads = 2) const {
    return make_cpu_ops(GetParam().precision, threads, std::string(name_of(GetParam().isa)));
  }
  bool bf16() const { return GetParam().precision == Precision::Bf16; }
  // The tolerance of attention with numbers below 1. In bf16 the softmax weights are rounded, on
  // tiles also what codes stand for; other kernels multiply by the codes themselves.
  double attention_tolerance(CacheType type) const {
    if (!bf16()) return 4e-6;
    if (type == CacheType::Plain) return 4e-3;
    return GetParam().isa == Isa::Amx ? 8e-3 : 4e-6;
  }
};

inline std::string path_name(const ::testing::TestParamInfo<Path>& info) {
  std::string name(name_of(info.param.isa));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name + (info.param.precision == Precision::F32 ? "_f32" : "_bf16");
}

// How a cache stores keys and values.
inline constexpr CacheType kCacheTypes[] = {CacheType::Plain, CacheType::Fp8, CacheType::Int8};

// Numbers in (-1, 1) that bf16 represents exactly, so that rounding inputs changes nothing.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : key_{.seed = seed} {}
  float next() {
    ++key_.position;
    return from_bf16(to_bf16(static_cast<float>(2 * uniform(key_) - 1)));
  }
  std::vector<float> many(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = next();
    return values;
  }

 private:
  DrawKey key_;
};

inline std::span<float> row_of(Matrix m, int row) {
  return {static_cast<float*>(m.data) + std::ptrdiff_t{row} * m.stride,
          static_cast<std::size_t>(m.width)};
}

inline Matrix put(Ops& ops, const std::vector<float>& values, int rows, int width) {
  Matrix m = ops.matrix(rows, width);
  for (int r = 0; r < rows; ++r)
    std::memcpy(row_of(m, r).data(), values.data() + std::size_t(r) * std::size_t(width),
                std::size_t(width) * sizeof(float));
  return m;
}

inline std::vector<float> get(Matrix m) {
  std::vector<float> values;
  for (int r = 0; r < m.rows; ++r) {
    const auto row = row_of(m, r);
    values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}

inline std::unique_ptr<PackedMatrix> pack(Ops& ops, const std::vector<float>& values, int out,
                                          int in, DType dtype = DType::F32) {
  const Tensor tensor = Tensor::from_f32(values, dtype, {out, in});
  const StoredMatrix parts[] = {tensor.view()};
  return ops.pack(parts);
}

inline std::unique_ptr<Vector> upload(Ops& ops, const std::vector<float>& values) {
  const Tensor tensor =
      Tensor::from_f32(values, DType::F32, {static_cast<std::int64_t>(values.size())});
  const TensorView parts[] = {tensor.view()};
  return ops.upload(parts);
}

// Checks |a - b| <= tolerance * (1 + |b|) for every element.
inline void expect_near(const std::vector<float>& a, const std::vector<float>& b, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::abs(double(a[i]) - double(b[i])), tolerance * (1 + std::abs(double(b[i]))))
        << what << " at " << i << ": " << a[i] << " for " << b[i];
  }
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// Segments that own their pages, and a batch over them.
struct TestBatch {
  std::vector<std::vector<PageId>> pages;
  std::vector<Segment> segments;
  std::vector<TokenId> ids;

  void add(int position, int rows, std::vector<PageId> of, StateId state = StateId{0}) {
    pages.push_back(std::move(of));
    segments.push_back({static_cast<int>(ids.size()), rows, position, {}, state});
    ids.insert(ids.end(), static_cast<std::size_t>(rows), 0);
  }
  Batch batch() {
    for (std::size_t i = 0; i < segments.size(); ++i) segments[i].pages = pages[i];
    return {ids, segments};
  }
};

// Begins a batch of `rows` single-token sequences of token 0. It lasts until the next one of the
// same back end.
inline void begin_rows(Ops& ops, int rows) {
  static thread_local std::map<const Ops*, TestBatch> batches;
  TestBatch& plain = batches[&ops] = {};
  for (int r = 0; r < rows; ++r) plain.add(r, 1, {});
  ops.begin(plain.batch());
}

}  // namespace counterbeam
