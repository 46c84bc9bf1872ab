#include "text/vocabulary.h"

#include <algorithm>
#include <cstring>

namespace counterbeam {
namespace {

constexpr std::uint64_t kMaxGap = 1'000'000;  // limit on unused ids

}  // namespace

std::uint64_t hash_text(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u;
  std::uint64_t hash = text.size() * kOdd;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 32;
  }
  std::uint64_t word = 0;
  if (left > 0) std::memcpy(&word, at, left);
  hash = (hash ^ word) * kOdd;
  return hash ^ hash >> 29;
}

std::string_view Vocabulary::at(TokenId id) const {
  const Place& place = places_[static_cast<std::size_t>(id)];
  return std::string_view(texts_).substr(place.begin, place.length);
}

std::size_t Vocabulary::slot_of(std::string_view text, std::uint32_t hash) const {
  std::size_t slot = hash & (slots_.size() - 1);
  while (slots_[slot].id >= 0 && (slots_[slot].hash != hash || at(slots_[slot].id) != text))
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void Vocabulary::grow() {
  std::vector<Slot> old(std::max<std::size_t>(64, slots_.size() * 2));
  old.swap(slots_);
  for (const Slot& entry : old) {
    if (entry.id < 0) continue;
    std::size_t slot = entry.hash & (slots_.size() - 1);
    while (slots_[slot].id >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = entry;
  }
}

Vocabulary::Added Vocabulary::add(std::string_view text, std::uint64_t id) {
  if (id >= 2 * count_ + kMaxGap || texts_.size() + text.size() > UINT32_MAX)
    return Added::IdTooLarge;
  if ((count_ + 1) * 2 > slots_.size()) grow();
  const auto hash = static_cast<std::uint32_t>(hash_text(text));
  const std::size_t slot = slot_of(text, hash);
  if (slots_[slot].id >= 0) return Added::TextTaken;
  if (id >= places_.size()) places_.resize(std::max<std::size_t>(id + 1, id * 5 / 4 + 1));
  if (places_[id].used) return Added::IdTaken;
  places_[id] = {static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(text.size()),
                 true};
  texts_.append(text);
  id_limit_ = std::max(id_limit_, static_cast<TokenId>(id + 1));
  slots_[slot] = {hash, static_cast<TokenId>(id)};
  ++count_;
  return Added::Yes;
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(text, static_cast<std::uint32_t>(hash_text(text)))];
  return slot.id < 0 ? std::nullopt : std::optional(slot.id);
}

std::optional<std::string_view> Vocabulary::text(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= places_.size() ||
      !places_[static_cast<std::size_t>(id)].used)
    return std::nullopt;
  return at(id);
}

}  // namespace counterbeam
