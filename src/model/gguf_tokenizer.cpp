#include "model/gguf_tokenizer.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/lower_case.h"
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

std::string id_key(std::string_view name) {
  return fmt::format("tokenizer.ggml.{}_token_id", name);
}

std::int64_t token_count(const GgufFields& fields) {
  const GgufValue* tokens = fields.find(kTokensKey);
  return tokens ? static_cast<std::int64_t>(std::min(tokens->count, kMostListedTokens))
                : kMostListedTokens;
}

// Converters write 4294967295 and the like for a token that the model does not have.
bool is_beyond_tokens(const GgufFields& fields, std::string_view name) {
  const auto id = fields.integer(id_key(name), 0, std::numeric_limits<std::uint32_t>::max());
  return id && *id >= token_count(fields);
}

// The ids that llama.cpp takes if a file with a SentencePiece model does not give them.
std::optional<TokenId> default_id(const GgufFields& fields, std::string_view name) {
  if (fields.string(kModelKey) != "llama" || !fields.has(kTokensKey)) return std::nullopt;
  const TokenId id = name == "unknown" ? 0 : name == "bos" ? 1 : name == "eos" ? 2 : -1;
  if (id < 0 || id >= token_count(fields)) return std::nullopt;
  return id;
}

std::optional<TokenId> token_id(const GgufFields& fields, std::string_view name) {
  const auto id = fields.integer(id_key(name), 0, std::numeric_limits<std::uint32_t>::max());
  if (!id || is_beyond_tokens(fields, name)) return default_id(fields, name);
  return static_cast<TokenId>(*id);
}

// Whether general.name is that of a Phi-3 model, as llama.cpp decides; also "Phi 3.5".
bool is_named_phi3(const GgufFields& fields) {
  std::string name = to_lower_case(fields.string("general.name").value_or(""));
  std::erase_if(name, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  return name.find("phi3") != std::string::npos;
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
    if (value->count > kMostListedTokens)
      fields_.wrong(key, fmt::format("is longer than the limit of {}", kMostListedTokens));
    return *value;
  }

  void read_tokens() {
    const GgufValue& texts = listed(kTokensKey, GgufKind::String);
    list_.tokens.reserve(texts.count);
    texts.each_string([&](std::string_view text) { list_.tokens.push_back({.text = text}); });
  }

  void check_length(std::string_view key, const GgufValue& value) const {
    if (value.count < list_.tokens.size())
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
    for (const char* name : {"bos", "eos", "eot", "eom", "padding", "unknown"})
      if (is_beyond_tokens(fields_, name))
        list_.warnings.push_back(
            fmt::format("{}: {} {} is ignored: the tokenizer has {} tokens", fields_.file(),
                        id_key(name), *fields_.find(id_key(name))->integer(), list_.tokens.size()));
    list_.bos = token_id(fields_, "bos");
    list_.eos = token_id(fields_, "eos");
    list_.pad = token_id(fields_, "padding");
    list_.unk = token_id(fields_, "unknown");
    list_.add_bos = fields_.boolean("tokenizer.ggml.add_bos_token");
    list_.add_eos = fields_.boolean("tokenizer.ggml.add_eos_token");
    if (list_.model == TokenList::Model::ByteLevel) return;
    if (!fields_.has(id_key("unknown")))
      if (const auto unknown = first_of(TokenKind::Unknown)) list_.unk = unknown;
    list_.space_prefix = fields_.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
    if (fields_.boolean("tokenizer.ggml.remove_extra_whitespaces").value_or(false))
      fields_.wrong("tokenizer.ggml.remove_extra_whitespaces",
                    "is not supported (supported: false)");
    // Phi-3's tokenizer.json says this of its tokens, but a GGUF file does not record it. Other
    // models of the architecture have other tokens.
    list_.strip_right =
        is_named_phi3(fields_) && has_control("<|end|>") && has_control("<|assistant|>");
  }

  bool has_control(std::string_view text) const {
    return std::any_of(list_.tokens.begin(), list_.tokens.end(), [&](const auto& token) {
      return token.text == text &&
             (token.kind == TokenKind::Control || token.kind == TokenKind::UserDefined);
    });
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
