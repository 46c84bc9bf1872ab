#include "serve/keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/trim.h"

namespace counterbeam::serve {
namespace {

constexpr std::string_view kSchemeOfKeys = "bearer ";
constexpr std::size_t kMostKeyBytes = 1024;  // fits into the headers of a request
constexpr std::uint64_t kMostKeyFileBytes = 1 << 20;

bool same_digest(std::string_view a, std::string_view b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

}  // namespace

void Keys::add(std::string_view key, std::string_view origin) {
  const bool printed =
      std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (key.empty() || key.size() > kMostKeyBytes || !printed)
    bad_input(
        "{}: a key is a word of 1 to {} printable ASCII characters, without spaces; this one {}",
        origin, kMostKeyBytes,
        key.empty()                  ? "is empty"
        : key.size() > kMostKeyBytes ? fmt::format("has {}", key.size())
                                     : "holds other characters");
  digests_.push_back(sha256(key));
}

void Keys::add_file(const std::string& path) {
  const std::string content = read_file(path, kMostKeyFileBytes);
  std::string_view rest = content;
  const std::size_t before = digests_.size();
  for (int number = 1; !rest.empty(); ++number) {
    const auto end = rest.find('\n');
    const std::string_view line = trim(rest.substr(0, end), kAsciiSpace);
    if (!line.empty() && !line.starts_with('#'))
      add(line, fmt::format("--api-key-file {}: line {}", path, number));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  if (digests_.size() == before)
    bad_input("--api-key-file {}: holds no key; write one per line", path);
}

std::optional<std::size_t> Keys::find(std::string_view authorization) const {
  bool is_bearer = authorization.size() > kSchemeOfKeys.size();
  for (std::size_t i = 0; is_bearer && i < kSchemeOfKeys.size(); ++i)
    is_bearer = (authorization[i] | 32) == (kSchemeOfKeys[i] | 32);
  const std::string_view key =
      is_bearer ? trim(authorization.substr(kSchemeOfKeys.size()), kAsciiSpace) : "";
  const std::string digest = sha256(key);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < digests_.size(); ++i)
    if (same_digest(digest, digests_[i])) found = i;
  return is_bearer ? found : std::nullopt;
}

}  // namespace counterbeam::serve
