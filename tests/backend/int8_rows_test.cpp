// Rows in 8 bits: what quantise_chunk() gives, and the products of every path against the
// reference. Where scales are powers of two, every number is exact, so equal bits mean equal int32
// sums.
#include "backend/int8_rows.h"

#include <gmock/gmock.h>

#include "backend/cpu/packing.h"
#include "cpu_support.h"
#include "quantised_example.h"

namespace counterbeam {
namespace {

using testing::QuantisedExample;
using Kind = QuantisedExample::Kind;

std::vector<QuantisedExample::Options> shapes() {
  std::vector<QuantisedExample::Options> all;
  std::uint32_t seed = 0;
  for (const Kind kind : {Kind::Int8, Kind::Int4})
    for (const auto& [out, in, group] : {std::tuple(33, 300, 0),
                                         {64, 128, 32},
                                         {100, 272, 16},
                                         {40, 260, 128},
                                         {70, 420, 80},
                                         {31, 700, 256},
                                         {96, 96, 48}})
      for (const bool zeros : {false, true})
        all.push_back(
            {.kind = kind, .out = out, .in = in, .group = group, .zeros = zeros, .seed = ++seed});
  return all;
}

std::string text_of(const QuantisedExample::Options& o) {
  return fmt::format("{} [{}, {}] group {}{}", o.kind == Kind::Int8 ? "int8" : "int4", o.out, o.in,
                     o.group, o.zeros ? " zeros" : "");
}

// All scales 2^-6.
void make_exact(QuantisedExample& example) {
  auto* halves = reinterpret_cast<std::uint16_t*>(example.scales.data());
  for (std::int64_t i = 0; i < example.scales.shape().elements(); ++i) halves[i] = 9 << 10;
}

// Rows whose chunks have scales that are powers of two: whole numbers over 128, 127 of them in
// every 16 inputs.
std::vector<float> exact_rows(int rows, int width) {
  std::vector<float> values;
  std::uint32_t state = 7;
  for (int i = 0; i < rows * width; ++i) {
    state = state * 1664525 + 1013904223;
    const int whole = i % width % 16 == 3 ? 127 : static_cast<int>(state >> 8) % 255 - 127;
    values.push_back(static_cast<float>(whole) / 128);
  }
  return values;
}

TEST(Int8Chunk, IsRoundedToNearestOf127Steps) {
  const float x[] = {50, -127, 1.5f, 0.5f, -0.5f, 0, 2.5f};
  std::int8_t q[7];
  EXPECT_EQ(quantise_chunk(x, q), 1.0f);
  EXPECT_THAT(q, ::testing::ElementsAre(50, -127, 2, 0, 0, 0, 2));
}

TEST(Int8Chunk, OfZerosTinyAndNonFiniteNumbers) {
  std::int8_t q[2] = {1, 1};
  const float zeros[] = {0, -0.0f}, tiny[] = {0x1p-120f, 0}, lost[] = {1, std::nanf("")},
              infinite[] = {-INFINITY, 1};
  EXPECT_EQ(quantise_chunk(zeros, q), 0);
  EXPECT_EQ(quantise_chunk(tiny, q), 0);
  EXPECT_TRUE(std::isnan(quantise_chunk(lost, q)));
  EXPECT_TRUE(std::isnan(quantise_chunk(infinite, q)));
  EXPECT_THAT(q, ::testing::ElementsAre(0, 0));
}

TEST(Int16Chunk, HasStepsOf32639) {
  const float x[] = {32639, -1.5f, 128, -32639, 127};
  std::int16_t q[5];
  EXPECT_EQ(quantise_chunk(x, q), 1.0f);
  EXPECT_THAT(q, ::testing::ElementsAre(32639, -2, 128, -32639, 127));
}

TEST(WholeCodes, ChunksLieInGroups) {
  for (const auto& [group, groups, chunk] : {std::tuple(896, 1, 128),
                                             {16, 4, 16},
                                             {96, 4, 96},
                                             {256, 2, 128},
                                             {320, 2, 64},
                                             {208, 2, 16}}) {
    CodeForm form;
    form.group = group;
    form.groups = groups;
    const auto codes = whole_codes(form);
    ASSERT_TRUE(codes);
    EXPECT_EQ(codes->chunk, chunk) << group;
  }
}

TEST(WholeCodes, AreThoseOfWholeNumbersInOrder) {
  CodeForm form;
  form.kind = CodeKind::E4M3;
  EXPECT_FALSE(whole_codes(form));
  form.kind = CodeKind::Int4;
  form.table = int4_values(true);
  EXPECT_EQ(whole_codes(form)->zero, 8);
  EXPECT_FALSE(whole_codes(form)->lookup);
  form.table[3] = 100;
  EXPECT_EQ(whole_codes(form)->zero, 128);
  EXPECT_TRUE(whole_codes(form)->lookup);
  form.table[3] = 0.5f;
  EXPECT_FALSE(whole_codes(form));
  form.kind = CodeKind::Int8;
  form.order = {0, 1};
  EXPECT_FALSE(whole_codes(form));
}

// The kernels that this machine does not choose, too.
TEST(IntegerKernels, GiveTheSumsOfTheReference) {
  ThreadPool pool(1);
  const auto reference = make_int8_reference_ops();
  for (const auto& options : shapes()) {
    QuantisedExample example(options);
    make_exact(example);
    const StoredMatrix parts[] = {example.matrix()};
    const auto v = reference->pack(parts);
    const auto w = pack_matrix(parts, Precision::F32, pool, true);
    ASSERT_TRUE(w->takes_integers());
    for (const int rows : {1, 2, 3, 5, 13, 33, 49, 70}) {
      auto inputs = exact_rows(rows, w->in);
      begin_rows(*reference, rows);
      const Matrix expected = reference->matrix(rows, w->out);
      reference->matmul(expected, put(*reference, inputs, rows, w->in), *v, nullptr);
      int index = 0;
      for (const IntegerKernels* kernels : runnable_integer_kernels()) {
        Memory packed(kernels->packed_bytes(rows, w->codes));
        Memory scratch(kernels->scratch_floats(rows, w->depth) * sizeof(float) + 64);
        std::vector<float> out(std::size_t(rows) * std::size_t(w->out), -1.0f);
        kernels->pack(packed.data(), {inputs.data(), w->in}, rows, w->in, w->codes, 0, 1);
        kernels->pack(packed.data(), {inputs.data(), w->in}, rows, w->in, w->codes, 1,
                      w->codes.chunks);
        Product product;
        product.inputs = packed.data();
        product.weights = w->panels.data();
        product.rows = rows;
        product.depth = w->depth;
        product.columns = w->out;
        product.out = {out.data(), w->out};
        product.codes = &w->codes;
        product.scratch = scratch.floats();
        kernels->multiply(product, 0, w->panel_count());
        EXPECT_TRUE(same_bits(out, get(expected)))
            << text_of(options) << ", " << rows << " rows, kernels " << index;
        ++index;
      }
    }
  }
}

class CpuInt8Rows : public CpuPaths {
 protected:
  std::unique_ptr<Ops> int8(int threads = 2) const {
    return make_cpu_ops(GetParam().precision, threads, std::string(name_of(GetParam().isa)),
                        Activations::Int8);
  }
};
INSTANTIATE_TEST_SUITE_P(Paths, CpuInt8Rows, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(CpuInt8Rows, MatchTheReference) {
  const auto reference = make_int8_reference_ops(), ops = int8();
  for (const auto& options : shapes()) {
    const QuantisedExample example(options);
    const StoredMatrix parts[] = {example.matrix()};
    const auto w = ops->pack(parts), v = reference->pack(parts);
    Numbers numbers(5);
    const auto biases = numbers.many(std::size_t(w->out));
    const auto bias = upload(*ops, biases), other = upload(*reference, biases);
    for (const int rows : {1, 17, 33, 64}) {
      begin_rows(*ops, rows);
      begin_rows(*reference, rows);
      auto inputs = numbers.many(std::size_t(rows) * std::size_t(w->in));
      for (float& x : inputs) x *= 1.2345f;
      const auto before = numbers.many(std::size_t(rows) * std::size_t(w->out));
      const Matrix got = put(*ops, before, rows, w->out),
                   expected = put(*reference, before, rows, w->out);
      ops->matmul_add(got, put(*ops, inputs, rows, w->in), *w, bias.get());
      reference->matmul_add(expected, put(*reference, inputs, rows, w->in), *v, other.get());
      expect_near(get(got), get(expected), 2e-5, text_of(options));
      std::vector<float> logits(before.size()), others(before.size());
      ops->logits(logits, put(*ops, inputs, rows, w->in), *w);
      reference->logits(others, put(*reference, inputs, rows, w->in), *v);
      expect_near(logits, others, 2e-5, text_of(options));
    }
  }
}

TEST_P(CpuInt8Rows, DoNotDependOnTheBatchOrTheThreads) {
  for (const auto& options : shapes()) {
    const QuantisedExample example(options);
    const StoredMatrix parts[] = {example.matrix()};
    constexpr int kRows = 70;
    const auto in = static_cast<std::size_t>(options.in);
    Numbers numbers(6);
    auto inputs = numbers.many(kRows * in);
    for (float& x : inputs) x *= 1.2345f;
    const auto one = int8(1), two = int8(2);
    const auto w = one->pack(parts), v = two->pack(parts);
    begin_rows(*two, kRows);
    const Matrix all = two->matrix(kRows, options.out);
    two->matmul(all, put(*two, inputs, kRows, options.in), *v, nullptr);
    for (const int row : {0, 15, 16, 47, 69}) {
      begin_rows(*one, 1);
      const Matrix alone = one->matrix(1, options.out);
      const auto at = inputs.begin() + row * options.in;
      one->matmul(alone, put(*one, {at, at + options.in}, 1, options.in), *w, nullptr);
      EXPECT_TRUE(same_bits(get(alone), row_of(all, row))) << text_of(options) << ", row " << row;
    }
  }
}

TEST_P(CpuInt8Rows, GatedProductsEqualTheirParts) {
  const auto ops = int8(3);
  const QuantisedExample example({.kind = Kind::Int4, .out = 320, .in = 96, .group = 32});
  const StoredMatrix parts[] = {example.matrix()};
  const auto w = ops->pack(parts);
  Numbers numbers(8);
  for (const int rows : {1, 33, 300}) {
    begin_rows(*ops, rows);
    const Matrix x = put(*ops, numbers.many(std::size_t(rows) * 96), rows, 96);
    const Matrix both = ops->matrix(rows, 320), out = ops->matrix(rows, 160),
                 expected = ops->matrix(rows, 160);
    ops->gated_matmul(out, x, *w, nullptr, Activation::Silu, both);
    ops->matmul(both, x, *w, nullptr);
    ops->silu_mul(expected, both.columns(0, 160, 4), both.columns(160, 160, 4));
    EXPECT_TRUE(same_bits(get(out), get(expected))) << rows;
  }
}

TEST_P(CpuInt8Rows, ChangeNothingElse) {
  const auto ops = int8(), plain = fast();
  const QuantisedExample fp8({.kind = Kind::Fp8, .out = 40, .in = 128, .group = 64});
  const QuantisedExample ordered(
      {.kind = Kind::Int8, .out = 40, .in = 128, .group = 16, .ordered = true});
  const QuantisedExample whole({.kind = Kind::Int4, .out = 40, .in = 128, .group = 32});
  const Tensor dense = whole.dense();
  Numbers numbers(9);
  const auto inputs = numbers.many(5 * 128);
  const StoredMatrix all[] = {fp8.matrix(), ordered.matrix(), StoredMatrix(dense.view()),
                              whole.matrix()};
  for (const StoredMatrix& matrix : all) {
    const StoredMatrix parts[] = {matrix};
    const auto w = ops->pack(parts), v = plain->pack(parts);
    begin_rows(*ops, 5);
    begin_rows(*plain, 5);
    const Matrix a = ops->matrix(5, 40), b = plain->matrix(5, 40);
    ops->matmul(a, put(*ops, inputs, 5, 128), *w, nullptr);
    plain->matmul(b, put(*plain, inputs, 5, 128), *v, nullptr);
    const bool takes = static_cast<const CpuMatrix&>(*w).takes_integers();
    EXPECT_EQ(takes, &matrix == &all[3]);
    EXPECT_EQ(same_bits(get(a), get(b)), !takes);
    const Matrix c = ops->matrix(5, 128), d = plain->matrix(5, 128);
    ops->embed(c, *w, 1);
    plain->embed(d, *v, 1);
    EXPECT_TRUE(same_bits(get(c), get(d)));
  }
}

TEST_P(CpuInt8Rows, ANanStaysInItsRow) {
  const auto ops = int8();
  const QuantisedExample example({.kind = Kind::Int8, .out = 40, .in = 260, .group = 128});
  const StoredMatrix parts[] = {example.matrix()};
  const auto w = ops->pack(parts);
  Numbers numbers(5);
  auto inputs = numbers.many(5 * 260);
  inputs[2 * 260 + 257] = std::nanf("");
  inputs[4 * 260 + 7] = INFINITY;
  begin_rows(*ops, 5);
  const Matrix y = ops->matrix(5, 40);
  ops->matmul(y, put(*ops, inputs, 5, 260), *w, nullptr);
  for (int r = 0; r < 5; ++r) EXPECT_EQ(std::isnan(row_of(y, r)[3]), r == 2 || r == 4) << r;
}

}  // namespace
}  // namespace counterbeam
