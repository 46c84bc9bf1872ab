// A tokenizer as tokenizer.json describes it: text to ids, ids to text. Immutable after loading;
// every const call may run on many threads at once.
//
// Text is untrusted unless the caller says otherwise: "<|im_end|>" in a user's text is then plain
// characters, never the control token. docs/tokenizers.md tells how chat prompts use this.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/added_tokens.h"
#include "text/detokenizer.h"

namespace counterbeam {

struct EncodeOptions {
  bool special_in_text = false;     // control tokens written out in the text become their ids
  bool add_special_tokens = false;  // what the post-processor adds: BOS, EOS
};

struct DecodeOptions {
  bool skip_special = false;  // leave control tokens out
};

// A part of a prompt: control tokens are recognised in trusted parts only.
struct PromptPart {
  std::string_view text;
  bool trusted;
};

// The tokens that tokenizer_config.json names, as text.
struct NamedTokens {
  std::optional<std::string> bos, eos, pad, unk;
};

class Tokenizer {
 public:
  // Reads tokenizer.json, and tokenizer_config.json where there is one.
  static Tokenizer load(const std::filesystem::path& folder);

  // The same from memory; `name` and `config_name` open the messages. An empty config: none.
  static Tokenizer parse(std::string_view json, std::string_view name, std::string_view config,
                         std::string_view config_name);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Bytes that are no valid UTF-8 count as U+FFFD.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;

  // The parts as one text: ids are those of the whole, but no control token takes a byte of an
  // untrusted part.
  std::vector<TokenId> encode_parts(std::span<const PromptPart> parts) const;

  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  // The id of a token by its text: an added token, or one of the vocabulary as the file spells it.
  std::optional<TokenId> find(std::string_view token) const;
  // The text of a token as the file spells it; nothing for an id without a token.
  std::optional<std::string_view> token_text(TokenId id) const;
  bool is_special(TokenId id) const;

  // Tokens in all, and one more than the largest id; a model may have more rows than that.
  std::size_t size() const;
  TokenId id_limit() const;

  const NamedTokens& named() const;
  const std::vector<AddedToken>& added_tokens() const;

  struct Parts;  // what the file describes; tokenizer_parts.h
  explicit Tokenizer(std::unique_ptr<Parts> parts);

 private:
  friend class IncrementalDecoder;
  struct Encoder;
  std::vector<TokenId> encode_text(std::string_view text, const std::vector<TextSpan>& untrusted,
                                   bool add_special_tokens) const;
  std::optional<std::string_view> decoded_text(TokenId id, bool skip_special) const;

  std::unique_ptr<Parts> parts_;
};

// Decodes as ids come. All that push() and finish() return, joined, is decode() of all the ids.
// Byte-level tokenizers hold back at most 3 bytes, those of a character not yet complete.
class IncrementalDecoder {
 public:
  // REQUIRES: the tokenizer outlives the decoder
  explicit IncrementalDecoder(const Tokenizer& tokenizer, DecodeOptions options = {});

  std::string push(TokenId id);
  std::string finish();  // after it, a new text begins

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  DetokenizerStream stream_;
};

}  // namespace counterbeam
