// A tokenizer described by a list of tokens, as GGUF files do: every token with its kind, merges or
// scores, and the name of the rule that splits a text. Its ids are those of the tokenizer.json that
// the file was converted from, as far as the file records what that one does (docs/tokenizers.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace counterbeam {

// Of tokens, and of merges. Bounds time and memory for a hostile file.
inline constexpr std::uint64_t kMostListedTokens = 1 << 19;

// With the numbers of GGUF.
enum class TokenKind : std::uint8_t {
  Undefined,
  Normal,
  Unknown,
  Control,      // matched in trusted text only
  UserDefined,  // matched in all text, before it is split
  Unused,
  Byte,
};

// Views point to memory of the caller, which must outlive the call of make_tokenizer() alone.
struct TokenList {
  enum class Model {
    ByteLevel,      // BPE by merges over bytes
    SentencePiece,  // BPE by scores over characters, with <0xNN> tokens for the others
  };
  struct Token {
    std::string_view text;  // empty: the id has no token
    TokenKind kind = TokenKind::Normal;
    float score = 0;  // SentencePiece: the pair with the highest score is merged first
  };

  Model model = Model::ByteLevel;
  std::vector<Token> tokens;             // by id
  std::vector<std::string_view> merges;  // ByteLevel: "left right", the first is applied first
  std::string split;                     // ByteLevel: a name of named_splits.h
  std::optional<TokenId> bos, eos, pad, unk;
  std::optional<bool> add_bos, add_eos;  // to an encoded text; the default is the split's
  bool space_prefix = true;              // SentencePiece: a space before the text
  // Control and user-defined tokens except <unk>, <s> and <|endoftext|> take the white space after
  // them.
  bool strip_right = false;
  std::vector<std::string> warnings;  // become those of the tokenizer
};

// Throws an Error that begins with `file` if the list does not make a tokenizer.
Tokenizer make_tokenizer(const TokenList& list, std::string_view file);

}  // namespace counterbeam
