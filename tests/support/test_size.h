// Sizes of tests that take ten to twenty times as long under a sanitizer, which looks for faults in
// the code that runs and needs fewer cases for that.
#pragma once

namespace counterbeam::testing {

#ifdef COUNTERBEAM_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

template <typename T>
constexpr T sized(T full, T sanitized) {
  return kSanitized ? sanitized : full;
}

}  // namespace counterbeam::testing
