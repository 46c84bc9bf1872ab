// Byte-pair encoding of one piece of text: starts from single characters (or bytes) and repeatedly
// merges the adjacent pair with the lowest rank, leftmost first, until no merge rule applies.
// Immutable once built; encode() may run on many threads, each with its own Scratch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/vocabulary.h"

namespace counterbeam {

struct BpeOptions {
  std::optional<std::string> unknown;  // the token for characters that are not in the vocabulary
  std::string continuing_prefix;       // before every character of a piece but the first
  std::string end_suffix;              // after the last one
  bool fuse_unknown = false;
  bool byte_fallback = false;  // use <0xNN> tokens instead of the unknown token
  bool ignore_merges = false;  // a piece that is a token as a whole is not merged
};

class Bpe {
 public:
  class Scratch;

  Bpe(Vocabulary vocabulary, BpeOptions options);

  // Adds a merge rule; a pair that is added twice keeps its last rank. Returns false if the merged
  // text is not a token.
  bool add_merge(TokenId left, TokenId right, std::uint32_t rank);
  void reserve_merges(std::size_t count);
  // Text becomes these tokens neither by merges nor as a whole piece: they are control tokens,
  // which are cut out of trusted text before. Call after the last add_merge().
  void exclude(const std::vector<TokenId>& tokens);

  // Appends the ids of the piece. `bytes` says that the vocabulary is byte-level and the piece is
  // raw text. Throws Error if a character has no token and the unknown token is not in the
  // vocabulary.
  void encode(std::string_view piece, bool bytes, std::vector<TokenId>& ids,
              Scratch& scratch) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    std::uint64_t pair = kNoPair;
    std::uint32_t rank = 0;
    TokenId result = 0;
  };
  static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};

  const Merge* merge(TokenId left, TokenId right) const;
  Merge& merge_slot(std::uint64_t pair);
  void start_bytes(std::string_view piece, Scratch& scratch) const;
  void start_chars(std::string_view piece, Scratch& scratch) const;
  bool fall_back_to_bytes(std::string_view text, Scratch& scratch) const;
  bool is_excluded(TokenId token) const;
  TokenId unknown_id() const;
  void join_few(Scratch& scratch) const;
  void join_many(Scratch& scratch) const;
  void encode_anew(std::string_view piece, bool bytes, Scratch& scratch) const;

  Vocabulary vocabulary_;
  BpeOptions options_;
  std::vector<TokenId> excluded_;  // sorted
  std::vector<Merge> merges_;      // open addressing; the size is a power of two
  std::size_t merge_count_ = 0;
  std::string merged_;                    // scratch of add_merge
  std::array<TokenId, 256> byte_ids_{};   // id of the byte-level character, or -1
  std::array<TokenId, 256> fallbacks_{};  // id of <0xNN>, or -1
};

// Buffers, and a bounded cache of recently encoded pieces.
class Bpe::Scratch {
  friend class Bpe;
  static constexpr std::size_t kKey = 30, kIds = 8, kEntries = 1 << 14;
  struct Entry {
    std::uint8_t length = 0, count = 0;
    char key[kKey];
    TokenId ids[kIds];
  };
  struct Way {
    std::uint64_t order;  // rank, then position
    TokenId result;
  };

  std::vector<TokenId> symbols;
  std::vector<std::uint32_t> next, previous;
  std::vector<Way> heap;
  std::vector<Entry> seen_bytes, seen_chars;
};

}  // namespace counterbeam
