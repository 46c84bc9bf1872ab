// The one path from a question to its answer: messages and settings become prompts, a method
// searches with them, and the answer is chosen, by vote too. The command line, evaluations, the
// server and the C++ interface all use it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/loaded_model.h"
#include "search/search.h"
#include "search/stops.h"

namespace counterbeam {

struct AnswerOptions {
  std::uint64_t seed = 0;
  std::uint32_t question = 0;  // number of the question in a series; keys the draws
  const Cancellation* cancellation = nullptr;
  bool keep_partial = false;  // when cancelled after the first block, the best answer so far
  bool keep_traces = false;   // every search leaves its trace, so samples are not shared
  std::function<void(const BlockReport&)> on_block{};
  // Where the method follows a single answer: every token as it is drawn (Task::on_token).
  std::function<void(const DrawnToken&)> on_token{};
  int top_logprobs = 0;  // likeliest tokens to keep per token: TokenLogprobs::top
  // For methods that vote: the answer that a text gives (nullopt: it abstains), and whether two
  // answers are the same. Default: the final mathematical answer as graders read it, compared by
  // value. With a `vote` of your own and no `same_vote`: equal texts.
  std::function<std::optional<std::string>(std::string_view)> vote{};
  std::function<bool(std::string_view, std::string_view)> same_vote{};
  std::function<std::vector<double>(std::span<const Candidate* const>)> scorer{};
};

struct AnsweredQuestion {
  std::string text;     // of the chosen answer: Stops::text()
  SearchResult result;  // its pool is not empty
};

// What ends an answer to this question: the model's end tokens and the question's own stops. Throws
// an Error if a stop text is empty or a stop id is not a token of the model.
Stops stops_of(const LoadedModel& model, const Question& question);

AnsweredQuestion answer_question(const LoadedModel& model, const Question& question,
                                 const Settings& settings, const AnswerOptions& options = {});

// The same question by several settings. Settings that share_samples() draw their samples once,
// unless traces are kept; every answer and every cost is what answer_question gives alone.
std::vector<AnsweredQuestion> answer_question(const LoadedModel& model, const Question& question,
                                              std::span<const Settings> settings,
                                              const AnswerOptions& options = {});

// True where two settings differ only in how finished samples are ranked.
bool share_samples(const Settings& a, const Settings& b);

}  // namespace counterbeam
