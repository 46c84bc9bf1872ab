// Tests GEMMs, weight packing and the row operations of the CPU back end against the reference at
// odd sizes. The bits of a row must not depend on the other rows or on the number of threads.
#include "backend/cpu/kernels.h"
#include "base/error.h"
#include "cpu_support.h"

namespace counterbeam {
namespace {

class CpuProducts : public CpuPaths {};
INSTANTIATE_TEST_SUITE_P(Paths, CpuProducts, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(CpuProducts, MatchTheReferenceAtOddSizes) {
  const auto ops = fast(), reference = make_reference_ops();
  Numbers numbers(1);
  for (const int out : {1, 31, 33, 100}) {
    for (const int in : {1, 7, 32, 65, 300}) {
      const auto weights = numbers.many(std::size_t(out) * std::size_t(in));
      const auto biases = numbers.many(std::size_t(out));
      const auto w = pack(*ops, weights, out, in), v = pack(*reference, weights, out, in);
      const auto b = upload(*ops, biases), c = upload(*reference, biases);
      for (const int rows : {1, 2, 5, 12, 13, 33, 48}) {
        const auto inputs = numbers.many(std::size_t(rows) * std::size_t(in));
        const auto before = numbers.many(std::size_t(rows) * std::size_t(out));
        begin_rows(*ops, rows);
        begin_rows(*reference, rows);
        Matrix x = put(*ops, inputs, rows, in), y = put(*reference, inputs, rows, in);
        Matrix sum = put(*ops, before, rows, out), expected = put(*reference, before, rows, out);
        ops->matmul_add(sum, x, *w, b.get());
        reference->matmul_add(expected, y, *v, c.get());
        expect_near(get(sum), get(expected), 2e-5, "matmul_add");
        ops->matmul(sum, x, *w, nullptr);
        reference->matmul(expected, y, *v, nullptr);
        expect_near(get(sum), get(expected), 2e-5, "matmul");
      }
    }
  }
}

// Inputs that bf16 cannot represent are rounded to nearest, ties to even.
TEST_P(CpuProducts, RoundTheirInputsToTheNearest) {
  const auto ops = fast(), reference = make_reference_ops();
  Numbers numbers(3);
  const int rows = 5, in = 96, out = 40;
  const auto weights = numbers.many(out * in);
  auto inputs = numbers.many(rows * in), rounded = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] *= 1.2345f;
    rounded[i] = bf16() ? from_bf16(to_bf16(inputs[i])) : inputs[i];
  }
  begin_rows(*ops, rows);
  begin_rows(*reference, rows);
  const Matrix got = ops->matrix(rows, out), expected = reference->matrix(rows, out);
  ops->matmul(got, put(*ops, inputs, rows, in), *pack(*ops, weights, out, in), nullptr);
  reference->matmul(expected, put(*reference, rounded, rows, in),
                    *pack(*reference, weights, out, in), nullptr);
  expect_near(get(got), get(expected), 2e-5, "matmul");
}

TEST_P(CpuProducts, WriteOnlyTheirColumns) {
  const auto ops = fast();
  Numbers numbers(2);
  const int rows = 14, in = 40, out = 45, wide = 80;
  const auto w = pack(*ops, numbers.many(out * in), out, in);
  begin_rows(*ops, rows);
  Matrix x = put(*ops, numbers.many(rows * in), rows, in);
  const auto before = numbers.many(rows * wide);
  Matrix all = put(*ops, before, rows, wide);
  ops->matmul(all.columns(16, out, ops->costs().activation_bytes), x, *w, nullptr);
  const auto after = get(all);
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < wide; ++i) {
      if (i >= 16 && i < 16 + out) continue;
      EXPECT_EQ(after[r * wide + i], before[r * wide + i]);
    }
  }
}

