// API keys. A presented key is compared with every known one in constant time, by digests of equal
// length, so that timing tells neither which key was near nor how many bytes agreed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam::serve {

class Keys {
 public:
  Keys() = default;  // none: everybody is let in
  // BadInput where a key is empty, longer than 1,024 bytes or not of printable ASCII characters.
  void add(std::string_view key, std::string_view origin);
  // Keys of a file, one per line; blank lines and lines that open with # are skipped.
  void add_file(const std::string& path);

  bool empty() const { return digests_.empty(); }

  // The number of the key in an Authorization header, "Bearer KEY"; nothing where it is not known.
  std::optional<std::size_t> find(std::string_view authorization) const;

 private:
  std::vector<std::string> digests_;
};

}  // namespace counterbeam::serve
