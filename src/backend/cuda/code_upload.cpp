#include "backend/cuda/code_upload.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "backend/cuda/code_packing.h"
#include "base/error.h"
#include "tensor/float8.h"

namespace counterbeam::cuda {
namespace {

// What the entries of the bf16 and half routes hold: the scale times a power of two, finite.
constexpr float kMostFp8Scale = 256, kMostInt8Scale = 0x1p-5f, kMostInt4Scale = 0.49f;
constexpr float kMostZero = 16;

// What is true of all scales and offsets of a matrix.
struct ScaleFacts {
  bool bf16 = true, half = true, whole_zeros = true;
  float largest = 0;

  void look(float scale, float offset, float centre) {
    bf16 = bf16 && from_bf16(to_bf16(scale)) == scale;
    half = half && from_f16(to_f16(scale)) == scale;
    largest = std::max(largest, std::abs(scale));
    const float zero = scale == 0 ? 0 : std::nearbyint(-offset / scale);
    whole_zeros =
        whole_zeros && -zero * scale == offset && zero + centre >= 0 && zero + centre <= kMostZero;
  }
  void join(const ScaleFacts& other) {
    bf16 = bf16 && other.bf16;
    half = half && other.half;
    whole_zeros = whole_zeros && other.whole_zeros;
    largest = std::max(largest, other.largest);
  }
};

CodeRoute route_of(const CodePlan& plan, const ScaleFacts& facts) {
  const bool plain = facts.bf16 && !plan.form.offsets;
  switch (plan.form.kind) {
    case CodeKind::E4M3:
      return plain && facts.largest < kMostFp8Scale ? CodeRoute::Fp8Bf16 : CodeRoute::Fp8Float;
    case CodeKind::Int8:
      return plain && facts.largest < kMostInt8Scale ? CodeRoute::Int8Bf16 : CodeRoute::Int8Float;
    case CodeKind::Int4:
      break;
  }
  if (facts.largest >= kMostInt4Scale) return CodeRoute::Int4Float;
  if (plain && plan.codes.centred) return CodeRoute::Int4Bf16;
  return facts.half && facts.whole_zeros ? CodeRoute::Int4Half : CodeRoute::Int4Float;
}

std::size_t padded_bytes(std::size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

// The places of so many rows of a part in a piece.
struct PieceLayout {
  std::size_t scales, offsets, bytes;

  PieceLayout(const CodeForm& form, int in, int rows) {
    const std::size_t of_scales = std::size_t(rows) * std::size_t(form.groups) * sizeof(float);
    scales = padded_bytes(std::size_t(rows) * std::size_t(in));
    offsets = scales + of_scales;
    bytes = offsets + (form.offsets ? of_scales : 0);
  }
};

}  // namespace

std::optional<CodePlan> plan_codes(std::span<const StoredMatrix> parts) {
  auto form = common_form(parts);
  if (!form || !form->order.empty()) return std::nullopt;
  CodePlan plan{std::move(*form), {}};
  CodeWeights& codes = plan.codes;
  if (plan.form.kind == CodeKind::Int4) {
    codes.centred = plan.form.table == int4_values(true);
    if (!codes.centred && plan.form.table != int4_values(false)) {
      // Values of another table are kept as they are, if they are whole numbers.
      const bool whole = std::all_of(plan.form.table.begin(), plan.form.table.end(), [](float v) {
        return v >= -128 && v <= 127 && v == std::nearbyint(v);
      });
      if (!whole) return std::nullopt;
      plan.form.kind = CodeKind::Int8;
    }
  }
  codes.route = plan.form.kind == CodeKind::Int4   ? CodeRoute::Int4Float
                : plan.form.kind == CodeKind::Int8 ? CodeRoute::Int8Float
                                                   : CodeRoute::Fp8Float;
  codes.offsets = plan.form.offsets;
  codes.group = plan.form.group;
  codes.groups = plan.form.groups;
  codes.slots = slots_of(codes.group, codes.groups);
  return plan;
}

std::optional<CodePlan> CodeUpload::plan(std::span<const StoredMatrix> parts) {
  auto plan = plan_codes(parts);
  if (!plan) return plan;
  const float centre = plan->codes.centred ? 8 : 0;
  ThreadPool& readers = pieces_.readers();
  std::vector<ScaleFacts> seen(static_cast<std::size_t>(readers.threads()));
  for (const StoredMatrix& part : parts) {
    readers.split(part.out(), 16, [&](int begin, int end, int worker) {
      std::vector<float> scales(std::size_t(plan->form.groups)), offsets(scales.size());
      for (int row = begin; row < end; ++row) {
        read_scales(plan->form, part, row, scales, offsets);
        for (std::size_t g = 0; g < scales.size(); ++g)
          seen[std::size_t(worker)].look(scales[g], plan->form.offsets ? offsets[g] : 0, centre);
      }
    });
  }
  ScaleFacts facts;
  for (const ScaleFacts& some : seen) facts.join(some);
  plan->codes.route = route_of(*plan, facts);
  return plan;
}

bool CodeUpload::fill(std::byte* piece, const CodePlan& plan, const StoredMatrix& part, int first,
                      int rows) {
  const CodeForm& form = plan.form;
  const auto in = std::size_t(part.in()), groups = std::size_t(form.groups);
  const PieceLayout layout(form, part.in(), rows);
  auto* codes = reinterpret_cast<std::uint8_t*>(piece);
  auto* scales = reinterpret_cast<float*>(piece + layout.scales);
  auto* offsets = reinterpret_cast<float*>(piece + layout.offsets);
  std::atomic<bool> finite{true};
  pieces_.readers().each(rows, [&](int i, int) {
    const std::size_t row = std::size_t(i);
    const std::span<std::uint8_t> to(codes + row * in, in);
    read_codes(form, part, first + i, 0, to);
    if (form.kind == CodeKind::E4M3 && std::any_of(to.begin(), to.end(), is_nan_e4m3))
      finite = false;
    const std::size_t held = form.offsets ? groups : 0;
    read_scales(form, part, first + i, {scales + row * groups, groups},
                {offsets + row * held, held});
  });
  return finite;
}

bool CodeUpload::pack(cudaStream_t stream, const Weights& weights, const CodePlan& plan,
                      std::span<const StoredMatrix> parts) {
  int first_out = 0;
  for (const StoredMatrix& part : parts) {
    if (!pack_part(stream, weights, first_out, plan, part)) return false;
    first_out += part.out();
  }
  return true;
}

bool CodeUpload::pack_part(cudaStream_t stream, const Weights& weights, int first_out,
                           const CodePlan& plan, const StoredMatrix& part) {
  const std::size_t row_bytes = PieceLayout(plan.form, part.in(), 1).bytes;
  if (row_bytes > UploadPieces::kBytes) failed("a weight with {} inputs is too wide", weights.in);
  const auto at_once = static_cast<int>(UploadPieces::kBytes / row_bytes);
  bool finite = true;
  for (int first = 0; first < part.out() && finite; first += at_once) {
    const int rows = std::min(at_once, part.out() - first);
    const PieceLayout layout(plan.form, part.in(), rows);
    pieces_.send(
        stream, layout.bytes,
        [&](std::byte* host) { finite = fill(host, plan, part, first, rows); },
        [&](std::byte* device) {
          pack_codes(stream, weights, first_out + first, rows,
                     {reinterpret_cast<const std::uint8_t*>(device),
                      reinterpret_cast<const float*>(device + layout.scales),
                      plan.form.offsets ? reinterpret_cast<const float*>(device + layout.offsets)
                                        : nullptr});
        });
  }
  return finite;
}

}  // namespace counterbeam::cuda
