#include "text/tokenizer_steps.h"

#include <fmt/format.h>

#include <limits>

#include "base/quote.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

[[noreturn]] void refuse_type(const JsonField& field, std::string_view supported) {
  field.at("type").refuse(fmt::format("{} is not supported; supported are {}",
                                      in_quotes(field.at("type").string()), supported));
}

SplitPattern read_regex(const JsonField& field, const std::string& regex) {
  try {
    return SplitPattern(regex);
  } catch (const RegexProblem& problem) {
    field.refuse(
        fmt::format("{} is not a pattern that can be used: {}", in_quotes(regex), problem.what));
  }
}

// {"String": ...} or {"Regex": ...}
SplitPattern read_pattern(const JsonField& field, bool* one_char = nullptr) {
  if (field.has("Regex")) return read_regex(field.at("Regex"), field.at("Regex").string());
  if (!field.has("String"))
    field.refuse(fmt::format("must hold a \"String\" or a \"Regex\", found {}", field.shown()));
  const std::string& text = field.at("String").string();
  if (text.size() > 4096) field.refuse("is longer than 4096 bytes");
  if (one_char && !text.empty()) {
    unsigned length;
    char_at(text, 0, length);
    *one_char = length == text.size();
  }
  return SplitPattern::literal(text);
}

std::string read_char(const JsonField& field) {
  const std::string& text = field.string();
  unsigned length = 0;
  if (!text.empty()) char_at(text, 0, length);
  if (text.empty() || length != text.size())
    field.refuse(fmt::format("must be one character, found {}", field.shown()));
  return text;
}

SplitBehavior read_behavior(const JsonField& field) {
  const std::string& name = field.string();
  if (name == "Removed") return SplitBehavior::Removed;
  if (name == "Isolated") return SplitBehavior::Isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::MergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::MergedWithNext;
  if (name == "Contiguous") return SplitBehavior::Contiguous;
  field.refuse(
      fmt::format("{} is not known; it must be Removed, Isolated, MergedWithPrevious, "
                  "MergedWithNext or Contiguous",
                  in_quotes(name)));
}

PreTokenizer::Prepend read_prepend(const JsonField& field) {
  const std::string scheme = field.string_or("prepend_scheme", "always");
  const bool prefix = field.boolean_or("add_prefix_space", true);
  if (!prefix && scheme != "never")
    field.refuse(fmt::format("has add_prefix_space false but prepend_scheme {}; they must agree",
                             in_quotes(scheme)));
  if (scheme == "never") return PreTokenizer::Prepend::Never;
  if (scheme == "first") return PreTokenizer::Prepend::First;
  if (scheme == "always") return PreTokenizer::Prepend::Always;
  field.at("prepend_scheme")
      .refuse(fmt::format("{} is not known; it must be never, first or always", in_quotes(scheme)));
}

void read_byte_level(const JsonField& field, PreTokenizer& steps) {
  if (field.boolean_or("add_prefix_space", true)) steps.add(PreTokenizer::PrefixSpace{});
  if (field.boolean_or("use_regex", true))
    steps.add(PreTokenizer::Split{SplitPattern(std::string(kGpt2Pattern)), SplitBehavior::Isolated,
                                  false});
  steps.add(PreTokenizer::ByteChars{});
}

PreTokenizer::Split at_chars(CharKind kind, SplitBehavior behavior) {
  return {SplitPattern(kind), behavior, false};
}

}  // namespace

