// The plain shapes that models, caches and kernels share. Kept free of heavy includes, since nvcc
// reads it too.
#pragma once

#include <cstddef>

namespace counterbeam {

// [rows, width] in the back end's arena, possibly a range of columns of a wider matrix.
struct Matrix {
  void* data = nullptr;
  int rows = 0;
  int width = 0;
  int stride = 0;  // elements from one row to the next

  // Columns [first, first + count). REQUIRES the back end's activations to be `bytes` wide.
  Matrix columns(int first, int count, int bytes) const {
    return {static_cast<std::byte*>(data) + std::ptrdiff_t{first} * bytes, rows, count, stride};
  }
};

// Of the gate in gate * up: x * sigmoid(x), or gelu by its formula with tanh.
enum class Activation { Silu, GeluTanh };

// How keys and values are stored: as the back end's own numbers, or in codes of 8 bits
// (cache_codes.h).
enum class CacheType : unsigned char { Plain, Fp8, Int8 };

struct KvShape {
  int layers = 0;  // attention layers
  int heads = 0;   // key and value heads
  int head_dim = 0;
  CacheType type = CacheType::Plain;
};

struct StateShape {
  int layers = 0;  // recurrent layers
  int key_heads = 0;
  int value_heads = 0;
  int key_dim = 0;     // per head
  int value_dim = 0;   // per head
  int conv_width = 0;  // taps of the causal convolution; the last conv_width - 1 inputs are kept
  int conv_channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};

inline constexpr int kPageTokens = 32;

}  // namespace counterbeam
