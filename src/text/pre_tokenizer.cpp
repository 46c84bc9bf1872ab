#include "text/pre_tokenizer.h"

#include <utility>

#include "base/utf8.h"
#include "text/byte_level.h"

namespace counterbeam {
namespace {

struct ApplyStep {
  Pieces& pieces;
  PreTokenizer::Scratch& scratch;

  std::string_view piece(TextSpan span) const {
    return pieces.text.substr(span.begin, span.end - span.begin);
  }

  // Rewrites every piece: change(piece, starts_the_text, out) appends the new text.
  template <typename Change>
  void rewrite(Change change) const {
    scratch.text.clear();
    std::size_t first_bytes = 0;
    for (TextSpan& span : pieces.spans) {
      const auto begin = static_cast<std::uint32_t>(scratch.text.size());
      const bool starts = span.begin < pieces.first_bytes;
      change(piece(span), starts, scratch.text);
      span = {begin, static_cast<std::uint32_t>(scratch.text.size())};
      if (starts) first_bytes = span.begin + 1;
    }
    std::swap(pieces.own, scratch.text);
    pieces.text = pieces.own;
    pieces.first_bytes = first_bytes;
  }

  void split_by(const SplitPattern& pattern, SplitBehavior behavior, bool invert) const {
    scratch.spans.clear();
    for (const TextSpan span : pieces.spans)
      pattern.split(pieces.text, span, behavior, invert, scratch.spans, scratch.split);
    std::swap(pieces.spans, scratch.spans);
  }

  void operator()(const PreTokenizer::Split& split) const {
    split_by(split.pattern, split.behavior, split.invert);
  }
  void operator()(PreTokenizer::PrefixSpace) const {
    rewrite([](std::string_view text, bool, std::string& out) {
      if (!text.starts_with(' ')) out += ' ';
      out += text;
    });
  }
  void operator()(PreTokenizer::ByteChars) const {
    rewrite([](std::string_view text, bool, std::string& out) { out += bytes_to_chars(text); });
  }
  void operator()(const PreTokenizer::Metaspace& meta) const {
    rewrite([&](std::string_view text, bool starts, std::string& out) {
      const bool wanted = meta.prepend == PreTokenizer::Prepend::Always ||
                          (meta.prepend == PreTokenizer::Prepend::First && starts);
      if (wanted && !text.starts_with(' ') && !text.starts_with(meta.mark)) out += meta.mark;
      for (const char c : text) c == ' ' ? out += meta.mark : out += c;
    });
    if (meta.split) split_by(meta.marks, SplitBehavior::MergedWithNext, false);
  }
  void operator()(PreTokenizer::FixedLength fixed) const {
    scratch.spans.clear();
    for (const TextSpan span : pieces.spans) {
      std::uint32_t begin = span.begin;
      std::size_t count = 0;
      for (std::uint32_t at = span.begin; at < span.end;) {
        unsigned length;
        char_at(pieces.text, at, length);
        at += length;
        if (++count % fixed.length == 0 || at == span.end) {
          scratch.spans.push_back({begin, at});
          begin = at;
        }
      }
    }
    std::swap(pieces.spans, scratch.spans);
  }
};

}  // namespace

bool PreTokenizer::ends_in_bytes() const {
  return !steps_.empty() && std::holds_alternative<ByteChars>(steps_.back());
}

void PreTokenizer::apply(Pieces& pieces, Scratch& scratch) const {
  const std::size_t count = steps_.size() - (ends_in_bytes() ? 1 : 0);
  for (std::size_t i = 0; i < count; ++i) std::visit(ApplyStep{pieces, scratch}, steps_[i]);
}

}  // namespace counterbeam
