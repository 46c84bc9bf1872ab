// The packed tables that tools/unicode_tables.py writes; unicode.cpp and unicode_normalize.cpp
// unpack them on first use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace counterbeam::unicode_data {

extern const char* const kCategoryRuns;      // category, length
extern const char* const kCombiningClasses;  // gap, class
extern const char* const kDecompositions;    // gap, kind + 4 * length, signed differences
extern const char* const kLateMarks;         // gap, length: marks newer than Unicode 9.0
extern const char* const kLatePunctuation;   // gap, length: punctuation newer than Unicode 8.0
extern const char* const kLowercase;         // gap, signed difference
extern const char* const kCaseFolding;       // gap, signed difference

// The code points of a script or property. Names: lower case, without separators, a space between.
struct NamedRuns {
  const char* names;
  const char* runs;  // gap, length
};
extern const std::span<const NamedRuns> kNamedRuns;

// A name as names are compared: lower case, without spaces, hyphens and underscores.
std::string loose_name(std::string_view name);

// Reads the numbers of one table in order.
class Numbers {
 public:
  explicit Numbers(const char* text) : at_(text) {}
  bool done() const { return *at_ == '\0'; }
  std::uint32_t next();
  std::int32_t next_signed();

 private:
  const char* at_;
};

}  // namespace counterbeam::unicode_data
