// Products and embeddings of the CPU back end with quantised weights. The numbers of the codes,
// decoded by StoredMatrix and packed as plain weights, must give the same bits; but AMX and AVX-512
// BF16 do not round weights if their groups are large, and AVX-512 VNNI rounds rows to 16 bits by
// chunks: their products are compared with float32.
#include "backend/code_form.h"
#include "backend/cpu/packing.h"
#include "backend/int8_rows.h"
#include "cpu_support.h"
#include "quantised_example.h"

namespace counterbeam {
namespace {

using testing::QuantisedExample;
using Kind = QuantisedExample::Kind;

class CpuCodes : public CpuPaths {
 protected:
  // The products of both with random rows, for many numbers of rows.
  void expect_same(std::span<const StoredMatrix> quantised, std::span<const StoredMatrix> dense,
                   const std::string& what, bool codes = true) {
    const auto ops = fast();
    const auto w = ops->pack(quantised), v = ops->pack(dense);
    EXPECT_EQ(static_cast<const CpuMatrix&>(*w).form.has_value(), codes) << what;
    if (is_late(*w)) return expect_near_reference(*ops, *w, dense, what);
    Numbers numbers(5);
    const auto bias = upload(*ops, numbers.many(std::size_t(w->out)));
    for (const int rows : {1, 13, 17, 33, 49, 100}) {
      begin_rows(*ops, rows);
      const Matrix x = put(*ops, numbers.many(std::size_t(rows) * std::size_t(w->in)), rows, w->in);
      const auto before = numbers.many(std::size_t(rows) * std::size_t(w->out));
      const Matrix got = put(*ops, before, rows, w->out),
                   expected = put(*ops, before, rows, w->out);
      ops->matmul_add(got, x, *w, bias.get());
      ops->matmul_add(expected, x, *v, bias.get());
      expect_equal(get(got), get(expected), what + ", " + std::to_string(rows) + " rows");
      std::vector<float> logits(before.size()), others(before.size());
      ops->logits(logits, x, *w);
      ops->logits(others, x, *v);
      expect_equal(logits, others, what + ", logits");
    }
    expect_same_embeddings(*ops, *w, *v, what);
  }

  bool takes_integers(const PackedMatrix& w) const {
    return static_cast<const CpuMatrix&>(w).takes_integers();
  }
  // What products multiply: rows rounded to 16 bits by chunks, if they are of integers.
  std::vector<float> rounded(std::vector<float> x, const PackedMatrix& w) const {
    if (!takes_integers(w)) return x;
    const int chunk = static_cast<const CpuMatrix&>(w).codes.chunk;
    std::vector<std::int16_t> q(static_cast<std::size_t>(chunk));
    for (std::size_t row = 0; row < x.size(); row += std::size_t(w.in)) {
      for (int i = 0; i < w.in; i += chunk) {
        const auto count = std::size_t(std::min(chunk, w.in - i));
        const auto part = std::span(x).subspan(row + std::size_t(i), count);
        const float scale = quantise_chunk(part, std::span(q).first(count));
        for (std::size_t j = 0; j < count; ++j) part[j] = scale * static_cast<float>(q[j]);
      }
    }
    return x;
  }
  // Whether scales are applied to sums, not to weights.
  bool is_late(const PackedMatrix& w) const {
    const auto& matrix = static_cast<const CpuMatrix&>(w);
    return takes_integers(w) ||
           (bf16() && GetParam().isa >= Isa::Avx512Bf16 && matrix.form && matrix.codes.late);
  }
  void expect_near_reference(Ops& ops, const PackedMatrix& w, std::span<const StoredMatrix> dense,
                             const std::string& what) {
    const auto reference = make_reference_ops();
    const auto v = reference->pack(dense);
    Numbers numbers(5);
    const auto biases = numbers.many(std::size_t(w.out));
    const auto bias = upload(ops, biases), other = upload(*reference, biases);
    for (const int rows : {1, 17, 33, 48, 49, 100}) {
      begin_rows(ops, rows);
      begin_rows(*reference, rows);
      const auto inputs = numbers.many(std::size_t(rows) * std::size_t(w.in));
      const auto before = numbers.many(std::size_t(rows) * std::size_t(w.out));
      const Matrix x = put(ops, inputs, rows, w.in),
                   y = put(*reference, rounded(inputs, w), rows, w.in);
      const Matrix got = put(ops, before, rows, w.out),
                   expected = put(*reference, before, rows, w.out);
      ops.matmul_add(got, x, w, bias.get());
      reference->matmul_add(expected, y, *v, other.get());
      expect_near(get(got), get(expected), 1e-4, what + ", " + std::to_string(rows) + " rows");
      ops.matmul(got, x, w, nullptr);
      reference->matmul(expected, y, *v, nullptr);
      expect_near(get(got), get(expected), 1e-4, what + ", " + std::to_string(rows) + " rows");
      const auto all = get(got);
      begin_rows(ops, 1);
      const Matrix alone = ops.matrix(1, w.out);
      const auto last = inputs.end() - w.in;
      ops.matmul(alone, put(ops, {last, inputs.end()}, 1, w.in), w, nullptr);
      EXPECT_TRUE(same_bits(get(alone), std::span(all).last(std::size_t(w.out)))) << what;
    }
  }

