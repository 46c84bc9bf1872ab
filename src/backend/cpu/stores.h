// The KV pages and recurrent states of the CPU back end, in the layouts of kernels.h.
//   keys and values  [page][layer][head][keys | values], a panel of kPageTokens columns and
//                    panels of kPanel columns; float32 or bf16, or scales [kPageTokens], then codes
//   states           [slot][layer][conv: taps - 1, channels | head][strip][key_dim][kStateColumns],
//                    or a DeltaChunk per head
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/memory.h"
#include "backend/ops.h"

namespace counterbeam {

static_assert(kPageTokens == kPanel);

class CpuKv : public KvStore {
 public:
  CpuKv(const KvShape& shape, int pages, Precision precision);

  static std::ptrdiff_t page_bytes(const KvShape& shape, Precision precision);

  const KvShape& shape() const { return shape_; }
  std::ptrdiff_t page_bytes() const { return page_bytes_; }
  // Of the keys, or of the values, of one head in a page.
  std::ptrdiff_t half_bytes() const { return half_bytes_; }
  // The keys of one head in page 0.
  const std::byte* keys(int layer, int head) const {
    return memory_.data() + (std::ptrdiff_t{layer} * shape_.heads + head) * 2 * half_bytes_;
  }
  void copy_page(PageId from, PageId to);
  // Writes the keys and values [heads, head_dim] of one token.
  void put(int layer, PageId page, int slot, const float* k, const float* v);

 private:
  void put_codes(std::byte* half, int slot, const float* from, bool keys) const;

  KvShape shape_;
  Precision precision_;
  std::ptrdiff_t half_bytes_, page_bytes_;
  Memory memory_;
};

class CpuStates : public StateStore {
 public:
  CpuStates(const StateShape& shape, int slots, bool chunks);

  static std::size_t slot_bytes(const StateShape& shape, bool chunks);

  const StateShape& shape() const { return shape_; }
  // [conv_width - 1, channels], oldest first.
  float* conv(StateId slot, int layer) const;
  float* head(StateId slot, int layer, int value_head) const;
  void copy(StateId from, StateId to);
  void clear(StateId slot);

 private:
  std::size_t slot_bytes() const {
    return layer_floats_ * std::size_t(shape_.layers) * sizeof(float);
  }

  StateShape shape_;
  std::size_t head_floats_, layer_floats_;
  Memory memory_;
};

}  // namespace counterbeam