TEST_P(CpuProducts, RowsDoNotDependOnTheBatch) {
  Numbers numbers(3);
  const int rows = 41, in = 333, out = 130;
  auto inputs = numbers.many(rows * in);
  for (float& x : inputs) x *= 1.2345f;  // not representable in bf16
  const auto weights = numbers.many(out * in);
  std::vector<float> expected;
  for (const int threads : {1, 2, 3}) {
    const auto ops = fast(threads);
    const auto w = pack(*ops, weights, out, in);
    for (const int chunk : {41, 1, 2, 7, 12, 16, 17, 30}) {
      std::vector<float> results;
      for (int first = 0; first < rows; first += chunk) {
        const int count = std::min(chunk, rows - first);
        begin_rows(*ops, count);
        Matrix x = put(*ops, {inputs.begin() + first * in, inputs.begin() + (first + count) * in},
                       count, in);
        Matrix y = ops->matrix(count, out);
        ops->matmul(y, x, *w, nullptr);
        const auto part = get(y);
        results.insert(results.end(), part.begin(), part.end());
      }
      if (expected.empty()) expected = results;
      EXPECT_TRUE(same_bits(results, expected)) << threads << " threads, chunks of " << chunk;
    }
  }
}

// Enough rows of enough inputs that they do not fit in the cache.
TEST_P(CpuProducts, ManyLongRowsGiveTheBitsOfEachRowAlone) {
  Numbers numbers(7);
  const int rows = 567, in = 3500, out = 75;
  auto inputs = numbers.many(std::size_t(rows) * in);
  for (float& x : inputs) x *= 1.2345f;
  const auto ops = fast();
  const auto w = pack(*ops, numbers.many(std::size_t(out) * in), out, in);
  const auto biases = numbers.many(out), before = numbers.many(std::size_t(rows) * out);
  const auto b = upload(*ops, biases);
  const auto run = [&](int first, int count, bool add) {
    begin_rows(*ops, count);
    const auto part = [&](const std::vector<float>& all, int width) {
      return put(*ops, {all.begin() + first * width, all.begin() + (first + count) * width}, count,
                 width);
    };
    Matrix y = part(before, out);
    if (add) {
      ops->matmul_add(y, part(inputs, in), *w, b.get());
    } else {
      ops->matmul(y, part(inputs, in), *w, nullptr);
    }
    return get(y);
  };
  for (const bool add : {false, true}) {
    const auto together = run(0, rows, add);
    for (const int row : {0, 15, 16, 300, 543, 544, 559, 560, 566}) {
      const auto alone = run(row, 1, add);
      EXPECT_TRUE(
          same_bits(alone, {together.begin() + row * out, together.begin() + (row + 1) * out}))
          << "row " << row << (add ? ", added" : "");
    }
  }
}

// Few rows of so many inputs that they do not fit in the cache: AMX takes the depth in parts.
TEST_P(CpuProducts, FewVeryLongRowsGiveTheBitsOfEachRowAlone) {
  Numbers numbers(9);
  const int most = 48, in = 19000, out = 75;
  const auto inputs = numbers.many(std::size_t(most) * in);
  const auto before = numbers.many(std::size_t(most) * out);
  const auto ops = fast(2), reference = make_reference_ops();
  const auto weights = numbers.many(std::size_t(out) * in), biases = numbers.many(out);
  const auto w = pack(*ops, weights, out, in), v = pack(*reference, weights, out, in);
  const auto b = upload(*ops, biases), c = upload(*reference, biases);
  const auto run = [&](Ops& o, const PackedMatrix& matrix, const Vector* bias, int first, int count,
                       bool add) {
    begin_rows(o, count);
    const auto part = [&](const std::vector<float>& all, int width) {
      return put(o, {all.begin() + first * width, all.begin() + (first + count) * width}, count,
                 width);
    };
    const Matrix y = part(before, out), x = part(inputs, in);
    add ? o.matmul_add(y, x, matrix, bias) : o.matmul(y, x, matrix, bias);
    return get(y);
  };
  for (const bool add : {false, true}) {
    for (const bool biased : {false, true}) {
      const Vector* bias = biased ? b.get() : nullptr;
      const auto expected = run(*reference, *v, bias ? c.get() : nullptr, 0, most, add);
      for (const int rows : {48, 47, 33, 20}) {
        const auto together = run(*ops, *w, bias, 0, rows, add);
        expect_near(together, {expected.begin(), expected.begin() + rows * out}, 1e-3, "product");
        for (const int row : {0, 15, 16, 19, 32, 46}) {
          if (row >= rows) continue;
          const auto alone = run(*ops, *w, bias, row, 1, add);
          EXPECT_TRUE(
              same_bits(alone, {together.begin() + row * out, together.begin() + (row + 1) * out}))
              << "row " << row << " of " << rows << (add ? ", added" : "");
        }
      }
    }
  }
}

