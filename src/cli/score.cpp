// `score`: what the model thinks of a given answer, token by token, under the
// three prompts.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/loading.h"
#include "search/methods.h"
#include "search/score_answer.h"

namespace counterbeam::cli {
namespace {

struct Options {
  std::string question, answer, system;
  bool raw = false;
  bool end = false;
  Settings settings = default_settings(default_method());
};

// A terminal colour for a reward: green above zero, red below, stronger with
// size.
std::string colour(double reward) {
  constexpr int kGreens[] = {0, 22, 28, 34};
  constexpr int kReds[] = {0, 52, 88, 124};
  const int level = std::min(3, static_cast<int>(std::abs(reward) * 4));
  if (level == 0) return "";
  return fmt::format("\033[48;5;{}m\033[97m", (reward > 0 ? kGreens : kReds)[level]);
}

Json scored_json(const Candidate& scored, const LoadedModel& model) {
  const bool contrast = !scored.logprobs.positive.empty();
  Json tokens = Json::array();
  for (std::size_t i = 0; i < scored.tokens.size(); ++i) {
    Json token = {{"id", scored.tokens[i]},
                  {"text", model.token_text(scored.tokens[i])},
                  {"base", scored.logprobs.base[i]}};
    if (contrast) {
      token["positive"] = scored.logprobs.positive[i];
      token["negative"] = scored.logprobs.negative[i];
      token["reward"] = scored.logprobs.positive[i] - scored.logprobs.negative[i];
    }
    tokens.push_back(std::move(token));
  }
  return {{"score", scored.score},
          {"base", scored.sums.base},
          {"positive", scored.sums.positive},
          {"negative", scored.sums.negative},
          {"reward", scored.sums.reward()},
          {"tokens", std::move(tokens)}};
}

void print_table(const Candidate& scored, const LoadedModel& model, double steer) {
  const bool colours = ::isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  const bool contrast = !scored.logprobs.positive.empty();
  fmt::print("{:>6} {:>9} {:>9} {:>9} {:>9}  {}\n", "token", "base", "positive", "negative",
             "reward", "text");
  for (std::size_t i = 0; i < scored.tokens.size(); ++i) {
    const std::string text = Json(model.token_text(scored.tokens[i]))
                                 .dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!contrast) {
      fmt::print("{:>6} {:>9.4f} {:>9} {:>9} {:>9}  {}\n", scored.tokens[i],
                 scored.logprobs.base[i], "-", "-", "-", text);
      continue;
    }
    const double reward = scored.logprobs.positive[i] - scored.logprobs.negative[i];
    const std::string paint = colours ? colour(reward) : "";
    fmt::print("{:>6} {:>9.4f} {:>9.4f} {:>9.4f} {:>+9.4f}  {}{}{}\n", scored.tokens[i],
               scored.logprobs.base[i], scored.logprobs.positive[i], scored.logprobs.negative[i],
               reward, paint, text, paint.empty() ? "" : "\033[0m");
  }
  fmt::print("{:>6} {:>9.4f} {:>9.4f} {:>9.4f} {:>+9.4f}  sums\n", scored.tokens.size(),
             scored.sums.base, scored.sums.positive, scored.sums.negative, scored.sums.reward());
  fmt::print("score {:.6f} at 1/alpha = {}\n", scored.score, steer);
}

void run(const Options& options, const Globals& globals) {
  validate(options.settings);
  const LoadedModel model = LoadedModel::load(globals.model, load_options(globals));
  const Candidate scored =
      score_text(model, {.text = options.question, .system = options.system, .raw = options.raw},
                 options.answer, {options.settings, options.end});
  if (globals.json)
    fmt::print("{}\n", to_line(scored_json(scored, model)));
  else
    print_table(scored, model, options.settings.steer);
}

}  // namespace

void add_score(CLI::App& app, const Globals& globals) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("score",
                                         "Per token of a given answer: base, positive "
                                         "and negative log-prob, and the reward");
  command->add_option("--question", options->question, "The question")->required();
  command->add_option("--answer", options->answer, "The answer to judge")->required();
  command->add_option("--system", options->system, "System message");
  command->add_flag("--raw", options->raw, "No chat template: the answer continues the question");
  command->add_flag("--end", options->end, "Count the end-of-sequence token too");
  command
      ->add_option("--contexts", options->settings.contexts,
                   "Context pair by name, neutral or none")
      ->capture_default_str();
  command->add_option("--positive", options->settings.positive, "Your own positive context");
  command->add_option("--negative", options->settings.negative, "Your own negative context");
  command->add_option("--joiner", options->settings.joiner, "Between question and context");
  command->add_option("--steer", options->settings.steer, "Steering strength 1/alpha of the score")
      ->capture_default_str();
  command->callback([options, &globals] { run(*options, globals); });
}

}  // namespace counterbeam::cli
