#include "text/token_list.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/named_splits.h"
#include "text/score_merges.h"
#include "text/tokenizer_parts.h"

namespace counterbeam {
namespace {

using ListParts = Tokenizer::Parts;

constexpr std::string_view kMark = "\u2581";  // SentencePiece's sign for a space
// Real tokens and lists are far smaller; the limits bound time and memory for a hostile file.
constexpr std::size_t kMostPieceBytes = 512, kMergesPerToken = 4;

// What converters put in place of ids that the tokenizer does not have.
bool is_padding(const TokenList::Token& token, std::size_t id) {
  return token.kind == TokenKind::Unused && token.text == fmt::format("[PAD{}]", id);
}

bool is_byte_name(std::string_view text) {
  const auto is_digit = [](char digit) {
    return (digit >= '0' && digit <= '9') || (digit >= 'A' && digit <= 'F') ||
           (digit >= 'a' && digit <= 'f');
  };
  return text.size() == 6 && text.starts_with("<0x") && is_digit(text[3]) && is_digit(text[4]) &&
         text[5] == '>';
}

class ListReader {
 public:
  ListReader(const TokenList& list, std::string_view file) : list_(list), file_(file) {}

  std::unique_ptr<ListParts> read() {
    if (list_.tokens.empty()) bad_input("{}: the tokenizer has no tokens", file_);
    if (list_.tokens.size() > kMostListedTokens)
      bad_input("{}: the tokenizer has {} tokens, more than the limit of {}", file_,
                list_.tokens.size(), kMostListedTokens);
    fill_vocabulary();
    auto parts = list_.model == TokenList::Model::ByteLevel ? byte_level() : sentence_piece();
    add_tokens(*parts);
    name_tokens(*parts);
    parts->count_tokens();
    parts->warnings = list_.warnings;
    return parts;
  }

 private:
  // Control tokens are not in the vocabulary of BPE: no text that is split and merged becomes one.
  // The exception is the token for unknown characters, which takes no part in merges.
  void fill_vocabulary() {
    for (std::size_t id = 0; id < list_.tokens.size(); ++id) {
      const TokenList::Token& token = list_.tokens[id];
      if (!is_valid_utf8(token.text))
        bad_input("{}: token {} of the tokenizer is not UTF-8", file_, id);
      if (token.text.empty() || is_padding(token, id)) continue;
      if (token.kind == TokenKind::Control && !is_unknown(id)) continue;
      if (vocabulary_.add(token.text, id) == Vocabulary::Added::TextTaken)
        bad_input("{}: tokens {} and {} of the tokenizer are both {}; ids must differ in text",
                  file_, *vocabulary_.find(token.text), id, in_quotes(token.text));
    }
  }

  bool is_unknown(std::size_t id) const {
    return list_.model == TokenList::Model::SentencePiece && list_.unk &&
           std::cmp_equal(*list_.unk, id);
  }

  std::unique_ptr<ListParts> byte_level() {
    PreTokenizer splits;
    const auto facts = add_named_split(list_.split, splits);
    if (!facts)
      bad_input("{}: splits text by the rule {}, which is not supported (supported: {})", file_,
                in_quotes(list_.split), known_splits());
    BpeOptions options;
    options.ignore_merges = facts->ignore_merges;
    auto parts = std::make_unique<ListParts>(Bpe(std::move(vocabulary_), std::move(options)));
    parts->bpe.reserve_merges(list_.merges.size());
    for (std::size_t rank = 0; rank < list_.merges.size(); ++rank) add_merge(parts->bpe, rank);
    if (facts->nfc) parts->normalizer.add(NormalForm::Nfc);
    parts->pre_tokenizer = std::move(splits);
    parts->detokenizer.add(Detokenizer::ByteLevel{});
    add_bos_ = list_.add_bos.value_or(facts->add_bos);
    return parts;
  }

  void add_merge(Bpe& bpe, std::size_t rank) const {
    const std::string_view merge = list_.merges[rank];
    const std::size_t space = merge.find(' ', 1);
    if (space == merge.npos || merge.find(' ', space + 1) != merge.npos)
      bad_input("{}: merge {} of the tokenizer, {}, is not two tokens with a space between", file_,
                rank, in_quotes(merge));
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    const auto left_id = bpe.vocabulary().find(left), right_id = bpe.vocabulary().find(right);
    if (!left_id || !right_id)
      bad_input("{}: merge {} of the tokenizer names {}, which is not one of its tokens", file_,
                rank, in_quotes(left_id ? right : left));
    if (!bpe.add_merge(*left_id, *right_id, static_cast<std::uint32_t>(rank)))
      bad_input("{}: merge {} of the tokenizer, {}, makes a text that is not one of its tokens",
                file_, rank, in_quotes(merge));
  }