// Random weights are made in place, and are the numbers of the plain way.
TEST_P(CpuProducts, RandomWeightsAreThoseOfEveryBackEnd) {
  const auto ops = fast(3), reference = make_reference_ops();
  const int out = 75, in = 1100;  // more numbers than the block that repeats
  const auto w = ops->pack_random(out, in, 0.1f, 5), v = reference->pack_random(out, in, 0.1f, 5);
  EXPECT_EQ(w->out, out);
  EXPECT_EQ(w->in, in);
  TestBatch batch;
  batch.add(0, 4, {});
  batch.ids = {0, 1, 60, 74};
  const auto rows_of_table = [&](Ops& o, const PackedMatrix& table) {
    o.begin(batch.batch());
    const Matrix rows = o.matrix(4, in);
    o.embed(rows, table, 1);
    return get(rows);
  };
  EXPECT_TRUE(same_bits(rows_of_table(*ops, *w), rows_of_table(*reference, *v)));
}

TEST_P(CpuProducts, GatedProductsEqualTheirParts) {
  Numbers numbers(8);
  const auto ops = fast(3);
  for (const int inner : {160, 75}) {
    const int in = 90;
    const auto w = pack(*ops, numbers.many(std::size_t(2 * inner) * in), 2 * inner, in);
    const auto b = upload(*ops, numbers.many(std::size_t(2 * inner)));
    for (const int rows : {1, 33, 48, 300, 1100}) {
      const auto inputs = numbers.many(std::size_t(rows) * in);
      begin_rows(*ops, rows);
      const Matrix x = put(*ops, inputs, rows, in), both = ops->matrix(rows, 2 * inner);
      const Matrix out = ops->matrix(rows, inner), expected = ops->matrix(rows, inner);
      const Matrix gate = both.columns(0, inner, 4), up = both.columns(inner, inner, 4);
      ops->gated_matmul(out, x, *w, b.get(), Activation::Silu, both);
      ops->matmul(both, x, *w, b.get());
      ops->silu_mul(expected, gate, up);
      EXPECT_TRUE(same_bits(get(out), get(expected))) << rows << " rows of " << inner;
      ops->gated_matmul(out, x, *w, b.get(), Activation::GeluTanh, both);
      ops->matmul(both, x, *w, b.get());
      ops->gelu_mul(expected, gate, up);
      EXPECT_TRUE(same_bits(get(out), get(expected))) << rows << " rows of " << inner << ", gelu";
    }
  }
}

TEST_P(CpuProducts, PackEveryFloatTypeAndStackParts) {
  const auto ops = fast();
  Numbers numbers(4);
  const int in = 70;
  const auto first = numbers.many(37 * in), second = numbers.many(5 * in);
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    const Tensor a = Tensor::from_f32(first, dtype, {37, in});
    const Tensor b = Tensor::from_f32(second, dtype, {5, in});
    const StoredMatrix parts[] = {a.view(), b.view()};
    const auto packed = ops->pack(parts);
    EXPECT_EQ(packed->out, 42);
    EXPECT_EQ(packed->in, in);
    // Rows of an embedding table that is tied to the head are returned unchanged.
    TestBatch batch;
    batch.add(0, 3, {});
    batch.ids = {0, 36, 40};
    ops->begin(batch.batch());
    Matrix rows = ops->matrix(3, in);
    ops->embed(rows, *packed, 1);
    const float tolerance = dtype == DType::F16 ? 1e-3f : 0;
    // A scale is rounded as the table is, as transformers does.
    const Matrix scaled = ops->matrix(3, in);
    const float root = std::sqrt(1152.0f);
    ops->embed(scaled, *packed, root);
    for (int i = 0; i < in; ++i) {
      EXPECT_EQ(row_of(scaled, 1)[i], row_of(rows, 1)[i] * (bf16() ? 34.0f : root));
      EXPECT_NEAR(row_of(rows, 0)[i], first[i], tolerance);
      EXPECT_NEAR(row_of(rows, 1)[i], first[36 * in + i], tolerance);
      EXPECT_NEAR(row_of(rows, 2)[i], second[3 * in + i], tolerance);
    }
  }
}

