// `score`: what the model thinks of a given answer, token by token, under the
// three prompts.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "cli/commands.h"
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
  print_result("{:>6} {:>9} {:>9} {:>9} {:>9}  {}\n", "token", "base", "positive", "negative",
               "reward", "text");
  for (std::size_t i = 0; i < scored.tokens.size(); ++i) {
    const std::string text = Json(model.token_text(scored.tokens[i]))
                                 .dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!contrast) {
      print_result("{:>6} {:>9.4f} {:>9} {:>9} {:>9}  {}\n", scored.tokens[i],
                   scored.logprobs.base[i], "-", "-", "-", text);
      continue;
    }
    const double reward = scored.logprobs.positive[i] - scored.logprobs.negative[i];
    const std::string paint = colours ? colour(reward) : "";
    print_result("{:>6} {:>9.4f} {:>9.4f} {:>9.4f} {:>+9.4f}  {}{}{}\n", scored.tokens[i],
                 scored.logprobs.base[i], scored.logprobs.positive[i], scored.logprobs.negative[i],
                 reward, paint, text, paint.empty() ? "" : "\033[0m");
  }
  print_result("{:>6} {:>9.4f} {:>9.4f} {:>9.4f} {:>+9.4f}  sums\n", scored.tokens.size(),
               scored.sums.base, scored.sums.positive, scored.sums.negative, scored.sums.reward());
  print_result("score {:.6f} at 1/alpha = {}\n", scored.score, steer);
}

void run(const Options& options, const Globals& globals) {
  validate(options.settings);
  const LoadedModel model = LoadedModel::load(globals.model, load_options(globals));
  const Candidate scored =
      score_text(model, {.text = options.question, .system = options.system, .raw = options.raw},
                 options.answer, {options.settings, options.end});
  if (globals.json)
    print_result("{}\n", to_line(scored_json(scored, model)));
  else
    print_table(scored, model, options.settings.steer);
}

}  // namespace

Command score_command(const Globals& globals) {
  const auto options = std::make_shared<Options>();
  return {
      .name = "score",
      .summary =
          "Score a given answer: for each token its base, positive and negative "
          "log-probability and the reward",
      .options = {{.name = "--question",
                   .value = text(options->question),
                   .help = "The question",
                   .required = true},
                  {.name = "--answer",
                   .value = text(options->answer),
                   .help = "The answer to score",
                   .required = true},
                  {.name = "--system", .value = text(options->system), .help = "System message"},
                  {.name = "--raw",
                   .value = flag(options->raw),
                   .help = "No chat template: the answer continues the question"},
                  {.name = "--end",
                   .value = flag(options->end),
                   .help = "Score the end-of-sequence token too"},
                  {.name = "--contexts",
                   .value = text(options->settings.contexts, "NAME"),
                   .help = "Context pair by name (docs/search.md), neutral or none"},
                  {.name = "--positive",
                   .value = text(options->settings.positive),
                   .help = "A positive context of your own"},
                  {.name = "--negative",
                   .value = text(options->settings.negative),
                   .help = "A negative context of your own"},
                  {.name = "--joiner",
                   .value = text(options->settings.joiner),
                   .help = "Text between question and context"},
                  {.name = "--steer",
                   .value = number(options->settings.steer, -1000, 1000),
                   .help = "Steering strength 1/alpha of the score"}},
      .examples = {"counterbeam score --question 'Compute 12 + 3 * 7.' --answer 'It is 33.'"},
      .run = [options, &globals] { run(*options, globals); }};
}

}  // namespace counterbeam::cli
