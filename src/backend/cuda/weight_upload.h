// Uploads weights as bf16 from the memory-mapped file. Several threads fill a piece, since page
// faults make one thread far slower than the file and the copy. Quantised weights that are not kept
// as codes (code_upload.h) are decoded on the way.
#pragma once

#include <span>

#include "backend/cuda/products.h"
#include "backend/cuda/upload_pieces.h"
#include "tensor/stored_matrix.h"

namespace counterbeam::cuda {

class WeightUpload {
 public:
  explicit WeightUpload(UploadPieces& pieces) : pieces_(pieces) {}

  // Stacks parts [outs, in] along the first dimension. Returns when the parts are no longer needed.
  void pack(cudaStream_t stream, const Weights& weights, std::span<const StoredMatrix> parts);

 private:
  void pack_part(cudaStream_t stream, const Weights& weights, int first_out,
                 const StoredMatrix& part);
  // Copies or decodes rows [first, first + rows) of a part into a piece.
  void fill_rows(std::byte* to, const StoredMatrix& part, int first, int rows);
  void fill(std::byte* to, const std::byte* from, std::size_t bytes);

  UploadPieces& pieces_;
};

}  // namespace counterbeam::cuda