 private:
  // Without a fused multiply-add, the generic path rounds offsets once more.
  void expect_equal(const std::vector<float>& a, const std::vector<float>& b,
                    const std::string& what) {
    if (GetParam().isa == Isa::Generic)
      expect_near(a, b, 1e-5, what);
    else
      EXPECT_TRUE(same_bits(a, b)) << what;
  }
  void expect_same_embeddings(Ops& ops, const PackedMatrix& w, const PackedMatrix& v,
                              const std::string& what) {
    TestBatch batch;
    batch.add(0, w.out, {});
    for (int i = 0; i < w.out; ++i) batch.ids[static_cast<std::size_t>(i)] = w.out - 1 - i;
    ops.begin(batch.batch());
    const Matrix a = ops.matrix(w.out, w.in), b = ops.matrix(w.out, w.in);
    ops.embed(a, w, 1);
    ops.embed(b, v, 1);
    EXPECT_TRUE(same_bits(get(a), get(b))) << what << ", embeddings";
  }
};
INSTANTIATE_TEST_SUITE_P(Paths, CpuCodes, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(CpuCodes, GiveTheBitsOfTheirNumbers) {
  std::uint32_t seed = 0;
  for (const Kind kind : {Kind::Int8, Kind::Int4, Kind::Fp8})
    for (const auto& [out, in, group] :
         {std::tuple(33, 300, 0), {64, 128, 32}, {100, 272, 16}, {40, 260, 128}, {31, 75, 25}})
      for (const bool zeros : {false, true})
        for (const bool ordered : {false, true}) {
          if (kind == Kind::Fp8 && zeros) continue;
          const QuantisedExample example({.kind = kind,
                                          .out = out,
                                          .in = in,
                                          .group = group,
                                          .zeros = zeros,
                                          .ordered = ordered,
                                          .scale_rows = seed % 3 == 0 && !zeros ? 7 : 1,
                                          .seed = ++seed});
          const Tensor plain = example.dense();
          const StoredMatrix quantised[] = {example.matrix()}, dense[] = {plain.view()};
          expect_same(quantised, dense,
                      fmt::format("kind {} [{}, {}] group {}{}{}", int(kind), out, in, group,
                                  zeros ? " zeros" : "", ordered ? " ordered" : ""));
        }
}

// Parts of a stacked matrix keep their own scales, and may differ in bits and groups.
TEST_P(CpuCodes, StackDifferentParts) {
  const QuantisedExample a({.kind = Kind::Int4, .out = 20, .in = 128, .group = 64, .zeros = true});
  const QuantisedExample b({.kind = Kind::Int8, .out = 30, .in = 128, .group = 32});
  const QuantisedExample c({.kind = Kind::Int4, .out = 9, .in = 128});
  const Tensor x = a.dense(), y = b.dense(), z = c.dense();
  const StoredMatrix quantised[] = {a.matrix(), b.matrix(), c.matrix()};
  const StoredMatrix dense[] = {x.view(), y.view(), z.view()};
  expect_same(quantised, dense, "mixed");
}

// FP8 and integers have no common form, nor have codes and plain numbers, nor two orders of groups.
TEST_P(CpuCodes, KeepNumbersWhereThereIsNoCommonForm) {
  const QuantisedExample a({.kind = Kind::Fp8, .out = 20, .in = 64});
  const QuantisedExample b({.kind = Kind::Int8, .out = 20, .in = 64, .group = 16, .ordered = true});
  const QuantisedExample c(
      {.kind = Kind::Int8, .out = 20, .in = 64, .group = 16, .ordered = true, .seed = 9});
  const Tensor x = a.dense(), y = b.dense(), z = c.dense();
  const StoredMatrix kinds[] = {a.matrix(), b.matrix()}, kinds_dense[] = {x.view(), y.view()};
  expect_same(kinds, kinds_dense, "FP8 and Int8", false);
  const StoredMatrix orders[] = {b.matrix(), c.matrix()}, orders_dense[] = {y.view(), z.view()};
  expect_same(orders, orders_dense, "two orders", false);
  const StoredMatrix some[] = {a.matrix(), y.view()};
  expect_same(some, kinds_dense, "FP8 and numbers", false);
}

// So many rows and inputs that AMX walks the depth in parts.
TEST_P(CpuCodes, DeepMatricesGiveTheSameBits) {
  if (!bf16() || GetParam().isa == Isa::Generic) GTEST_SKIP() << "nothing new on this path";
  for (const int group : {32, 128}) {
    const QuantisedExample example({.kind = Kind::Int4, .out = 72, .in = 6016, .group = group});
    const Tensor plain = example.dense();
    const StoredMatrix quantised[] = {example.matrix()}, dense[] = {plain.view()};
    const auto ops = fast();
    const auto w = ops->pack(quantised), v = ops->pack(dense);
    if (is_late(*w)) {
      expect_near_reference(*ops, *w, dense, "deep");
      continue;
    }
    Numbers numbers(8);
    for (const int rows : {210, 224}) {
      begin_rows(*ops, rows);
      const Matrix x = put(*ops, numbers.many(std::size_t(rows) * 6016), rows, 6016);
      const Matrix got = ops->matrix(rows, 72), expected = ops->matrix(rows, 72);
      ops->matmul(got, x, *w, nullptr);
      ops->matmul(expected, x, *v, nullptr);
      EXPECT_TRUE(same_bits(get(got), get(expected))) << rows;
    }
  }
}

TEST_P(CpuCodes, NanStaysNan) {
  QuantisedExample example({.kind = Kind::Fp8, .out = 33, .in = 40});
  example.values[5 * 40 + 7] = 0xff;
  const auto ops = fast();
  const StoredMatrix parts[] = {example.matrix()};
  const auto w = ops->pack(parts);
  begin_rows(*ops, 2);
  const Matrix y = ops->matrix(2, 33);
  ops->matmul(y, put(*ops, std::vector<float>(80, 1.0f), 2, 40), *w, nullptr);
  for (int i = 0; i < 33; ++i) EXPECT_EQ(std::isnan(row_of(y, 1)[i]), i == 5) << i;
}

TEST_P(CpuCodes, RowsDoNotDependOnTheBatchOrTheThreads) {
  const QuantisedExample example({.kind = Kind::Int4, .out = 96, .in = 640, .group = 128});
  const StoredMatrix parts[] = {example.matrix()};
  Numbers numbers(6);
  constexpr int kRows = 70;
  const auto inputs = numbers.many(kRows * 640);
  const auto one = fast(1), two = fast(2);
  const auto w = one->pack(parts), v = two->pack(parts);
  begin_rows(*two, kRows);
  const Matrix all = two->matrix(kRows, 96);
  two->matmul(all, put(*two, inputs, kRows, 640), *v, nullptr);
  for (const int row : {0, 15, 16, 47, 69}) {
    begin_rows(*one, 1);
    const Matrix alone = one->matrix(1, 96);
    const auto at = inputs.begin() + row * 640;
    one->matmul(alone, put(*one, {at, at + 640}, 1, 640), *w, nullptr);
    EXPECT_TRUE(same_bits(get(alone), row_of(all, row))) << row;
  }
}

TEST(CodeForm, CountsItsBytes) {
  const QuantisedExample a({.kind = Kind::Int4, .out = 8, .in = 256, .group = 128});
  const StoredMatrix parts[] = {a.matrix()};
  const auto form = common_form(parts);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->groups, 2);
  EXPECT_EQ(form->bytes(8, 256), 8 * (128 + 2 * 4));
}

// Otherwise read_scales() would read beyond the scales of the part with fewer groups.
TEST(CodeForm, TheSameOrderWithOtherGroupsIsNoCommonForm) {
  QuantisedExample a({.out = 8, .in = 128, .group = 32, .ordered = true});
  QuantisedExample b({.out = 8, .in = 128, .group = 64, .ordered = true});
  for (QuantisedExample* example : {&a, &b})
    for (std::size_t j = 0; j < 128; ++j) example->order[j] = static_cast<std::int32_t>(j % 2);
  const StoredMatrix ab[] = {a.matrix(), b.matrix()}, ba[] = {b.matrix(), a.matrix()};
  EXPECT_FALSE(common_form(ab));
  EXPECT_FALSE(common_form(ba));
  const StoredMatrix aa[] = {a.matrix(), a.matrix()};
  EXPECT_TRUE(common_form(aa));
}

}  // namespace
}  // namespace counterbeam
