#include <algorithm>
#include <cctype>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "base/trim.h"
#include "grade/extract.h"
#include "grade/extract_spans.h"
#include "grade/words.h"

namespace counterbeam {
namespace {

using grade::lower_case;

constexpr std::size_t kMaxCompletion = 1 << 17;  // only the end of a longer one is read

std::optional<std::string_view> last_tag(std::string_view text) {
  const std::size_t close = text.rfind("</answer>");
  if (close == text.npos) return std::nullopt;
  const std::size_t open = text.rfind("<answer>", close);
  if (open == text.npos) return std::nullopt;
  return text.substr(open + 8, close - open - 8);
}

// Whether the text between two boxes joins them into one answer: a comma, "and" or a few words, but
// not the end of a sentence.
bool joins(std::string_view gap) {
  const bool named = gap.find('=') != gap.npos;  // "x = [1] or x = [2]"
  if (gap.size() > 60 || gap.find(". ") != gap.npos || gap.find(".\n") != gap.npos ||
      gap.find('\n') != gap.npos || named)
    return named && gap.size() <= 40 &&
           (gap.find("and") != gap.npos || gap.find(" or ") != gap.npos ||
            gap.find("{or}") != gap.npos);
  int words = 0;
  bool connective = gap.find(',') != gap.npos;
  for (std::size_t i = 0; i < gap.size();) {
    if (gap[i] == '\\') {
      ++i;
      while (i < gap.size() && std::isalpha(static_cast<unsigned char>(gap[i]))) ++i;
      continue;
    }
    std::size_t end = i;
    while (end < gap.size() && std::isalpha(static_cast<unsigned char>(gap[end]))) ++end;
    if (end > i) {
      const std::string_view word = gap.substr(i, end - i);
      connective |= word == "and" || word == "or";
      ++words;
    }
    i = std::max(end, i + 1);
  }
  return words <= 4 && (connective || words == 0);
}

struct Boxes {
  std::string joined, last;
  std::size_t end = 0;
  bool open = false;  // the last box is not closed
};

std::optional<Boxes> boxed(std::string_view text, bool to_the_end) {
  for (const std::string_view command : {"\\boxed", "\\fbox"}) {
    std::vector<Box> boxes = find_boxes(text, command, to_the_end);
    if (boxes.empty()) continue;
    Boxes found;
    found.open = !boxes.back().closed;
    found.last = trim(boxes.back().content);
    found.end = boxes.back().end;
    std::size_t first = boxes.size() - 1;
    while (first > 0 &&
           joins(text.substr(boxes[first - 1].end, boxes[first].begin - boxes[first - 1].end)))
      --first;
    for (std::size_t i = first; i < boxes.size(); ++i)
      found.joined += (i > first ? ", " : "") + std::string(trim(boxes[i].content));
    return found;
  }
  return std::nullopt;
}

// The end of the last occurrence of `phrase` in the lower-case text.
std::size_t after_last(const std::string& lower, std::string_view phrase) {
  const std::size_t at = lower.rfind(phrase);
  return at == std::string::npos ? at : at + phrase.size();
}

std::optional<std::string> after_phrases(std::string_view text, const std::string& lower,
                                         std::initializer_list<std::string_view> phrases) {
  std::size_t best = std::string::npos;
  for (const std::string_view phrase : phrases) {
    const std::size_t at = after_last(lower, phrase);
    if (at != std::string::npos && (best == std::string::npos || at > best)) best = at;
  }
  if (best == std::string::npos) return std::nullopt;
  return stated_value(text.substr(best));
}

MathAnswer found(AnswerSource source, std::string text) {
  MathAnswer answer{source, std::string(trim(text)), ""};
  if (answer.text.empty()) return {};
  answer.last_box = answer.text;
  return answer;
}

MathAnswer from_completion(std::string_view text, bool to_the_end) {
  const std::string lower = lower_case(text);
  if (const auto boxes = boxed(text, to_the_end)) {
    // A final answer stated after the last box takes precedence.
    const std::string rest = lower.substr(boxes->end);
    if (const std::size_t at = after_last(rest, "final answer is"); at != std::string::npos)
      if (auto value = delimited_value(text.substr(boxes->end + at)))
        return found(AnswerSource::FinalAnswer, *value);
    if (boxes->open) return {};
    MathAnswer answer = found(AnswerSource::Boxed, boxes->joined);
    if (answer.source != AnswerSource::None) answer.last_box = boxes->last;
    return answer;
  }
  if (auto value =
          after_phrases(text, lower, {"final answer is", "final answer:", "final answer**"}))
    return found(AnswerSource::FinalAnswer, *value);
  if (const std::size_t at = text.rfind("####"); at != text.npos) {
    const std::string_view line = text.substr(at + 4, text.find('\n', at) - at - 4);
    return found(AnswerSource::Hashes, std::string(line));
  }
  if (auto value = after_phrases(
          text, lower,
          {"answer is", "answer:", "answer**:", "answer =", "answer:**", "r\u00e9ponse est",
           "r\u00e9ponse:", "r\u00e9ponse :", "\u7b54\u6848\u662f", "\u7b54\u6848\u4e3a",
           "\u7b54\u6848\uff1a"}))
    return found(AnswerSource::AnswerIs, *value);
  if (auto value = last_value(text)) return found(AnswerSource::LastValue, *value);
  return {};
}

// "So we get 12.": a sentence whose letters could be read as a product of symbols.
bool reads_as_sentence(const std::string& text) {
  const auto is = [&](std::size_t i, int (*kind)(int)) {
    return i < text.size() && kind(static_cast<unsigned char>(text[i])) != 0;
  };
  if (!is(0, std::isupper) || !is(1, std::islower) || !text.ends_with('.')) return false;
  std::size_t at = 1;
  while (is(at, std::islower)) ++at;
  return is(at, std::isblank) && is(at + 1, std::islower) && is(at + 2, std::islower);
}

MathAnswer extract(std::string_view whole, bool gold, Extraction extraction) {
  if (whole.size() > kMaxCompletion) whole = whole.substr(whole.size() - kMaxCompletion);
  const std::string text(trim(without_thinking(whole, extraction)));
  if (const auto tag = last_tag(text)) {
    if (tag->find("\\boxed") != tag->npos) return from_completion(*tag, gold);
    return found(AnswerSource::Tag, std::string(*tag));
  }
  const bool marked = text.find("\\boxed") != text.npos || text.find("\\fbox") != text.npos ||
                      text.find("####") != text.npos;
  if (marked || reads_as_sentence(text) || (!is_formula(text) && is_prose(text))) {
    MathAnswer answer = from_completion(text, gold);
    if (answer.source == AnswerSource::None && !marked) return found(AnswerSource::Bare, text);
    return answer;
  }
  return found(AnswerSource::Bare, text);
}

}  // namespace

std::string_view to_string(Extraction extraction) {
  return extraction == Extraction::Strict ? "strict" : "lenient";
}

Extraction extraction_named(std::string_view name) {
  for (const Extraction known : {Extraction::Strict, Extraction::Lenient})
    if (name == to_string(known)) return known;
  bad_input("extraction {} is not known; known: strict, lenient", in_quotes(name));
}

std::string_view without_thinking(std::string_view text, Extraction extraction) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  const std::size_t close = text.rfind(kClose);
  if (close != text.npos)
    text = text.substr(close + kClose.size());
  else if (const std::size_t open = text.find(kOpen); open != text.npos)
    text =
        extraction == Extraction::Strict ? text.substr(0, open) : text.substr(open + kOpen.size());
  for (const std::string_view marker :
       {"<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|eot_id|>", "</s>"})
    if (const std::size_t at = text.find(marker); at != text.npos) text = text.substr(0, at);
  return text;
}

MathAnswer extract_math(std::string_view text, Extraction extraction) {
  return extract(text, false, extraction);
}

std::string extract_text(std::string_view whole, Extraction extraction) {
  const std::string_view text = trim(without_thinking(whole, extraction));
  if (const auto tag = last_tag(text)) return std::string(trim(*tag));
  const std::vector<Box> boxes = find_boxes(text, "\\boxed", false);
  if (!boxes.empty() && boxes.back().closed) return std::string(trim(boxes.back().content));
  return std::string(text);
}

MathAnswer extract_gold(std::string_view text) {
  return extract(text, true, Extraction::Strict);
}

}  // namespace counterbeam
