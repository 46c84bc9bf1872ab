// exp and what is made of it, over any of the vector types: relative error below 3e-7, the same
// bits whatever lane a number stands in. exp is 0 below -87.3 and stops growing at 88.
#pragma once

namespace counterbeam {

template <typename S>
inline typename S::F exp_of(typename S::F x) {
  const auto low = S::set1(-87.3f);
  const auto bounded = S::min(S::set1(88.0f), S::max(low, x));  // a NaN passes
  const auto n = S::round(S::mul(bounded, S::set1(1.44269504f)));
  auto r = S::fma(n, S::set1(-0.693359375f), bounded);  // ln(2) in two parts
  r = S::fma(n, S::set1(2.12194440e-4f), r);
  // 1 + r + r^2 P(r), P fitted to the least relative error on |r| <= ln(2) / 2.
  auto p = S::set1(1.381453942e-03f);
  p = S::fma(p, r, S::set1(8.368745446e-03f));
  p = S::fma(p, r, S::set1(4.166838899e-02f));
  p = S::fma(p, r, S::set1(1.666652113e-01f));
  p = S::fma(p, r, S::set1(4.999999404e-01f));
  p = S::add(S::fma(p, S::mul(r, r), r), S::set1(1.0f));
  return S::zero_below(S::scale(p, n), x, low);
}

template <typename S>
inline typename S::F sigmoid_of(typename S::F x) {
  return S::inverse(S::add(S::set1(1.0f), exp_of<S>(S::sub(S::zero(), x))));
}

template <typename S>
inline typename S::F silu_of(typename S::F x) {
  return S::mul(x, sigmoid_of<S>(x));
}

}  // namespace counterbeam
