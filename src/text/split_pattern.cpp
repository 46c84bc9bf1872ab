#include "text/split_pattern.h"

#include "base/error.h"
#include "base/quote.h"
#include "base/unicode.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

using Part = SplitPattern::Scratch::Part;

bool is_kind(char32_t point, CharKind kind) {
  switch (kind) {
    case CharKind::Numeric:
      return is_in(point, kNumbers);
    case CharKind::WhiteSpace:
      return is_white_space(point);
    case CharKind::Punctuation:
      return point < 0x80 ? is_in(point, kPunctuation | kSymbols) : is_punctuation_of_8(point);
  }
  return false;
}

void put(TextSpan span, std::vector<TextSpan>& pieces) {
  if (span.begin < span.end) pieces.push_back(span);
}

// MergedWithPrevious: joins a match to the part before it.
void merge_with_previous(const std::vector<Part>& parts, std::vector<TextSpan>& pieces) {
  bool after_match = false;
  std::optional<TextSpan> open;
  for (const Part& part : parts) {
    if (part.match && !after_match && open) {
      open->end = part.span.end;
    } else {
      if (open) put(*open, pieces);
      open = part.span;
    }
    after_match = part.match;
  }
  if (open) put(*open, pieces);
}

// MergedWithNext: joins a match to the part after it. Works backwards, as Hugging Face's tokenizers
// do: of several consecutive matches only the last is joined.
void merge_with_next(const std::vector<Part>& parts, std::vector<TextSpan>& pieces) {
  bool before_match = false;
  std::vector<TextSpan> backwards;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->match && !before_match && !backwards.empty())
      backwards.back().begin = part->span.begin;
    else
      backwards.push_back(part->span);
    before_match = part->match;
  }
  for (auto span = backwards.rbegin(); span != backwards.rend(); ++span) put(*span, pieces);
}

// Contiguous: joins consecutive matches, and consecutive non-matches.
void merge_contiguous(const std::vector<Part>& parts, std::vector<TextSpan>& pieces) {
  bool last = false;
  std::optional<TextSpan> open;
  for (const Part& part : parts) {
    if (part.match == last && open) {
      open->end = part.span.end;
    } else {
      if (open) put(*open, pieces);
      open = part.span;
    }
    last = part.match;
  }
  if (open) put(*open, pieces);
}

}  // namespace

SplitPattern::SplitPattern(std::string regex)
    : source_(std::move(regex)),
      matcher_(Regex(source_)),
      scanner_(PieceScanner::for_pattern(source_)) {}

SplitPattern SplitPattern::literal(std::string_view text) {
  return SplitPattern(std::string(text), Regex::literal(text));
}

void SplitPattern::find(std::string_view text, Scratch& scratch) const {
  scratch.matches.clear();
  if (const auto* regex = std::get_if<Regex>(&matcher_)) {
    if (text.empty()) return;
    try {
      regex->find_all(text, scratch.matches, scratch.regex);
    } catch (const RegexProblem& problem) {
      bad_input("tokenizer.json: the pattern {} cannot be used: {}", in_quotes(source_),
                problem.what);
    }
    return;
  }
  const CharKind kind = std::get<CharKind>(matcher_);
  for (std::uint32_t at = 0; at < text.size();) {
    unsigned length;
    if (is_kind(char_at(text, at, length), kind)) scratch.matches.push_back({at, at + length});
    at += length;
  }
}

void SplitPattern::split(std::string_view text, TextSpan span, SplitBehavior behavior, bool invert,
                         std::vector<TextSpan>& pieces, Scratch& scratch) const {
  if (scanner_ && behavior == SplitBehavior::Isolated)
    return scanner_->scan(text, span.begin, span.end, pieces);
  find(text.substr(span.begin, span.end - span.begin), scratch);
  scratch.parts.clear();
  std::uint32_t at = span.begin;
  for (const TextSpan& match : scratch.matches) {
    const TextSpan found{span.begin + match.begin, span.begin + match.end};
    if (at != found.begin) scratch.parts.push_back({{at, found.begin}, invert});
    scratch.parts.push_back({found, !invert});
    at = found.end;
  }
  if (at != span.end) scratch.parts.push_back({{at, span.end}, invert});
  switch (behavior) {
    case SplitBehavior::Removed:
      for (const Part& part : scratch.parts)
        if (!part.match) put(part.span, pieces);
      return;
    case SplitBehavior::Isolated:
      for (const Part& part : scratch.parts) put(part.span, pieces);
      return;
    case SplitBehavior::MergedWithPrevious:
      return merge_with_previous(scratch.parts, pieces);
    case SplitBehavior::MergedWithNext:
      return merge_with_next(scratch.parts, pieces);
    case SplitBehavior::Contiguous:
      return merge_contiguous(scratch.parts, pieces);
  }
}

std::string SplitPattern::replace(std::string_view text, std::string_view by,
                                  Scratch& scratch) const {
  find(text, scratch);
  std::string out;
  std::size_t at = 0;
  for (const TextSpan& match : scratch.matches) {
    out.append(text, at, match.begin - at).append(by);
    at = match.end;
  }
  return out.append(text, at);
}

}  // namespace counterbeam
