#include "text/jinja/text.h"

#include <algorithm>

namespace counterbeam::jinja {

Text::Text(std::string bytes, bool trusted) : bytes_(std::move(bytes)) {
  if (!trusted && !bytes_.empty()) flips_.push_back(0);
}

bool Text::trusted_at(std::size_t offset) const {
  const auto after = std::upper_bound(flips_.begin(), flips_.end(), offset);
  return (after - flips_.begin()) % 2 == 0;
}

void Text::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (trusted != ends_trusted()) flips_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  bytes_.append(bytes);
}

void Text::append(const Text& other, std::size_t from, std::size_t to) {
  if (from >= to) return;
  const std::string_view bytes = other.view().substr(from, to - from);
  const std::size_t base = bytes_.size();
  if (other.flips_.empty()) return append(bytes, true);
  const auto first = std::upper_bound(other.flips_.begin(), other.flips_.end(), from);
  const bool trusted = (first - other.flips_.begin()) % 2 == 0;
  append(bytes, trusted);
  for (auto flip = first; flip != other.flips_.end() && *flip < to; ++flip)
    flips_.push_back(static_cast<std::uint32_t>(base + (*flip - from)));
}

Text Text::substr(std::size_t from, std::size_t to) const {
  Text piece;
  piece.append(*this, from, to);
  return piece;
}

}  // namespace counterbeam::jinja
