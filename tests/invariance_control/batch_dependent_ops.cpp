// A back end that breaks row invariance on purpose. It is linked in place of the reference back end
// and is the same in everything but one: the products of a larger batch are summed in another
// order, as libraries do that pick a kernel by the number of rows. Single rows stay right up to
// rounding.
#define make_reference_ops make_invariant_ops
#include "backend/reference.cpp"
#undef make_reference_ops

namespace counterbeam {
namespace {

constexpr int kSmallBatch = 4;

class BatchDependentOps : public ReferenceOps {
 public:
  void matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) override {
    if (x.rows <= kSmallBatch) return ReferenceOps::matmul(out, x, weight, bias);
    const int half = x.width / 2;
    for (int r = 0; r < x.rows; ++r) {
      for (int o = 0; o < weight.out; ++o) {
        const float* w = plain(weight).row(o);
        const float sum = dot(row(x, r), w, half) + dot(row(x, r) + half, w + half, x.width - half);
        row(out, r)[o] = bias ? sum + plain(*bias)[o] : sum;
      }
    }
  }
};

}  // namespace

std::unique_ptr<Ops> make_reference_ops() {
  return std::make_unique<BatchDependentOps>();
}

}  // namespace counterbeam
