// The tokens of a model: text to id and back. Texts are stored in one buffer; the index uses open
// addressing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace counterbeam {

class Vocabulary {
 public:
  enum class Added { Yes, TextTaken, IdTaken, IdTooLarge };

  // Ids may have gaps, up to a limit (see Added).
  Added add(std::string_view text, std::uint64_t id);

  std::optional<TokenId> find(std::string_view text) const;

  // Empty if no token has the id.
  std::optional<std::string_view> text(TokenId id) const;

  std::size_t size() const { return count_; }
  // The largest id plus one.
  TokenId id_limit() const { return id_limit_; }

 private:
  struct Place {
    std::uint32_t begin = 0, length = 0;
    bool used = false;
  };
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;
  };

  std::string_view at(TokenId id) const;
  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;
  void grow();

  std::string texts_;
  std::vector<Place> places_;  // by id
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
  TokenId id_limit_ = 0;
};

// A fast hash of a short text.
std::uint64_t hash_text(std::string_view text);

}  // namespace counterbeam