  std::unique_ptr<ListParts> sentence_piece() {
    std::vector<float> scores(list_.tokens.size());
    std::vector<bool> mergeable(list_.tokens.size());
    for (std::size_t id = 0; id < list_.tokens.size(); ++id) {
      const auto& [text, kind, score] = list_.tokens[id];
      mergeable[id] =
          !text.empty() && (kind == TokenKind::Normal || kind == TokenKind::UserDefined);
      if (kind == TokenKind::Byte && !is_byte_name(text))
        bad_input("{}: token {} of the tokenizer, {}, stands for a byte but is not <0xNN>", file_,
                  id, in_quotes(text));
      scores[id] = score;
      if (mergeable[id] && text.size() > kMostPieceBytes)
        bad_input("{}: token {} of the tokenizer has {} bytes, more than the limit of {}", file_,
                  id, text.size(), kMostPieceBytes);
      if (std::isnan(score))
        bad_input("{}: the score of token {} of the tokenizer is not a number", file_, id);
    }
    BpeOptions options;
    options.byte_fallback = options.fuse_unknown = true;
    if (list_.unk) options.unknown = text_of(*list_.unk, "unknown_token_id");
    if (options.unknown && options.unknown->empty()) options.unknown.reset();
    auto parts = std::make_unique<ListParts>(Bpe(std::move(vocabulary_), std::move(options)));
    const std::size_t most = kMergesPerToken * list_.tokens.size() + (1 << 16);
    if (!add_score_merges(parts->bpe, scores, mergeable, most))
      bad_input("{}: the tokens of the tokenizer can be cut into two tokens in more than {} ways",
                file_, most);
    if (list_.space_prefix) parts->normalizer.add(Normalizer::Prepend{std::string(kMark)});
    parts->normalizer.add(Normalizer::Replace{SplitPattern::literal(" "), std::string(kMark)});
    parts->detokenizer.add(Detokenizer::Replace{SplitPattern::literal(kMark), " ", true});
    parts->detokenizer.add(Detokenizer::ByteFallback{});
    parts->detokenizer.add(Detokenizer::Fuse{});
    if (list_.space_prefix) parts->detokenizer.add(Detokenizer::Strip{" ", 1, 0});
    add_bos_ = list_.add_bos.value_or(true);
    return parts;
  }

  void add_tokens(ListParts& parts) const {
    for (std::size_t id = 0; id < list_.tokens.size(); ++id) {
      const TokenList::Token& given = list_.tokens[id];
      const bool control = given.kind == TokenKind::Control;
      if ((!control && given.kind != TokenKind::UserDefined) || given.text.empty()) continue;
      AddedToken token;
      token.content = given.text;
      token.id = static_cast<TokenId>(id);
      token.special = control;
      token.rstrip = list_.strip_right && !keeps_space_after(given.text);
      if (!parts.added.add(std::move(token), std::string(given.text)))
        bad_input("{}: token {} of the tokenizer, {}, has the text of an earlier control token",
                  file_, id, in_quotes(given.text));
    }
  }

  static bool keeps_space_after(std::string_view text) {
    return text == "<unk>" || text == "<s>" || text == "<|endoftext|>";
  }

  std::string text_of(TokenId id, std::string_view key) const {
    if (id < 0 || std::cmp_greater_equal(id, list_.tokens.size()))
      bad_input("{}: {} {} is not one of the {} tokens of the tokenizer", file_, key, id,
                list_.tokens.size());
    return std::string(list_.tokens[static_cast<std::size_t>(id)].text);
  }

  void name_tokens(ListParts& parts) const {
    const auto name = [&](std::optional<TokenId> id, std::string_view key) {
      auto text = id ? std::optional(text_of(*id, key)) : std::nullopt;
      return text && text->empty() ? std::nullopt : text;
    };
    parts.named = {name(list_.bos, "bos_token_id"), name(list_.eos, "eos_token_id"),
                   name(list_.pad, "padding_token_id"), name(list_.unk, "unknown_token_id")};
    parts.post_template = {item(add_bos_, list_.bos),
                           {.text = true, .ids = {}},
                           item(list_.add_eos.value_or(false), list_.eos)};
  }

  static ListParts::TemplateItem item(bool added, std::optional<TokenId> id) {
    ListParts::TemplateItem result;
    if (added && id) result.ids.push_back(*id);
    return result;
  }

  const TokenList& list_;
  std::string_view file_;
  Vocabulary vocabulary_;
  bool add_bos_ = false;
};

}  // namespace

Tokenizer make_tokenizer(const TokenList& list, std::string_view file) {
  return Tokenizer(ListReader(list, file).read());
}

}  // namespace counterbeam
