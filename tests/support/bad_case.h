// A malformed input and its exact error message.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace counterbeam::testing {

struct BadCase {
  std::string name;
  std::string input;
  std::string message;
};

inline constexpr std::size_t kAllowance = std::size_t{64} << 20;  // beyond the file size

// Runs `work`, which must throw a BadInput error, and compares its message.
template <typename Work>
void expect_message(const std::string& name, const std::string& message, Work work) {
  try {
    work();
    ADD_FAILURE() << name << ": was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), message) << name;
    EXPECT_EQ(error.kind(), ErrorKind::BadInput) << name;
  }
}

}  // namespace counterbeam::testing
