#include "eval/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/page.h"

namespace counterbeam {
namespace {

// The head shows how an answer begins, the tail holds its result.
std::string clipped(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const auto boundary = [&](std::size_t at) {  // do not cut inside a character
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    return at;
  };
  const std::size_t head = boundary(limit / 3), tail = boundary(text.size() - limit / 3 * 2);
  return fmt::format("{}\n[... {} bytes are left out here ...]\n{}", text.substr(0, head),
                     tail - head, text.substr(tail));
}

// What stands in the table: enough to recognise an answer.
constexpr std::size_t kExtracted = 160;

std::string shortened(const std::string& text) {
  if (text.size() <= kExtracted) return text;
  std::size_t end = kExtracted;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "\u2026";
}

// The longest text that keeps all answers together within what a browser opens in a second or two.
std::size_t text_limit(const std::vector<Sample>& samples) {
  constexpr std::size_t kWhole = 48u << 20;
  for (const std::size_t limit : {6000, 3000, 1500}) {
    std::size_t total = 0;
    for (const Sample& sample : samples) total += std::min(sample.answer.size(), limit);
    if (total <= kWhole) return limit;
  }
  return 900;
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
Json to_texts(const std::vector<const Sample*>& samples, std::size_t limit) {
  Json texts = Json::array();
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto [place, fresh] = places.emplace(samples[i]->answer, i);
    if (fresh)
      texts.push_back(clipped(samples[i]->answer, limit));
    else
      texts.push_back(place->second);
  }
  return texts;
}

}  // namespace

ReportData report_data(const std::vector<Sample>& samples,
                       const std::vector<ProblemText>& problems) {
  const std::size_t limit = text_limit(samples);
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
    piece.push_back(to_texts(question.samples, limit));
    if (piece.size() < kQuestionsPerPiece) continue;
    data.pieces.push_back(script_json(piece));
    piece.clear();
  }
  if (!piece.empty()) data.pieces.push_back(script_json(piece));
  data.questions = script_json(questions);
  return data;
}

}  // namespace counterbeam
