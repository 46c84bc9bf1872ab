#include "text/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/tokenizer_parts.h"

namespace counterbeam {
namespace {

constexpr std::size_t kMaxText = std::size_t{1} << 30;
constexpr std::size_t kSpareScratches = 16;

}  // namespace

std::unique_ptr<EncodeScratch> ScratchPool::take() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return std::make_unique<EncodeScratch>();
  auto scratch = std::move(spare_.back());
  spare_.pop_back();
  return scratch;
}

void ScratchPool::give_back(std::unique_ptr<EncodeScratch> scratch) {
  const std::lock_guard lock(mutex_);
  if (spare_.size() < kSpareScratches) spare_.push_back(std::move(scratch));
}

// Encodes one text.
struct Tokenizer::Encoder {
  const Parts& parts;
  EncodeScratch& scratch;
  std::vector<TokenId>& ids;

  void text(std::string_view whole, const std::vector<TextSpan>& untrusted) {
    scratch.raw_parts.clear();
    parts.added.cut(whole, false, untrusted, scratch.raw_parts);
    for (const AddedTokens::Part& part : scratch.raw_parts) {
      if (part.id)
        ids.push_back(*part.id);
      else
        plain(whole, part.span, untrusted);
    }
  }

  void plain(std::string_view whole, TextSpan span, const std::vector<TextSpan>& untrusted) {
    const std::string_view own = whole.substr(span.begin, span.end - span.begin);
    unsigned length = 0;
    if (span.begin == 0 && !own.empty()) char_at(own, 0, length);
    if (parts.normalizer.keeps(own)) return normal(own, length, shifted(untrusted, span));
    StagedText staged{std::string(own), length};
    parts.normalizer.apply(staged, scratch.pre_tokenizer.split);
    // A normalizer that rewrites loses positions, so then the whole piece counts as untrusted.
    std::vector<TextSpan> doubt = shifted(untrusted, span);
    if (!doubt.empty()) doubt = {{0, static_cast<std::uint32_t>(staged.text.size())}};
    normal(staged.text, staged.first_bytes, doubt);
  }

  static std::vector<TextSpan> shifted(const std::vector<TextSpan>& spans, TextSpan window) {
    std::vector<TextSpan> result;
    for (const TextSpan& span : spans) {
      const std::uint32_t begin = std::max(span.begin, window.begin);
      const std::uint32_t end = std::min(span.end, window.end);
      if (begin < end) result.push_back({begin - window.begin, end - window.begin});
    }
    return result;
  }

  void normal(std::string_view own, std::size_t first_bytes,
              const std::vector<TextSpan>& untrusted) {
    scratch.normal_parts.clear();
    parts.added.cut(own, true, untrusted, scratch.normal_parts);
    const bool bytes = parts.pre_tokenizer.ends_in_bytes();
    for (const AddedTokens::Part& part : scratch.normal_parts) {
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      Pieces& pieces = scratch.pieces;
      pieces.text = own.substr(part.span.begin, part.span.end - part.span.begin);
      pieces.spans.assign({{0, static_cast<std::uint32_t>(pieces.text.size())}});
      pieces.first_bytes = first_bytes > part.span.begin ? first_bytes - part.span.begin : 0;
      parts.pre_tokenizer.apply(pieces, scratch.pre_tokenizer);
      for (const TextSpan span : pieces.spans)
        parts.bpe.encode(pieces.text.substr(span.begin, span.end - span.begin), bytes, ids,
                         scratch.bpe);
    }
  }
};

void Tokenizer::Parts::count_tokens() {
  const Vocabulary& vocabulary = bpe.vocabulary();
  size = vocabulary.size();
  id_limit = vocabulary.id_limit();
  for (const AddedToken& token : added.all()) {
    if (!vocabulary.find(token.content)) ++size;
    id_limit = std::max(id_limit, token.id + 1);
  }
}

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode_text(std::string_view text,
                                            const std::vector<TextSpan>& untrusted,
                                            bool add_special_tokens) const {
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 4);
  auto scratch = parts_->pool.take();
  std::vector<TokenId> own;
  Encoder{*parts_, *scratch, own}.text(text, untrusted);
  parts_->pool.give_back(std::move(scratch));
  for (const auto& item : parts_->post_template) {
    if (item.text)
      ids.insert(ids.end(), own.begin(), own.end());
    else if (add_special_tokens)
      ids.insert(ids.end(), item.ids.begin(), item.ids.end());
  }
  return ids;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > kMaxText)
    bad_input("a text of {} bytes is too long to encode at once; the limit is {}", text.size(),
              kMaxText);
  std::string valid;
  if (!is_valid_utf8(text)) text = valid = to_valid_utf8(text);
  std::vector<TextSpan> untrusted;
  if (!options.special_in_text && !text.empty())
    untrusted.push_back({0, static_cast<std::uint32_t>(text.size())});
  return encode_text(text, untrusted, options.add_special_tokens);
}

