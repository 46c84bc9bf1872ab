#include "backend/cpu/stores.h"

#include <cstring>

#include "backend/cache_codes.h"

namespace counterbeam {
namespace {

// Bytes of the keys, or of the values, of one head in a page.
std::ptrdiff_t bytes_of_half(const KvShape& shape, Precision precision) {
  const std::ptrdiff_t numbers = kPageTokens * round_up(shape.head_dim, kDepthStep);
  if (shape.type != CacheType::Plain) return kScaleBytes + numbers;
  return numbers * (precision == Precision::F32 ? 4 : 2);
}

std::size_t conv_floats(const StateShape& shape) {
  const std::size_t kept = std::size_t(shape.conv_width - 1) * std::size_t(shape.conv_channels());
  return (kept + 15) / 16 * 16;
}

std::size_t head_floats(const StateShape& shape, bool chunks) {
  if (chunks) return std::size_t(DeltaChunk(shape.key_dim, shape.value_dim).floats());
  return std::size_t(shape.key_dim) * std::size_t(round_up(shape.value_dim, kStateColumns));
}

}  // namespace

std::ptrdiff_t CpuKv::page_bytes(const KvShape& shape, Precision precision) {
  return std::ptrdiff_t{shape.layers} * shape.heads * 2 * bytes_of_half(shape, precision);
}

CpuKv::CpuKv(const KvShape& shape, int pages, Precision precision)
    : shape_(shape),
      precision_(precision),
      half_bytes_(bytes_of_half(shape, precision)),
      page_bytes_(page_bytes(shape, precision)) {
  memory_ = Memory(static_cast<std::size_t>(page_bytes_) * static_cast<std::size_t>(pages));
}

void CpuKv::copy_page(PageId from, PageId to) {
  std::memcpy(memory_.data() + std::ptrdiff_t{static_cast<int>(to)} * page_bytes_,
              memory_.data() + std::ptrdiff_t{static_cast<int>(from)} * page_bytes_,
              static_cast<std::size_t>(page_bytes_));
}

void CpuKv::put(int layer, PageId page, int slot, const float* k, const float* v) {
  const int d = shape_.head_dim;
  std::byte* at = memory_.data() + std::ptrdiff_t{static_cast<int>(page)} * page_bytes_ +
                  std::ptrdiff_t{layer} * shape_.heads * 2 * half_bytes_;
  for (int head = 0; head < shape_.heads; ++head, at += 2 * half_bytes_, k += d, v += d) {
    if (shape_.type != CacheType::Plain) {
      put_codes(at, slot, k, true);
      put_codes(at + half_bytes_, slot, v, false);
    } else if (precision_ == Precision::F32) {
      auto* keys = reinterpret_cast<float*>(at) + slot;
      auto* values = reinterpret_cast<float*>(at + half_bytes_) + slot * kPanel;
      for (int i = 0; i < d; ++i) keys[i * kPanel] = k[i];
      for (int i = 0; i < d; ++i) values[i / kPanel * kPageTokens * kPanel + i % kPanel] = v[i];
    } else {
      auto* keys = reinterpret_cast<std::uint16_t*>(at) + 2 * slot;
      auto* values =
          reinterpret_cast<std::uint16_t*>(at + half_bytes_) + slot / 2 * 2 * kPanel + slot % 2;
      for (int i = 0; i < d; ++i) keys[i / 2 * 2 * kPanel + i % 2] = to_bf16(k[i]);
      for (int i = 0; i < d; ++i)
        values[i / kPanel * kPageTokens * kPanel + i % kPanel * 2] = to_bf16(v[i]);
    }
  }
}

void CpuKv::put_codes(std::byte* half, int slot, const float* from, bool keys) const {
  const HeadCoder coder(shape_.type, from, shape_.head_dim);
  // Kernels read FP8 codes times 2^-8.
  const float scale = shape_.type == CacheType::Fp8 ? coder.scale() * 0x1p8f : coder.scale();
  std::memcpy(half + slot * std::ptrdiff_t{sizeof(float)}, &scale, sizeof scale);
  auto* codes = reinterpret_cast<std::uint8_t*>(half + kScaleBytes);
  for (int i = 0; i < shape_.head_dim; ++i) {
    const int at =
        keys ? i * kPanel + slot : i / kPanel * kPageTokens * kPanel + slot * kPanel + i % kPanel;
    codes[at] = coder.code(from[i]);
  }
}

std::size_t CpuStates::slot_bytes(const StateShape& shape, bool chunks) {
  const std::size_t heads = head_floats(shape, chunks) * std::size_t(shape.value_heads);
  return (conv_floats(shape) + heads) * std::size_t(shape.layers) * sizeof(float);
}

CpuStates::CpuStates(const StateShape& shape, int slots, bool chunks)
    : shape_(shape),
      head_floats_(head_floats(shape, chunks)),
      layer_floats_(conv_floats(shape) + head_floats_ * std::size_t(shape.value_heads)),
      memory_(slot_bytes() * std::size_t(slots)) {}

float* CpuStates::conv(StateId slot, int layer) const {
  const std::size_t index = std::size_t(slot) * std::size_t(shape_.layers) + std::size_t(layer);
  return memory_.floats() + index * layer_floats_;
}

float* CpuStates::head(StateId slot, int layer, int value_head) const {
  return conv(slot, layer) + conv_floats(shape_) + std::size_t(value_head) * head_floats_;
}

void CpuStates::copy(StateId from, StateId to) {
  std::memcpy(conv(to, 0), conv(from, 0), slot_bytes());
}

void CpuStates::clear(StateId slot) {
  std::memset(conv(slot, 0), 0, slot_bytes());
}

}  // namespace counterbeam