TEST_P(CpuProducts, ANanStaysInItsRow) {
  const auto ops = fast();
  Numbers numbers(5);
  const int rows = 5, in = 64, out = 40;
  const auto w = pack(*ops, numbers.many(out * in), out, in);
  begin_rows(*ops, rows);
  auto inputs = numbers.many(rows * in);
  inputs[2 * in + 7] = std::nanf("");
  Matrix y = ops->matrix(rows, out);
  ops->matmul(y, put(*ops, inputs, rows, in), *w, nullptr);
  for (int r = 0; r < rows; ++r) EXPECT_EQ(std::isnan(row_of(y, r)[3]), r == 2);
}

TEST_P(CpuProducts, RowOperationsMatchTheReference) {
  const auto ops = fast(), reference = make_reference_ops();
  Numbers numbers(6);
  for (const int head : {3, 16, 20, 64, 128}) {
    const int rows = 9, heads = 5, width = heads * head;
    auto values = numbers.many(std::size_t(rows) * std::size_t(width));
    for (float& x : values) x *= 30;
    const auto others = numbers.many(std::size_t(rows) * std::size_t(width));
    const auto twice = numbers.many(2 * std::size_t(rows) * std::size_t(width));
    const auto weights = numbers.many(std::size_t(head));
    const auto run = [&](Ops& o) {
      std::vector<std::vector<float>> results;
      begin_rows(o, rows);
      const auto w = upload(o, weights);
      Matrix x = put(o, values, rows, width), g = put(o, others, rows, width);
      Matrix out = o.matrix(rows, width), second = o.matrix(rows, width);
      o.rms_norm(out, x, *w, 1e-6f, NormKind::Plain);
      results.push_back(get(out));
      o.rms_norm(out, x, *w, 1e-5f, NormKind::ZeroCentred);
      results.push_back(get(out));
      o.gated_norm(out, g, x, *w, 1e-6f);
      results.push_back(get(out));
      o.silu_mul(out, x, g);
      results.push_back(get(out));
      o.gelu_mul(out, x, g);
      results.push_back(get(out));
      o.add(out, x);
      results.push_back(get(out));
      o.sigmoid_gate(out, x);
      results.push_back(get(out));
      o.split_heads(out, second, put(o, twice, rows, 2 * width), heads);
      results.push_back(get(out));
      results.push_back(get(second));
      Rope rope{.inverse_frequency = {1.0f, 0.3f, 0.01f}, .scale = 1.1f};
      rope.inverse_frequency.resize(std::size_t(head / 2), 0.5f);
      o.rope(x, heads, rope);
      results.push_back(get(x));
      const int picked[] = {8, 0, 3};
      Matrix some = o.matrix(3, width);
      o.gather(some, g, picked);
      results.push_back(get(some));
      return results;
    };
    const auto got = run(*ops), expected = run(*reference);
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_near(got[i], expected[i], 3e-6, "operation " + std::to_string(i));
  }
}

TEST(CpuIsa, UnknownAndMissingPathsAreErrors) {
  EXPECT_THROW(make_cpu_ops(Precision::F32, 1, "sse9"), Error);
  EXPECT_THROW(make_cpu_ops(Precision::F32, 0), Error);
  for (const Isa isa : kAllIsas) {
    const std::string name(name_of(isa));
    if (runs_here(isa)) {
      EXPECT_EQ(make_cpu_ops(Precision::F32, 1, name)->name(), "cpu " + name + " f32, 1 thread");
    } else {
      EXPECT_THROW(make_cpu_ops(Precision::F32, 1, name), Error);
    }
  }
}

TEST(CpuPacking, BadPartsAreErrors) {
  const auto ops = make_cpu_ops(Precision::Bf16, 1, "generic");
  const Tensor a(DType::F32, {4, 8}), b(DType::F32, {4, 9}), c(DType::F8E5M2, {4, 8});
  const StoredMatrix unequal[] = {a.view(), b.view()};
  EXPECT_THROW(ops->pack(unequal), Error);
  EXPECT_THROW(StoredMatrix{c.view()}, Error);
}

}  // namespace
}  // namespace counterbeam
