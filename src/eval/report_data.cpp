#include "eval/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/page.h"

namespace counterbeam {
namespace {

// The part of a text that is left out, and what stands there.
struct Gap {
  std::size_t from, to;  // bytes; both are the size of the text where it is shown as a whole
  std::string note;
};

// The head shows how an answer begins, the tail holds its result.
Gap gap_of(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return {text.size(), text.size(), ""};
  const auto boundary = [&](std::size_t at) {  // do not cut inside a character
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    return at;
  };
  const std::size_t head = boundary(limit / 3), tail = boundary(text.size() - limit / 3 * 2);
  return {head, tail, fmt::format("\n[... {} bytes are left out here ...]\n", tail - head)};
}

std::string clipped(const std::string& text, std::size_t limit) {
  const Gap gap = gap_of(text, limit);
  return text.substr(0, gap.from) + gap.note + text.substr(gap.to);
}

// The length of UTF-8 text as JavaScript counts it.
std::size_t utf16_units(std::string_view text) {
  std::size_t units = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    units += ((byte & 0xC0) != 0x80) + (byte >= 0xF0);
  }
  return units;
}

// [lengths, rewards] of the tokens in the clipped text.
std::pair<Json, Json> token_rewards(const Sample& sample, std::size_t limit) {
  const std::string_view text = sample.answer;
  const Gap gap = gap_of(sample.answer, limit);
  Json lengths = Json::array(), rewards = Json::array();
  const auto add = [&](std::string_view part, const Json& reward) {
    lengths.push_back(utf16_units(part));
    rewards.push_back(reward);
  };
  std::size_t at = 0;
  bool noted = gap.note.empty();
  for (std::size_t i = 0; i < sample.token_bytes.size(); ++i) {
    const std::size_t end = at + static_cast<std::size_t>(sample.token_bytes[i]);
    if (at < gap.from) add(text.substr(at, std::min(end, gap.from) - at), sample.token_rewards[i]);
    if (end > gap.from && !std::exchange(noted, true)) add(gap.note, nullptr);
    if (end > gap.to)
      add(text.substr(std::max(at, gap.to), end - std::max(at, gap.to)), sample.token_rewards[i]);
    at = end;
  }
  return {std::move(lengths), std::move(rewards)};
}

// What stands in the table: enough to recognise an answer.
constexpr std::size_t kExtracted = 160;

std::string shortened(const std::string& text) {
  if (text.size() <= kExtracted) return text;
  std::size_t end = kExtracted;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "\u2026";
}

// What is shown of an answer.
struct Shown {
  std::size_t bytes;  // of its text
  bool rewards;       // of its tokens
};

// As much as keeps all answers together within what a browser opens in a second or two.
Shown most_shown(const std::vector<Sample>& samples) {
  constexpr std::size_t kWhole = 48u << 20, kPerToken = 6;
  for (const Shown shown : {Shown{6000, true}, {6000, false}, {3000, false}, {1500, false}}) {
    std::size_t total = 0;
    for (const Sample& sample : samples) {
      total += std::min(sample.answer.size(), shown.bytes);
      if (shown.rewards) total += kPerToken * sample.token_bytes.size();
    }
    if (total <= kWhole) return shown;
  }
  return {900, false};
}

using ProblemKey = std::pair<std::string_view, std::string_view>;  // task and id

struct AskedQuestion {
  const Sample* first;
  std::vector<const Sample*> samples;
};

std::vector<AskedQuestion> by_question(const std::vector<Sample>& samples) {
  std::vector<AskedQuestion> questions;
  std::map<ProblemKey, std::size_t> places;
  for (const Sample& sample : samples) {
    const auto [place, fresh] =
        places.emplace(ProblemKey(sample.task, sample.id), questions.size());
    if (fresh) questions.push_back({&sample, {}});
    questions[place->second].samples.push_back(&sample);
  }
  return questions;
}

Json to_row(const Sample& sample, std::size_t method) {
  const int flags = sample.correct + 2 * sample.correct_strict + 4 * sample.truncated +
                    8 * sample.extracted.empty();
  Json row = {method,
              sample.sample,
              flags,
              sample.score,
              sample.answer_tokens,
              sample.generated_tokens,
              sample.scored_tokens,
              shortened(sample.extracted)};
  Json rest = Json::object();
  if (!sample.error.empty()) rest["error"] = sample.error;
  if (!sample.state.empty()) rest["state"] = sample.state;
  if (!sample.trace.empty()) rest["trace"] = sample.trace;
  if (!rest.empty()) row.push_back(std::move(rest));
  return row;
}

// Methods that choose among the same samples often give the same answer; it is written once.
Json to_answers(const std::vector<const Sample*>& samples, Shown shown) {
  Json answers = Json::array();
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = *samples[i];
    const auto [place, fresh] = places.emplace(sample.answer, i);
    Json text = fresh ? Json(clipped(sample.answer, shown.bytes)) : Json(place->second);
    if (shown.rewards && !sample.token_bytes.empty()) {
      auto [lengths, rewards] = token_rewards(sample, shown.bytes);
      text = Json::array({std::move(text), std::move(lengths), std::move(rewards)});
    }
    answers.push_back(std::move(text));
  }
  return answers;
}

}  // namespace

ReportData report_data(const std::vector<Sample>& samples,
                       const std::vector<ProblemText>& problems) {
  const Shown shown = most_shown(samples);
  std::map<ProblemKey, const ProblemText*> texts;
  for (const ProblemText& problem : problems) texts[{problem.task, problem.id}] = &problem;
  ReportData data;
  std::map<std::string_view, std::size_t> methods;
  for (const Sample& sample : samples)
    if (methods.emplace(sample.method, methods.size()).second)
      data.methods.push_back(sample.method);
  Json questions = Json::array(), piece = Json::array();
  for (const AskedQuestion& question : by_question(samples)) {
    Json entry = {{"task", question.first->task}, {"id", question.first->id}};
    if (const auto text = texts.find({question.first->task, question.first->id});
        text != texts.end()) {
      entry["question"] = clipped(text->second->question, 6000);
      entry["gold"] = clipped(text->second->gold, 6000);
    }
    for (const Sample* sample : question.samples)
      entry["samples"].push_back(to_row(*sample, methods[sample->method]));
    questions.push_back(std::move(entry));
    piece.push_back(to_answers(question.samples, shown));
    if (piece.size() < kQuestionsPerPiece) continue;
    data.pieces.push_back(script_json(piece));
    piece.clear();
  }
  if (!piece.empty()) data.pieces.push_back(script_json(piece));
  data.questions = script_json(questions);
  return data;
}

}  // namespace counterbeam
