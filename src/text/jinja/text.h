// UTF-8 text that records for every byte whether it comes from the template (trusted) or from the
// conversation (untrusted). All string operations are made of substrings and appends, so the marks
// follow each character through filters and methods. Invariant: valid UTF-8; flips() are increasing
// offsets below size(); the text starts as trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam::jinja {

class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes, bool trusted = true);

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // Byte offsets at which trust changes.
  const std::vector<std::uint32_t>& flips() const { return flips_; }
  bool trusted_at(std::size_t offset) const;
  bool all_trusted() const { return flips_.empty(); }
  bool ends_trusted() const { return flips_.size() % 2 == 0; }

  void append(std::string_view bytes, bool trusted = true);
  void append(const Text& other) { append(other, 0, other.size()); }
  // Appends bytes [from, to) of `other` with their marks.
  void append(const Text& other, std::size_t from, std::size_t to);
  Text substr(std::size_t from, std::size_t to) const;
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }

 private:
  std::string bytes_;
  std::vector<std::uint32_t> flips_;
};

}  // namespace counterbeam::jinja
