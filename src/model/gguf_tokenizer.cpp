#include "model/gguf_tokenizer.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/quote.h"
#include "model/gguf_fields.h"
#include "text/named_splits.h"
#include "text/token_list.h"

namespace counterbeam {
namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model", kSplitKey = "tokenizer.ggml.pre",
                           kTokensKey = "tokenizer.ggml.tokens",
                           kKindsKey = "tokenizer.ggml.token_type",
                           kScoresKey = "tokenizer.ggml.scores",
                           kMergesKey = "tokenizer.ggml.merges",
                           kTemplateKey = "tokenizer.chat_template";
constexpr std::uint64_t kMostListed = 1 << 22;  // tokens or merges; real lists are far shorter

std::optional<TokenId> token_id(const GgufFields& fields, std::string_view name) {
  const auto id = fields.integer(fmt::format("tokenizer.ggml.{}_token_id", name), 0,
                                 std::numeric_limits<TokenId>::max());
  if (!id) return std::nullopt;
  return static_cast<TokenId>(*id);
}

class GgufTokenizerReader {
 public:
  explicit GgufTokenizerReader(const GgufFields& fields) : fields_(fields) {}

  TokenList read() {
    read_model();
    read_tokens();
    read_kinds();
    if (list_.model == TokenList::Model::ByteLevel)
      read_merges();
    else
      read_scores();
    read_special();
    return std::move(list_);
  }

 private:
  void read_model() {
    const auto model = fields_.string(kModelKey);
    if (!model) fields_.missing(kModelKey, "the file has no tokenizer");
    if (*model != "gpt2" && *model != "llama")
      fields_.wrong(kModelKey, "is not supported (supported: gpt2, llama)");
    list_.model = *model == "gpt2" ? TokenList::Model::ByteLevel : TokenList::Model::SentencePiece;
    if (list_.model == TokenList::Model::SentencePiece) return;
    const auto split = fields_.string(kSplitKey);
    if (!split)
      fields_.missing(kSplitKey, "how text is split is not known: convert the model again");
    PreTokenizer unused;
    if (!add_named_split(*split, unused))
      fields_.wrong(kSplitKey, fmt::format("is not supported (supported: {})", known_splits()));
    list_.split = *split;
  }

  const GgufValue& listed(std::string_view key, GgufKind kind) const {
    const GgufValue* value = fields_.array(key, kind);
    if (!value) fields_.missing(key, "the tokenizer is not complete: convert the model again");
    if (value->count > kMostListed)
      fields_.wrong(key, fmt::format("is longer than the limit of {}", kMostListed));
    return *value;
  }

  void read_tokens() {
    const GgufValue& texts = listed(kTokensKey, GgufKind::String);
    list_.tokens.reserve(texts.count);
    texts.each_string([&](std::string_view text) { list_.tokens.push_back({.text = text}); });
  }

  void check_length(std::string_view key, const GgufValue& value) const {
    if (value.count != list_.tokens.size())
      fields_.wrong(key, fmt::format("does not have an entry for each of the {} tokens",
                                     list_.tokens.size()));
  }

  void read_kinds() {
    if (!fields_.has(kKindsKey)) {
      if (list_.model == TokenList::Model::SentencePiece)
        fields_.missing(kKindsKey, "the tokenizer is not complete: convert the model again");
      return;
    }
    const GgufValue& kinds = listed(kKindsKey, GgufKind::I32);
    check_length(kKindsKey, kinds);
    for (std::size_t i = 0; i < list_.tokens.size(); ++i) {
      const std::int64_t kind = *kinds.integer(i);
      if (kind < 0 || kind > static_cast<int>(TokenKind::Byte))
        fields_.wrong(kKindsKey,
                      fmt::format("has {} for token {}, not a type from 0 to 6", kind, i));
      list_.tokens[i].kind = static_cast<TokenKind>(kind);
    }
  }

  void read_merges() {
    const GgufValue& merges = listed(kMergesKey, GgufKind::String);
    list_.merges.reserve(merges.count);
    merges.each_string([&](std::string_view merge) { list_.merges.push_back(merge); });
  }

