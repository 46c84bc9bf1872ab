// Uploads quantised weights as codes: decides how a matrix is kept, and packs it into records
// (code_weights.h) with the kernels of code_packing.h.
#pragma once

#include <optional>
#include <span>

#include "backend/code_form.h"
#include "backend/cuda/products.h"
#include "backend/cuda/upload_pieces.h"

namespace counterbeam::cuda {

struct CodePlan {
  CodeForm form;
  CodeWeights codes;  // without records
};

// Without a look at the scales: the form with the most bytes. None if the parts are better kept as
// bf16: they are not quantised, have no common form, or their inputs belong to groups in any order.
std::optional<CodePlan> plan_codes(std::span<const StoredMatrix> parts);

class CodeUpload {
 public:
  explicit CodeUpload(UploadPieces& pieces) : pieces_(pieces) {}

  // plan_codes() with the best route that the scales allow. Reads all of them.
  std::optional<CodePlan> plan(std::span<const StoredMatrix> parts);
  // Stacks parts [outs, in] along the first dimension. False if a code is NaN: then the records are
  // of no use. Returns when the parts are no longer needed.
  bool pack(cudaStream_t stream, const Weights& weights, const CodePlan& plan,
            std::span<const StoredMatrix> parts);

 private:
  bool pack_part(cudaStream_t stream, const Weights& weights, int first_out, const CodePlan& plan,
                 const StoredMatrix& part);
  // Rows [first, first + rows): codes, scales and offsets at their places in a piece.
  bool fill(std::byte* piece, const CodePlan& plan, const StoredMatrix& part, int first, int rows);

  UploadPieces& pieces_;
};

}  // namespace counterbeam::cuda
