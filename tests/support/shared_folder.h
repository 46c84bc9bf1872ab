// Locates the folder of reference data next to the repository; a test is skipped with a message if
// its data is absent.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace counterbeam::testing {

inline std::filesystem::path shared_folder() {
  if (const char* named = std::getenv("COUNTERBEAM_SHARED")) return named;
  return std::filesystem::path(COUNTERBEAM_SOURCE_DIR) / ".." / "shared";
}

}  // namespace counterbeam::testing

#define CB_NEEDS_SHARED(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "reference data absent: " << (path)
