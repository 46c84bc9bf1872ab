// Quantised weights (simulated_device.h). A record holds its scales as they are, then a byte or
// four bits per code, by outputs.
#include "cuda_host/simulated_codes.h"

#include <cuda_fp16.h>

#include <cmath>
#include <cstring>

#include "backend/cuda/code_packing.h"
#include "tensor/float8.h"

namespace counterbeam::cuda {
namespace {

using testing::enqueue;
using testing::number;
using testing::row_of;
using testing::stored;

// Where the code and the scale of an element lie.
struct Place {
  std::uint8_t *entry, *code;
  bool upper;  // of two codes in a byte
};

Place place_of(const Weights& weights, int out, int in) {
  const CodeWeights& codes = weights.codes;
  const int column = in / kRecordInputs, at = in % kRecordInputs;
  std::uint8_t* record =
      codes.records +
      (std::size_t(out / kBlock) * std::size_t(record_columns(weights.in)) + std::size_t(column)) *
          std::size_t(codes.record_bytes());
  const int slot = at * codes.slots / kRecordInputs, index = out % kBlock * kRecordInputs + at;
  return {record + (slot * kBlock + out % kBlock) * codes.entry_bytes(),
          record + codes.scale_bytes() + (is_int4(codes.route) ? index / 2 : index),
          index % 2 != 0};
}

bool has_half_entries(const CodeWeights& codes) {
  return codes.entry_bytes() == 2;
}

template <typename T>
T read(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void write(std::uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void put(const Weights& weights, int out, int in, std::uint8_t code, float scale, float offset) {
  const CodeWeights& codes = weights.codes;
  const Place place = place_of(weights, out, in);
  if (is_int4(codes.route)) {
    const int shift = place.upper ? 4 : 0;
    *place.code = static_cast<std::uint8_t>((*place.code & ~(15 << shift)) | code << shift);
  } else {
    *place.code = code;
  }
  if (has_half_entries(codes)) return write(place.entry, stored(scale));
  if (codes.route == CodeRoute::Int4Half) {
    write(place.entry, __float2half(scale));
    return write(place.entry + 2, __float2half(scale == 0 ? 0 : std::nearbyint(-offset / scale)));
  }
  write(place.entry, scale);
  if (codes.offsets) write(place.entry + 4, offset);
}

}  // namespace

float code_value(const Weights& weights, int out, int in) {
  const CodeWeights& codes = weights.codes;
  const Place place = place_of(weights, out, in);
  float code = 0;
  if (is_int4(codes.route)) {
    code = static_cast<float>(place.upper ? *place.code >> 4 : *place.code & 15) -
           (codes.centred ? 8.0f : 0.0f);
  } else if (codes.route == CodeRoute::Fp8Bf16 || codes.route == CodeRoute::Fp8Float) {
    code = from_e4m3(*place.code);
  } else {
    code = static_cast<float>(static_cast<std::int8_t>(*place.code));
  }
  if (has_half_entries(codes)) return testing::rounded(code * number(read<Bf16>(place.entry)));
  if (codes.route == CodeRoute::Int4Half)
    return testing::rounded((code - __half2float(read<__half>(place.entry + 2))) *
                            __half2float(read<__half>(place.entry)));
  const float offset = codes.offsets ? read<float>(place.entry + 4) : -0.0f;
  return testing::rounded(std::fma(code, read<float>(place.entry), offset));
}

void pack_codes(cudaStream_t stream, const Weights& weights, int first_out, int outs,
                const CodeRows& rows) {
  enqueue(stream, [=] {
    for (int o = 0; o < outs; ++o) {
      for (int i = 0; i < weights.in; ++i) {
        const auto at = std::size_t(o) * std::size_t(weights.in) + std::size_t(i);
        const auto group = std::size_t(o) * std::size_t(weights.codes.groups) +
                           std::size_t(weights.codes.groups == 1 ? 0 : i / weights.codes.group);
        put(weights, first_out + o, i, rows.codes[at], rows.scales[group],
            rows.offsets == nullptr ? 0 : rows.offsets[group]);
      }
    }
  });
}

void embed_codes(cudaStream_t stream, Matrix out, const Weights& table, float scale,
                 const DeviceBatch& batch) {
  enqueue(stream, [=] {
    for (int r = 0; r < out.rows; ++r)
      for (int c = 0; c < out.width; ++c)
        row_of(out, r)[c] = stored(code_value(table, batch.ids[r], c) * scale);
  });
}

}  // namespace counterbeam::cuda