std::vector<TokenId> Tokenizer::encode_parts(std::span<const PromptPart> parts) const {
  std::string whole;
  std::vector<TextSpan> untrusted;
  for (const PromptPart& part : parts) {
    const std::size_t begin = whole.size();
    whole += to_valid_utf8(part.text);
    if (whole.size() > kMaxText)
      bad_input("a prompt of more than {} bytes is too long to encode", kMaxText);
    if (!part.trusted && whole.size() > begin)
      untrusted.push_back(
          {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(whole.size())});
  }
  return encode_text(whole, untrusted, false);
}

std::optional<std::string_view> Tokenizer::decoded_text(TokenId id, bool skip_special) const {
  auto text = parts_->added.text(id);
  if (!text) text = parts_->bpe.vocabulary().text(id);
  if (text && skip_special && parts_->added.is_special(*text)) return std::nullopt;
  return text;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  DetokenizerStream stream(parts_->detokenizer);
  for (const TokenId id : ids)
    if (const auto text = decoded_text(id, options.skip_special)) stream.push(*text);
  stream.finish();
  return stream.take();
}

std::string Tokenizer::token_bytes(TokenId id) const {
  if (const auto added = parts_->added.text(id)) return std::string(*added);
  const auto text = parts_->bpe.vocabulary().text(id);
  if (!text) return "";
  for (const Detokenizer::Step& step : parts_->detokenizer.steps()) {
    std::string bytes;
    if (std::holds_alternative<Detokenizer::ByteLevel>(step)) {
      append_token_bytes(*text, bytes);
      return bytes;
    }
    const auto byte = fallback_byte(*text);
    if (byte && std::holds_alternative<Detokenizer::ByteFallback>(step))
      return std::string(1, static_cast<char>(*byte));
  }
  // After another token, so that nothing is cut at the beginning of the text.
  DetokenizerStream stream(parts_->detokenizer);
  stream.push("a");
  stream.push(*text);
  stream.finish();
  std::string after = stream.take();
  return after.starts_with('a') ? after.substr(1) : decode({&id, 1});
}

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  if (const AddedToken* added = parts_->added.by_content(token)) return added->id;
  return parts_->bpe.vocabulary().find(token);
}

std::optional<std::string_view> Tokenizer::token_text(TokenId id) const {
  if (const AddedToken* added = parts_->added.by_id(id)) return added->content;
  return parts_->bpe.vocabulary().text(id);
}

bool Tokenizer::is_special(TokenId id) const {
  const AddedToken* added = parts_->added.by_id(id);
  return added && added->special;
}

std::size_t Tokenizer::size() const {
  return parts_->size;
}

TokenId Tokenizer::id_limit() const {
  return parts_->id_limit;
}

const NamedTokens& Tokenizer::named() const {
  return parts_->named;
}

const std::vector<std::string>& Tokenizer::warnings() const {
  return parts_->warnings;
}

const std::vector<AddedToken>& Tokenizer::added_tokens() const {
  return parts_->added.all();
}

IncrementalDecoder::IncrementalDecoder(const Tokenizer& tokenizer, DecodeOptions options)
    : tokenizer_(&tokenizer), options_(options), stream_(tokenizer.parts_->detokenizer) {}

std::string IncrementalDecoder::push(TokenId id) {
  if (const auto text = tokenizer_->decoded_text(id, options_.skip_special)) stream_.push(*text);
  return stream_.take();
}

std::string IncrementalDecoder::finish() {
  stream_.finish();
  std::string rest = stream_.take();
  stream_ = DetokenizerStream(tokenizer_->parts_->detokenizer);
  return rest;
}

}  // namespace counterbeam