void read_normalizer(const JsonField& field, Normalizer& normalizer) {
  if (field.is_null()) return;
  const std::string& type = field.at("type").string();
  if (type == "Sequence") {
    for (const JsonField& part : field.at("normalizers").elements())
      read_normalizer(part, normalizer);
  } else if (type == "NFC") {
    normalizer.add(NormalForm::Nfc);
  } else if (type == "NFD") {
    normalizer.add(NormalForm::Nfd);
  } else if (type == "NFKC") {
    normalizer.add(NormalForm::Nfkc);
  } else if (type == "NFKD") {
    normalizer.add(NormalForm::Nfkd);
  } else if (type == "Lowercase") {
    normalizer.add(Normalizer::Lowercase{});
  } else if (type == "Strip") {
    normalizer.add(
        Normalizer::Strip{field.at("strip_left").boolean(), field.at("strip_right").boolean()});
  } else if (type == "StripAccents") {
    normalizer.add(Normalizer::StripAccents{});
  } else if (type == "Nmt") {
    normalizer.add(Normalizer::Nmt{});
  } else if (type == "ByteLevel") {
    normalizer.add(Normalizer::ByteLevel{});
  } else if (type == "Prepend") {
    normalizer.add(Normalizer::Prepend{field.at("prepend").string()});
  } else if (type == "Replace") {
    normalizer.add(
        Normalizer::Replace{read_pattern(field.at("pattern")), field.at("content").string()});
  } else if (type == "BertNormalizer") {
    const bool lowercase = field.at("lowercase").boolean();
    normalizer.add(Normalizer::Bert{field.at("clean_text").boolean(),
                                    field.at("handle_chinese_chars").boolean(),
                                    field.boolean_or("strip_accents", lowercase), lowercase});
  } else {
    refuse_type(field,
                "Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Nmt, ByteLevel, "
                "Prepend, Replace and BertNormalizer");
  }
}

void read_pre_tokenizer(const JsonField& field, PreTokenizer& steps) {
  if (field.is_null()) return;
  const std::string& type = field.at("type").string();
  if (type == "Sequence") {
    for (const JsonField& part : field.at("pretokenizers").elements())
      read_pre_tokenizer(part, steps);
  } else if (type == "Split") {
    steps.add(PreTokenizer::Split{read_pattern(field.at("pattern")),
                                  read_behavior(field.at("behavior")),
                                  field.at("invert").boolean()});
  } else if (type == "ByteLevel") {
    read_byte_level(field, steps);
  } else if (type == "Metaspace") {
    const std::string mark = read_char(field.at("replacement"));
    steps.add(PreTokenizer::Metaspace{mark, read_prepend(field), field.boolean_or("split", true),
                                      SplitPattern::literal(mark)});
  } else if (type == "Digits") {
    steps.add(at_chars(CharKind::Numeric, field.at("individual_digits").boolean()
                                              ? SplitBehavior::Isolated
                                              : SplitBehavior::Contiguous));
  } else if (type == "Punctuation") {
    steps.add(at_chars(CharKind::Punctuation, field.has("behavior")
                                                  ? read_behavior(field.at("behavior"))
                                                  : SplitBehavior::Isolated));
  } else if (type == "Whitespace") {
    // The two joiners are word characters in Hugging Face's tokenizers.
    steps.add(PreTokenizer::Split{SplitPattern("[\\w\\u200c\\u200d]+|[^\\w\\s\\u200c\\u200d]+"),
                                  SplitBehavior::Removed, true});
  } else if (type == "WhitespaceSplit") {
    steps.add(at_chars(CharKind::WhiteSpace, SplitBehavior::Removed));
  } else if (type == "BertPreTokenizer") {
    steps.add(at_chars(CharKind::WhiteSpace, SplitBehavior::Removed));
    steps.add(at_chars(CharKind::Punctuation, SplitBehavior::Isolated));
  } else if (type == "CharDelimiterSplit") {
    steps.add(PreTokenizer::Split{SplitPattern::literal(read_char(field.at("delimiter"))),
                                  SplitBehavior::Removed, false});
  } else if (type == "FixedLength") {
    const std::uint64_t length = field.has("length") ? field.at("length").whole_number() : 5;
    if (length == 0) field.at("length").refuse("must be at least 1");
    steps.add(PreTokenizer::FixedLength{static_cast<std::size_t>(length)});
  } else {
    refuse_type(field,
                "Sequence, Split, ByteLevel, Metaspace, Digits, Punctuation, Whitespace, "
                "WhitespaceSplit, BertPreTokenizer, CharDelimiterSplit and FixedLength");
  }
}

