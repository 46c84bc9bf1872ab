// The tokenizer described by tokenizer.json: text to ids and ids to text. Immutable after loading;
// const calls are thread-safe.
//
// Text is untrusted unless the caller says otherwise: "<|im_end|>" in untrusted text is encoded as
// plain characters, never as the control token. docs/tokenizers.md explains how chat prompts use
// this.
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
  bool special_in_text = false;     // recognise control tokens that are spelled out in the text
  bool add_special_tokens = false;  // add the tokens of the post-processor, such as BOS and EOS
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

  // The same from memory. Messages start with `name` or `config_name`. An empty `config` means that
  // there is none.
  static Tokenizer parse(std::string_view json, std::string_view name, std::string_view config,
                         std::string_view config_name);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Invalid UTF-8 is encoded as U+FFFD.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;

  // Encodes the parts as one text: the ids are those of the concatenation, except that no control
  // token is recognised where it overlaps an untrusted part.
  std::vector<TokenId> encode_parts(std::span<const PromptPart> parts) const;

  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  // The bytes that a token stands for inside a text, control tokens spelled out. They need not be
  // whole characters. Empty if no token has the id.
  std::string token_bytes(TokenId id) const;

  // The id of an added token, or of a vocabulary token as spelled in the file.
  std::optional<TokenId> find(std::string_view token) const;
  // The text of a token as spelled in the file; empty if no token has the id.
  std::optional<std::string_view> token_text(TokenId id) const;
  bool is_special(TokenId id) const;

  // The number of tokens, and the largest id plus one. A model's embedding may have more rows.
  std::size_t size() const;
  TokenId id_limit() const;

  const NamedTokens& named() const;
  const std::vector<AddedToken>& added_tokens() const;
  // What is suspicious about the file, one line each: the first added token whose id differs from
  // the one in the file.
  const std::vector<std::string>& warnings() const;

  struct Parts;  // defined in tokenizer_parts.h
  explicit Tokenizer(std::unique_ptr<Parts> parts);

 private:
  friend class IncrementalDecoder;
  struct Encoder;
  std::vector<TokenId> encode_text(std::string_view text, const std::vector<TextSpan>& untrusted,
                                   bool add_special_tokens) const;
  std::optional<std::string_view> decoded_text(TokenId id, bool skip_special) const;

  std::unique_ptr<Parts> parts_;
};

// Decodes a stream of ids. The concatenated results of push() and finish() equal decode() of all
// the ids. Byte-level tokenizers hold back at most 3 bytes, those of an incomplete character.
class IncrementalDecoder {
 public:
  // REQUIRES: the tokenizer outlives the decoder
  explicit IncrementalDecoder(const Tokenizer& tokenizer, DecodeOptions options = {});

  std::string push(TokenId id);
  std::string finish();  // ends the text; the next push() starts a new one

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  DetokenizerStream stream_;
};

}  // namespace counterbeam
