// `score`: the log-probabilities of a given answer under the three prompts, token by token; or of
// lines of answers.
#include <algorithm>
#include <atomic>
#include <map>

#include "base/error.h"
#include "base/output.h"
#include "base/quote.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/contexts_option.h"
#include "cli/interrupt.h"
#include "cli/line_filter.h"
#include "cli/loading.h"
#include "cli/question_options.h"
#include "search/score_answer.h"

namespace counterbeam::cli {
namespace {

struct ScoreOptions {
  QuestionOptions asked;
  std::optional<std::string> question, answer;
  bool end = false;
  ContextsOption contexts;
  std::map<std::string, std::string> given;  // by setting name

  Option setting_option(const std::string& name) {
    const Setting& setting = setting_named(name);
    const Settings standard = default_settings(default_method());
    const std::string value = value_text(standard, setting);
    Option option = {.name = "--" + name,
                     .value = custom(std::string(setting.type_name()),
                                     [this, name](std::string_view text, std::string_view) {
                                       given[name] = text;
                                     }),
                     .help = std::string(setting.help),
                     .standard = value == " " ? in_quotes(value) : value};
    option.value.choices.assign(setting.choices.begin(), setting.choices.end());
    return option;
  }

  Settings settings() const {
    GivenMethod method(default_method().name);
    for (const auto& [name, value] : given) method.give(name, value, "--" + name);
    const ContextBook book = contexts.book();
    contexts.give_to(method, book);
    return method.resolve(book);
  }
};

// A terminal colour for a reward: green above zero, red below, stronger with size.
std::string colour(double reward) {
  constexpr int kGreens[] = {0, 22, 28, 34};
  constexpr int kReds[] = {0, 52, 88, 124};
  const int level = std::min(3, static_cast<int>(std::abs(reward) * 4));
  if (level == 0) return "";
  return fmt::format("\033[48;5;{}m\033[97m", (reward > 0 ? kGreens : kReds)[level]);
}

Json scored_json(const Candidate& scored, const LoadedModel& model, const Settings& settings) {
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
  Json shown = Json::object();
  for (const char* name :
       {"steer", "contexts", "positive", "negative", "joiner", "contrast", "aggregate"})
    shown[name] = to_json(settings)[name];
  return {{"score", scored.score},
          {"base", scored.sums.base},
          {"positive", scored.sums.positive},
          {"negative", scored.sums.negative},
          {"reward", scored.sums.reward()},
          {"settings", std::move(shown)},
          {"tokens", std::move(tokens)}};
}

// What the score is of: "mean over tokens, positive context against the plain prompt".
std::string score_kind(const Settings& settings) {
  std::string kind = fmt::format("{} over tokens", settings.aggregate);
  if (settings.contrast == "positive") kind += ", positive context against the plain prompt";
  if (settings.contrast == "negative") kind += ", plain prompt against the negative context";
  return kind;
}

void print_table(const Candidate& scored, const LoadedModel& model, const Settings& settings) {
  const bool colours = terminal_of(stdout).colour;
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
  print_result("score {:.6f} at 1/alpha = {} ({})\n", scored.score, settings.steer,
               score_kind(settings));
}

void score_lines(const ScoreOptions& options, const ScoreText& scoring, const Globals& globals) {
  const LoadedModel model = load_model(globals, options.asked.stop.at);
  std::atomic<int> failures = 0;
  filter_lines(options.asked.concurrency, [&](const std::string& line, const std::string& name) {
    try {
      const Json row = parse_row(line, name);
      const Question question = options.asked.question(row, name);
      return to_line(
          scored_json(score_text(model, question, text_field(row, name, "answer"), scoring), model,
                      scoring.settings));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) throw;
      ++failures;
      return to_line(Json{{"error", error.what()}});
    }
  });
  if (failures > 0) failed("{} of the lines have no score: see \"error\"", failures.load());
}

void run_score(const ScoreOptions& options, const Globals& globals) {
  const Settings settings = options.settings();
  const bool given = options.question && options.answer;
  if (options.asked.jsonl ? options.question || options.answer : !given)
    bad_input("score: give --question and --answer, or --jsonl alone");
  const ScoreText scoring{settings, options.end, &cancelled_by_ctrl_c()};
  if (options.asked.jsonl) return score_lines(options, scoring, globals);
  const LoadedModel model = load_model(globals, options.asked.stop.at);
  const Candidate scored =
      score_text(model, options.asked.question(*options.question), *options.answer, scoring);
  if (globals.json)
    print_result("{}\n", to_line(scored_json(scored, model, settings)));
  else
    print_table(scored, model, settings);
}

}  // namespace

Command score_command(const Globals& globals) {
  const auto options = std::make_shared<ScoreOptions>();
  Command command = {
      .name = "score",
      .summary =
          "Score a given answer: for each token its base, positive and negative "
          "log-probability and the reward",
      .options = {{.name = "--question", .value = text(options->question), .help = "The question"},
                  {.name = "--answer",
                   .value = text(options->answer),
                   .help = "The answer to score"},
                  {.name = "--end",
                   .value = flag(options->end),
                   .help = "Also score an end token after the answer: the likeliest of the model's "
                           "end tokens"},
                  {.name = "--contexts",
                   .value = options->contexts.name_or_files(),
                   .help = "Context pair by name, neutral or none; @FILE reads pairs of your own, "
                           "whose names may then be given (docs/contexts.md)",
                   .standard = default_settings(default_method()).contexts},
                  options->setting_option("positive"),
                  options->setting_option("negative"),
                  options->setting_option("contrast"),
                  options->setting_option("aggregate"),
                  options->setting_option("joiner"),
                  options->setting_option("steer")},
      .examples = {"counterbeam score --question 'Compute 12 + 3 * 7.' --answer 'It is 33.'",
                   "counterbeam score --jsonl < answers.jsonl > scores.jsonl"},
      .run = [options, &globals] { run_score(*options, globals); }};
  options->asked.add_to(command, "{\"question\" or \"messages\", \"system\", \"answer\"}");
  options->asked.stop.add_end_to(command);
  return command;
}

}  // namespace counterbeam::cli