namespace {

void read_detokenizer_step(const JsonField& field, Detokenizer& steps) {
  const std::string& type = field.at("type").string();
  if (type == "Sequence") {
    for (const JsonField& part : field.at("decoders").elements())
      read_detokenizer_step(part, steps);
  } else if (type == "ByteLevel") {
    steps.add(Detokenizer::ByteLevel{});
  } else if (type == "ByteFallback") {
    steps.add(Detokenizer::ByteFallback{});
  } else if (type == "Fuse") {
    steps.add(Detokenizer::Fuse{});
  } else if (type == "Strip") {
    steps.add(Detokenizer::Strip{read_char(field.at("content")), field.at("start").whole_number(),
                                 field.at("stop").whole_number()});
  } else if (type == "Metaspace") {
    steps.add(Detokenizer::Metaspace{read_char(field.at("replacement")),
                                     read_prepend(field) != PreTokenizer::Prepend::Never});
  } else if (type == "Replace") {
    bool one_char = false;
    SplitPattern pattern = read_pattern(field.at("pattern"), &one_char);
    steps.add(Detokenizer::Replace{std::move(pattern), field.at("content").string(), one_char});
  } else if (type == "BPEDecoder") {
    steps.add(Detokenizer::Suffix{field.at("suffix").string()});
  } else {
    refuse_type(field,
                "Sequence, ByteLevel, ByteFallback, Fuse, Strip, Metaspace, Replace and "
                "BPEDecoder");
  }
}

std::vector<TokenId> read_ids(const JsonField& field) {
  std::vector<TokenId> ids;
  for (const JsonField& element : field.elements()) {
    const std::uint64_t id = element.whole_number();
    if (id > std::numeric_limits<TokenId>::max())
      element.refuse(fmt::format("is no token id: {}", id));
    ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

using Items = std::vector<Tokenizer::Parts::TemplateItem>;

// Replaces the text slot of `outer` by `items`.
void wrap(Items outer, Items& items) {
  Items result;
  for (auto& item : outer) {
    if (item.text)
      result.insert(result.end(), items.begin(), items.end());
    else
      result.push_back(std::move(item));
  }
  items = std::move(result);
}

Items read_template(const JsonField& field) {
  Items items;
  for (const JsonField& piece : field.at("single").elements()) {
    if (piece.has("Sequence")) {
      items.push_back({.text = true, .ids = {}});
      continue;
    }
    const JsonField name = piece.at("SpecialToken").at("id");
    const JsonField tokens = field.at("special_tokens");
    if (!tokens.has(name.string()))
      name.refuse(fmt::format("{} is not among {}", in_quotes(name.string()), tokens.path()));
    items.push_back({.text = false, .ids = read_ids(tokens.at(name.string()).at("ids"))});
  }
  return items;
}

// ["<s>", 0]
std::vector<TokenId> read_token_pair(const JsonField& field) {
  const auto elements = field.elements();
  if (elements.size() != 2)
    field.refuse(fmt::format("must be [text, id], found {}", field.shown()));
  const std::uint64_t id = elements[1].whole_number();
  if (id > std::numeric_limits<TokenId>::max()) elements[1].refuse("is no token id");
  return {static_cast<TokenId>(id)};
}

}  // namespace

void read_detokenizer(const JsonField& field, Detokenizer& detokenizer) {
  if (field.is_null())
    detokenizer.add(Detokenizer::Spaces{});
  else
    read_detokenizer_step(field, detokenizer);
}

void read_post_processor(const JsonField& field, Items& items) {
  if (field.is_null()) return;
  const std::string& type = field.at("type").string();
  if (type == "Sequence") {
    for (const JsonField& part : field.at("processors").elements())
      read_post_processor(part, items);
  } else if (type == "TemplateProcessing") {
    wrap(read_template(field), items);
  } else if (type == "RobertaProcessing" || type == "BertProcessing") {
    wrap({{.text = false, .ids = read_token_pair(field.at("cls"))},
          {.text = true, .ids = {}},
          {.text = false, .ids = read_token_pair(field.at("sep"))}},
         items);
  } else if (type != "ByteLevel") {
    refuse_type(field,
                "Sequence, TemplateProcessing, ByteLevel, RobertaProcessing and BertProcessing");
  }
}

}  // namespace counterbeam
