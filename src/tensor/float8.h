// Numbers of eight bits: E4M3 as weights use it (bias 7, no infinity, 0x7f and 0xff are NaN, at
// most 448) and E8M0, powers of two for scales (0xff is NaN).
#pragma once

#include <bit>
#include <cstdint>

namespace counterbeam {

constexpr bool is_nan_e4m3(std::uint8_t bits) {
  return (bits & 0x7fu) == 0x7fu;
}

constexpr float from_e4m3(std::uint8_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x80u} << 24;
  const std::uint32_t magnitude = bits & 0x7fu;
  if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude >= 8) return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
  const float tiny = static_cast<float>(magnitude) * 0x1p-9f;
  return sign ? -tiny : tiny;
}

// The nearest E4M3, ties to even; beyond 448 it is 448. A NaN stays one.
constexpr std::uint8_t to_e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>(bits >> 24 & 0x80u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const auto size = std::bit_cast<float>(magnitude);
  if (magnitude > 0x7f800000u) return sign | 0x7fu;
  if (size >= 448) return sign | 0x7eu;
  if (size < 0x1p-6f) {  // adding 2^14 leaves no digits below 2^-9
    const float steps = ((size + 0x1p14f) - 0x1p14f) * 0x1p9f;
    return static_cast<std::uint8_t>(sign | static_cast<std::uint8_t>(steps));
  }
  const std::uint32_t rounded = magnitude + 0x7ffffu + (magnitude >> 20 & 1u);
  return static_cast<std::uint8_t>(sign | ((rounded - (120u << 23)) >> 20));
}

constexpr float from_e8m0(std::uint8_t bits) {
  if (bits == 0xff) return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>(bits == 0 ? 0x00400000u : std::uint32_t{bits} << 23);
}

}  // namespace counterbeam