  void read_scores() {
    const GgufValue& scores = listed(kScoresKey, GgufKind::F32);
    check_length(kScoresKey, scores);
    for (std::size_t i = 0; i < list_.tokens.size(); ++i)
      list_.tokens[i].score = static_cast<float>(*scores.number(i));
  }

  void read_special() {
    list_.bos = token_id(fields_, "bos");
    list_.eos = token_id(fields_, "eos");
    list_.pad = token_id(fields_, "padding");
    list_.unk = token_id(fields_, "unknown");
    list_.add_bos = fields_.boolean("tokenizer.ggml.add_bos_token");
    list_.add_eos = fields_.boolean("tokenizer.ggml.add_eos_token");
    if (list_.model == TokenList::Model::ByteLevel) return;
    if (!list_.unk) list_.unk = first_of(TokenKind::Unknown);
    list_.space_prefix = fields_.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
    if (fields_.boolean("tokenizer.ggml.remove_extra_whitespaces").value_or(false))
      fields_.wrong("tokenizer.ggml.remove_extra_whitespaces",
                    "is not supported (supported: false)");
    // The file does not say this of Phi-3's tokens, which its tokenizer.json does.
    list_.strip_right = fields_.string("general.architecture") == "phi3";
  }

  std::optional<TokenId> first_of(TokenKind kind) const {
    const auto found = std::find_if(list_.tokens.begin(), list_.tokens.end(),
                                    [&](const auto& token) { return token.kind == kind; });
    if (found == list_.tokens.end()) return std::nullopt;
    return static_cast<TokenId>(found - list_.tokens.begin());
  }

  const GgufFields& fields_;
  TokenList list_;
};

GgufFields fields_of(const GgufCheckpoint& checkpoint) {
  return {checkpoint.metadata(), checkpoint.name()};
}

// The text of a token in the list, for templates; nothing if there is none.
std::optional<std::string> token_text(const GgufFields& fields, std::string_view name) {
  const auto id = token_id(fields, name);
  const GgufValue* tokens = fields.find(kTokensKey);
  if (!id || !tokens || tokens->kind != GgufKind::String) return std::nullopt;
  std::optional<std::string> found;
  TokenId next = 0;
  tokens->each_string([&](std::string_view text) {
    if (next++ == *id) found = text;
  });
  return found;
}

}  // namespace

Tokenizer read_gguf_tokenizer(const GgufCheckpoint& checkpoint) {
  const GgufFields fields = fields_of(checkpoint);
  Tokenizer tokenizer = make_tokenizer(GgufTokenizerReader(fields).read(), checkpoint.name());
  checkpoint.check_metadata();
  return tokenizer;
}

ChatTemplate read_gguf_template(const GgufCheckpoint& checkpoint) {
  const GgufFields fields = fields_of(checkpoint);
  const auto source = fields.string(kTemplateKey);
  if (!source)
    bad_input("{}: this model has no chat template ({}). Use --raw to prompt it without one",
              checkpoint.name(), kTemplateKey);
  SpecialTokens tokens;
  for (const auto& [name, key] :
       {std::pair{"bos_token", "bos"}, std::pair{"eos_token", "eos"},
        std::pair{"pad_token", "padding"}, std::pair{"unk_token", "unknown"}})
    if (auto text = token_text(fields, key)) tokens.emplace_back(name, std::move(*text));
  checkpoint.check_metadata();
  return ChatTemplate::parse(*source, fmt::format("{} ({})", checkpoint.name(), kTemplateKey),
                             std::move(tokens));
}

std::vector<TokenId> gguf_end_tokens(const GgufCheckpoint& checkpoint) {
  const GgufFields fields = fields_of(checkpoint);
  std::vector<TokenId> ids;
  for (const char* name : {"eos", "eot", "eom"})
    if (const auto id = token_id(fields, name)) ids.push_back(*id);
  return ids;
}

}  // namespace counterbeam
