#include "search/paraphrase.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel_for.h"
#include "base/trim.h"
#include "base/utf8.h"
#include "search/answer.h"
#include "search/method_strings.h"

namespace counterbeam {
namespace {

constexpr std::string_view kPositive = "Positive:", kNegative = "Negative:";
// Answers long enough for a model that thinks first; varied, so that requests differ.
constexpr std::string_view kMethod = "sample:temperature=0.8:max-tokens=1024";
// Above the numbers of problems, so that no draw of an evaluation has the same key.
constexpr std::uint32_t kFirstRequest = 1u << 31;

// What follows a closed <think> block that opens the output.
std::string_view without_thoughts(std::string_view output) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  const std::string_view text = trim(output, kAsciiSpace);
  if (!text.starts_with(kOpen)) return text;
  const auto close = text.find(kClose);
  return close == text.npos ? text : trim(text.substr(close + kClose.size()), kAsciiSpace);
}

std::vector<std::string_view> filled_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (const auto line = trim(text.substr(0, end), kAsciiSpace); !line.empty())
      lines.push_back(line);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

// Lower case, white space as single spaces.
std::string folded_text(std::string_view text) {
  std::string folded;
  for (const char c : text) {
    const bool space = kAsciiSpace.find(c) != kAsciiSpace.npos;
    if (space && (folded.empty() || folded.back() == ' ')) continue;
    folded += space ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  while (!folded.empty() && folded.back() == ' ') folded.pop_back();
  return folded;
}

bool same_pair(const ContextPair& a, const ContextPair& b) {
  return folded_text(a.positive) == folded_text(b.positive) &&
         folded_text(a.negative) == folded_text(b.negative);
}

std::string fault_of(std::string_view text) {
  if (text.empty()) return "a text is empty";
  if (text.size() > kLongestParaphrase)
    return fmt::format("a text is longer than {} bytes", kLongestParaphrase);
  if (!is_valid_utf8(text) || text.find(to_utf8(kReplacement)) != text.npos)
    return "a text holds characters that cannot be decoded";
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return "a text holds control characters";
  return "";
}

std::string free_name(const ContextPair& source, std::span<const ContextPair> known) {
  for (int number = 1;; ++number) {
    std::string name = fmt::format("{}.{}", source.name, number);
    if (std::none_of(known.begin(), known.end(),
                     [&](const ContextPair& pair) { return pair.name == name; }))
      return name;
  }
}

}  // namespace

std::string paraphrase_request(const ContextPair& pair) {
  return fmt::format(
      "Here are two phrases. The first announces a good response, the second a bad one.\n\n"
      "{} {}\n{} {}\n\n"
      "Reword both of them: other words, the same meaning, at most one sentence each. Answer with "
      "two lines in the same form, the first beginning with \"{}\" and the second with \"{}\", "
      "and with nothing else.",
      kPositive, pair.positive, kNegative, pair.negative, kPositive, kNegative);
}

ParsedParaphrase parse_paraphrase(std::string_view output, std::span<const ContextPair> known) {
  const auto drop = [](std::string cause) { return ParsedParaphrase{{}, std::move(cause)}; };
  const auto lines = filled_lines(without_thoughts(output));
  if (lines.size() != 2 || !lines[0].starts_with(kPositive) || !lines[1].starts_with(kNegative))
    return drop("it is not a line \"Positive: ...\" and a line \"Negative: ...\"");
  const ContextPair pair = {"", std::string(trim(lines[0].substr(kPositive.size()), kAsciiSpace)),
                            std::string(trim(lines[1].substr(kNegative.size()), kAsciiSpace))};
  for (const std::string& text : {pair.positive, pair.negative})
    if (const std::string fault = fault_of(text); !fault.empty()) return drop(fault);
  if (folded_text(pair.positive) == folded_text(pair.negative))
    return drop("both texts are the same");
  for (const ContextPair& other : known)
    if (same_pair(pair, other)) return drop("it repeats a pair that is there already");
  return {pair, ""};
}

Paraphrases write_paraphrases(const LoadedModel& model, std::span<const ContextPair> sources,
                              std::span<const ContextPair> known,
                              const ParaphraseOptions& options) {
  CB_CHECK(!sources.empty());
  if (!model.has_chat_template())
    bad_input(
        "--paraphrases: {} has no chat template, so it cannot be asked to write; leave the option "
        "out, or give pairs of your own by --contexts @FILE",
        model.name());
  const Settings settings = parse_method(kMethod);
  std::vector<ContextPair> taken(known.begin(), known.end());
  Paraphrases result;
  while (static_cast<int>(result.pairs.size()) < options.wanted &&
         result.requests < options.most_requests) {
    // As many requests as pairs are missing, so that the number does not depend on concurrency.
    const int first = result.requests;
    const int count = std::min(options.wanted - static_cast<int>(result.pairs.size()),
                               options.most_requests - first);
    const auto source_of = [&](int request) -> const ContextPair& {
      return sources[static_cast<std::size_t>(request) % sources.size()];
    };
    std::vector<std::string> outputs(static_cast<std::size_t>(count));
    parallel_for(outputs.size(), options.concurrency, [&](std::size_t i) {
      const int request = first + static_cast<int>(i);
      Question question;
      question.text = paraphrase_request(source_of(request));
      question.template_arguments = options.template_arguments;
      AnswerOptions asking;
      asking.seed = options.seed;
      asking.question = kFirstRequest + static_cast<std::uint32_t>(request);
      asking.cancellation = options.cancellation;
      outputs[i] = answer_question(model, question, settings, asking).text;
    });
    result.requests += count;
    for (int i = 0; i < count; ++i) {
      const std::string& output = outputs[static_cast<std::size_t>(i)];
      ParsedParaphrase parsed = parse_paraphrase(output, taken);
      if (!parsed.pair) {
        result.dropped.push_back({parsed.cause, output});
        continue;
      }
      parsed.pair->name = free_name(source_of(first + i), taken);
      taken.push_back(*parsed.pair);
      result.pairs.push_back(*parsed.pair);
    }
  }
  return result;
}

}  // namespace counterbeam
