#include "quantise/scale_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "tensor/float8.h"

namespace counterbeam {
namespace {

// Sums have a fixed order in lanes, so that the compiler can use vectors and results do not depend
// on which.
constexpr std::size_t kLanes = 16;

// Adding and subtracting this rounds to a whole number, ties to even: it leaves no digits below 1.
constexpr float kWhole = 0x1.8p23f;

template <int kLow, int kHigh>
struct WholeCodes {
  static constexpr float kMost = kHigh;
  static float nearest(float x) {
    x = x < kLow ? kLow : x;
    x = x > kHigh ? kHigh : x;
    return (x + kWhole) - kWhole;
  }
};

struct FloatCodes {
  static constexpr float kMost = 448;
  // Without branches: rounds the bits of a normal number, or adds and subtracts for a subnormal.
  static float nearest(float x) {
    x = x < -kMost ? -kMost : x;
    x = x > kMost ? kMost : x;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto normal =
        std::bit_cast<float>((bits + 0x7ffffu + (bits >> 20 & 1u)) & ~std::uint32_t{0xfffff});
    const float tiny = (x + 0x1.8p14f) - 0x1.8p14f;
    return (bits & 0x7fffffffu) < (121u << 23) ? tiny : normal;
  }
};

// Calls work(Codes{}) with the codes of a format.
template <typename Work>
auto with_codes(CodeFormat format, const Work& work) {
  switch (format) {
    case CodeFormat::Fp8:
      return work(FloatCodes{});
    case CodeFormat::Int8:
      return work(WholeCodes<-128, 127>{});
    case CodeFormat::Int4:
      break;
  }
  return work(WholeCodes<-8, 7>{});
}

template <typename Codes>
struct Search {
  std::span<const float> weights, importance;
  DType dtype;

  // Sums a function of every weight's size in steps of the scale, its code and its importance.
  template <typename Term>
  double sum(float inverse, const Term& term) const {
    const auto add_all = [&](auto weight_of) {
      std::array<float, kLanes> sums{};
      const std::size_t whole = weights.size() / kLanes * kLanes;
      for (std::size_t i = 0; i < whole; i += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const float x = weights[i + lane] * inverse;
          sums[lane] += weight_of(i + lane) * term(x, Codes::nearest(x));
        }
      for (std::size_t i = whole; i < weights.size(); ++i) {
        const float x = weights[i] * inverse;
        sums[i - whole] += weight_of(i) * term(x, Codes::nearest(x));
      }
      double total = 0;
      for (const float part : sums) total += part;
      return total;
    };
    if (importance.empty()) return add_all([](std::size_t) { return 1.0f; });
    return add_all([h = importance.data()](std::size_t i) { return h[i]; });
  }

  // Fast, to compare scales by: accurate to about four digits.
  FoundScale at(float scale) const {
    const double steps =
        sum(1 / scale, [](float x, float code) { return (x - code) * (x - code); });
    return {scale, steps * scale * scale};
  }

  FoundScale exactly_at(float scale) const {
    double error = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double off = weights[i] - double{Codes::nearest(weights[i] * (1 / scale))} * scale;
      error += (importance.empty() ? 1.0 : double{importance[i]}) * off * off;
    }
    return {scale, error};
  }

  // The number of the dtype that is nearest; never zero.
  float rounded(double scale) const {
    const auto value = static_cast<float>(scale);
    if (dtype == DType::BF16) return std::max(from_bf16(to_bf16(value)), 0x1p-120f);
    if (dtype == DType::F16) return std::max(from_f16(to_f16(value)), 0x1p-24f);
    return std::max(value, 0x1p-120f);
  }

  void take_if_better(FoundScale& best, double scale) const {
    const FoundScale other = at(rounded(scale));
    if (other.error < best.error) best = other;
  }

  // For the codes of a scale, the scale with which they lie closest.
  double fitted(float scale) const {
    const float inverse = 1 / scale;
    const double products = sum(inverse, [](float x, float code) { return x * code; });
    const double squares = sum(inverse, [](float, float code) { return code * code; });
    return squares > 0 ? scale * products / squares : scale;
  }
};

float largest(std::span<const float> weights) {
  float most = 0;
  for (const float w : weights) most = std::max(most, std::abs(w));
  return most;
}

// Shares of the plain scale. Floats have nothing to gain by clipping, only by where in a power of
// two the weights lie.
std::span<const float> shares(CodeFormat format) {
  static constexpr std::array kFp8{1.0905f, 1.1892f, 1.2968f, 1.4142f, 1.5422f, 1.6818f, 1.834f};
  static constexpr std::array kInt8{0.99f, 0.97f, 0.95f, 0.925f, 0.9f, 0.85f};
  static constexpr std::array kInt4{0.975f, 0.95f, 0.925f, 0.9f, 0.875f, 0.85f, 0.825f, 0.8f,
                                    0.775f, 0.75f, 0.725f, 0.7f, 0.675f, 0.65f, 0.6f,   0.55f};
  switch (format) {
    case CodeFormat::Fp8:
      return kFp8;
    case CodeFormat::Int8:
      return kInt8;
    case CodeFormat::Int4:
      break;
  }
  return kInt4;
}

// Weights below this are taken for zeros: their scale would be no normal number.
constexpr float kNothing = 0x1p-110f;

}  // namespace

std::string_view name_of(CodeFormat format) {
  constexpr std::array<std::string_view, 3> kNames{"fp8", "int8", "int4"};
  return kNames[static_cast<std::size_t>(format)];
}

int bits_of(CodeFormat format) {
  return format == CodeFormat::Int4 ? 4 : 8;
}

FoundScale plain_scale(std::span<const float> weights, std::span<const float> importance,
                       CodeFormat format, DType dtype) {
  const float most = largest(weights);
  if (most < kNothing) return {};
  return with_codes(format, [&](auto codes) {
    const Search<decltype(codes)> search{weights, importance, dtype};
    return search.exactly_at(search.rounded(most / codes.kMost));
  });
}

FoundScale find_scale(std::span<const float> weights, std::span<const float> importance,
                      CodeFormat format, DType dtype) {
  const float most = largest(weights);
  if (most < kNothing) return {};
  return with_codes(format, [&](auto codes) {
    const Search<decltype(codes)> search{weights, importance, dtype};
    const double plain = most / codes.kMost;
    FoundScale best = search.at(search.rounded(plain));
    for (const float share : shares(format)) search.take_if_better(best, plain * share);
    for (int i = 0; i < 2; ++i) search.take_if_better(best, search.fitted(best.scale));
    const FoundScale found = search.exactly_at(best.scale);
    const FoundScale rounding = search.exactly_at(search.rounded(plain));
    return found.error < rounding.error ? found : rounding;
  });
}

void encode(std::span<const float> weights, float scale, CodeFormat format,
            std::span<std::uint8_t> codes) {
  CB_CHECK(weights.size() == codes.size());
  const float inverse = 1 / scale;
  with_codes(format, [&](auto kind) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const float code = kind.nearest(weights[i] * inverse);
      codes[i] = format == CodeFormat::Fp8
                     ? to_e4m3(code)
                     : static_cast<std::uint8_t>(static_cast<std::int32_t>(code));
    }
  });
}

float decode(std::uint8_t code, CodeFormat format) {
  return format == CodeFormat::Fp8 ? from_e4m3(code) : static_cast<std::int8_t>(code);
}

}  // namespace counterbeam
