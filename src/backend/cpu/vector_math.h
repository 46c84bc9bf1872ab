// exp and functions of it, for any vector type; a result does not depend on the lane. REQUIRES x at
// most 88 for e^x and 127 for 2^x. Results below the smallest normal number are 0.
#pragma once

namespace counterbeam {

inline constexpr float kLog2E = 1.44269504f;

// 2^x, relative error below 2e-7.
template <typename S>
inline typename S::F exp2_of(typename S::F x) {
  const auto rest = S::fraction(x);
  // A polynomial of least relative error on [0, 1).
  auto p = S::set1(1.8671304e-03f);
  p = S::fma(p, rest, S::set1(9.01703e-03f));
  p = S::fma(p, rest, S::set1(5.5799913e-02f));
  p = S::fma(p, rest, S::set1(2.4016444e-01f));
  p = S::fma(p, rest, S::set1(6.931513e-01f));
  p = S::fma(p, rest, S::set1(1.0f));
  return S::scale(p, x);
}

// e^x, relative error below 2e-7 + 8e-8 |x|.
template <typename S>
inline typename S::F exp_of(typename S::F x) {
  return exp2_of<S>(S::mul(x, S::set1(kLog2E)));
}

template <typename S>
inline typename S::F sigmoid_of(typename S::F x) {
  const auto bounded = S::min(S::set1(88.0f), S::sub(S::zero(), x));  // NaN stays NaN
  return S::inverse(S::add(S::set1(1.0f), exp_of<S>(bounded)));
}

template <typename S>
inline typename S::F silu_of(typename S::F x) {
  return S::mul(x, sigmoid_of<S>(x));
}

// x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), as x * sigmoid(2 u): nothing is
// lost where tanh(u) is near -1.
template <typename S>
inline typename S::F gelu_of(typename S::F x) {
  const auto slope = S::fma(S::mul(x, x), S::set1(0.0713548163f), S::set1(1.59576912f));
  return S::mul(x, sigmoid_of<S>(S::mul(x, slope)));
}

}  // namespace counterbeam
