// `contexts list`: the context pairs by name. `contexts search`: the pair that suits a model and a
// task.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/closest.h"
#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/eval_options.h"
#include "cli/loading.h"
#include "eval/context_search.h"

namespace counterbeam::cli {
namespace {

constexpr std::string_view kControlPair = "neutral";

struct ContextsSearch {
  EvalCommand eval;
  std::vector<std::string> pairs;
  std::string method = "cbs", screen;
  int dev = 0, confirm = 0, finalists = 1, paraphrases = -1;
};

// The methods that can be run with any pair and without one.
std::vector<std::string> comparable_methods() {
  std::vector<std::string> names;
  for (const Method& method : methods())
    if (method.contrast == Contrast::WhenSteered) names.emplace_back(method.name);
  return names;
}

// A method that the search will give each pair in turn.
MethodString method_for_pairs(const std::string& text, const char* option) {
  const GivenMethod given(text);
  if (given.method().contrast != Contrast::WhenSteered)
    bad_input("{}: {} cannot be run both with a pair and without; use {}", option,
              given.method().name, fmt::join(comparable_methods(), ", "));
  for (const char* setting : {"contexts", "positive", "negative"})
    if (given.gives(setting))
      bad_input("{}: {} is given, but the search gives the method each pair in turn; leave it out",
                option, setting);
  MethodString method = {text, given.resolve()};
  if (method.settings.steer == 0)
    bad_input("{}: with steer=0 no pair changes an answer; give a strength, as in {}:steer=0.25",
              option, text);
  return method;
}

// Ranking the same samples under every pair is the cheapest way to compare pairs: the samples are
// drawn once. It contrasts as the method does.
std::string cheap_screen(const MethodString& method) {
  if (method.settings.method->ranks_whole_samples) return method.text;
  const GivenMethod given(method.text);
  const auto ranker = std::find_if(methods().begin(), methods().end(),
                                   [](const Method& one) { return one.ranks_whole_samples; });
  CB_CHECK(ranker != methods().end());
  std::string screen = fmt::format("{}:steer={}", ranker->name, method.settings.steer);
  for (const char* name : {"contrast", "aggregate", "joiner"}) {
    if (!given.gives(name)) continue;
    std::string value = value_text(method.settings, setting_named(name)), quoted;
    for (const char c : value)
      quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    screen += fmt::format(":{}=\"{}\"", name, quoted);
  }
  return screen;
}

std::vector<ContextPair> all_pairs(const ContextBook& book) {
  std::vector<ContextPair> pairs(named_contexts().begin(), named_contexts().end());
  pairs.insert(pairs.end(), book.added().begin(), book.added().end());
  return pairs;
}

const ContextPair& candidate_named(const std::string& name, const ContextBook& book) {
  if (name == kControlPair)
    bad_input("--pairs: {} is the control, which always takes part and is never chosen", name);
  if (const ContextPair* pair = book.find(name)) return *pair;
  const std::vector<ContextPair> pairs = all_pairs(book);
  std::vector<std::string_view> names;
  for (const ContextPair& pair : pairs)
    if (pair.name != kControlPair) names.push_back(pair.name);
  bad_input("--pairs: {} is not known; known: {}{}", in_quotes(name), fmt::join(names, ", "),
            did_you_mean(name, names));
}

// The pairs of --pairs, or all but the control. Of pairs with the same texts the first takes part.
std::vector<ContextPair> candidates_of(const ContextsSearch& options, const ContextBook& book) {
  std::vector<ContextPair> given, candidates;
  for (const std::string& name : options.pairs) given.push_back(candidate_named(name, book));
  if (options.pairs.empty())
    for (const ContextPair& pair : all_pairs(book))
      if (pair.name != kControlPair) given.push_back(pair);
  for (const ContextPair& pair : given) {
    const auto same =
        std::find_if(candidates.begin(), candidates.end(), [&](const ContextPair& other) {
          return other.positive == pair.positive && other.negative == pair.negative;
        });
    if (same == candidates.end()) {
      candidates.push_back(pair);
      continue;
    }
    if (same->name == pair.name) bad_input("--pairs: {} is given twice", pair.name);
    print_message("counterbeam: {} has the texts of {}, which takes part for both\n", pair.name,
                  same->name);
  }
  return candidates;
}

void run_contexts_search(ContextsSearch& options, const Globals& globals) {
  EvalCommand& eval = options.eval;
  const ContextBook book = eval.contexts.book();
  ContextSearchOptions search;
  search.candidates = candidates_of(options, book);
  search.method = method_for_pairs(options.method, "--method");
  search.screen = method_for_pairs(
      options.screen.empty() ? cheap_screen(search.method) : options.screen, "--screen");
  std::vector<MethodString> both = {search.screen, search.method};
  eval.shared.apply_to(both, book);
  search.screen = both[0];
  search.method = both[1];
  search.dev = options.dev;
  search.confirm = options.confirm;
  search.finalists = options.finalists;
  search.paraphrases = std::max(options.paraphrases, 0);
  search.run.seed = globals.seed;
  std::vector<TaskData> tasks = eval.choice.load(globals.seed);
  if (tasks.size() != 1) bad_input("--task: {} tasks are given; a search is for one", tasks.size());
  const ContextSearchPlan plan = plan_context_search(std::move(tasks.front()), search);
  if (!globals.quiet && !globals.json) print_message("{}", to_text(plan, search));
  const LoadedModel model = load_model(globals, eval.choice.stop.at);
  eval.prepare_run(globals);
  search.run = eval.run;
  if (!globals.json)
    search.on_text = [](const std::string& text) {
      write_result(text);
      flush_results();
    };
  ContextSearchResult result;
  eval.run_resumably([&] { result = search_contexts(model, plan, search); });
  if (globals.json) return print_result("{}\n", to_line(to_json(plan, search, result)));
  print_result("{}{}\n", confirmation_table(search, result.contest),
               outcome_sentence(search, plan.contest, result.contest));
  if (globals.quiet) return;
  print_result("\nsearch.json and the runs are in {}\n", eval.run.out.string());
  if (result.contest.winner)
    print_result("use the pair as --contexts @{}\n", (eval.run.out / "winner.json").string());
}

Command contexts_search_command(const Globals& globals) {
  const auto options = std::make_shared<ContextsSearch>();
  options->eval.run.out = std::filesystem::path("runs") / "contexts";
  Option task = options->eval.choice.task_option();
  task.help = "The task; also a data file of yours with --grader";
  task.required = true;
  task.value.placeholder = "TASK";
  task.value.several = false;
  Option out = options->eval.out_option();
  out.help = "Folder for search.json, winner.json and the runs";
  out.standard = "runs/contexts";
  Option method = {
      .name = "--method",
      .value = text(options->method, "METHOD"),
      .help = "The method that the pair is for, with settings; the choice is confirmed with it"};
  Option screen = {.name = "--screen",
                   .value = text(options->screen, "METHOD"),
                   .help =
                       "The method of the rounds, such as cbs for the real search; the default "
                       "draws samples once and ranks them under every pair",
                   .standard = "best-of-n with the strength of --method"};
  method.value.choices = screen.value.choices = comparable_methods();
  Command command = {
      .name = "contexts search",
      .summary = "Search for the context pair that suits a model and a task",
      .description =
          "Candidates are halved round by round on the development problems. The best is then "
          "confirmed on other problems, against the method without contrast and the default pair, "
          "with a correction for the number of tests; it is a winner only if it is better there "
          "beyond noise. The winner is written as winner.json, for --contexts @FILE.",
      .options = {task,
                  {.name = "--dev",
                   .value = whole(options->dev, 1, 1 << 30),
                   .help = "Problems that the pair is chosen on, drawn from the task by --seed",
                   .required = true},
                  {.name = "--confirm",
                   .value = whole(options->confirm, 1, 1 << 30),
                   .help = "Other problems that the choice is confirmed on",
                   .standard = "as many as --dev"},
                  {.name = "--pairs",
                   .value = texts(options->pairs, "NAME,..."),
                   .help = "Names of the candidates",
                   .standard = "the named pairs and those of --contexts"},
                  {.name = "--paraphrases",
                   .value = whole(options->paraphrases, 0, 1000),
                   .help = "Pairs that the model words itself, after the best of the first round",
                   .standard = "0"},
                  method,
                  screen,
                  {.name = "--finalists",
                   .value = whole(options->finalists, 1, 100),
                   .help = "Pairs that are confirmed; every one makes the correction stricter"},
                  out},
      .examples = {"counterbeam contexts search --task tiny-math --dev 80 --confirm 100",
                   "counterbeam contexts search --task tiny-math --dev 80 --contexts @pairs.json "
                   "--screen cbs",
                   "counterbeam contexts search --task math500 --data test.jsonl --model "
                   "Qwen/Qwen2.5-7B --dev 200 --paraphrases 8 --resume"},
      .run = [options, &globals] { run_contexts_search(*options, globals); }};
  options->eval.add_tasks_to(command);
  options->eval.add_running_to(command);
  for (Option& option : command.options) {
    if (option.name == "--contexts")
      option.help = "A file of context pairs, which are candidates too (docs/contexts.md)";
    if (option.name == "--samples") option.help = "Answers per problem and method";
    if (option.name == "--resume") option.help = "Continue the search in --out";
    if (option.name == "--allow-failures")
      option.help = "Leave problems that fail out of all comparisons, instead of ending the search";
  }
  return command;
}

Command contexts_list_command(const Globals& globals) {
  const auto contexts = std::make_shared<ContextsOption>();
  return {.name = "contexts list",
          .summary = "Print the named context pairs",
          .options = {contexts->files_option()},
          .examples = {"counterbeam contexts list", "counterbeam contexts list --json"},
          .run = [contexts, &globals] {
            const std::string standard = Settings().contexts;
            Json list = Json::array();
            for (const ContextPair& pair : all_pairs(contexts->book())) {
              list.push_back({{"name", pair.name},
                              {"positive", pair.positive},
                              {"negative", pair.negative},
                              {"default", pair.name == standard},
                              {"control", pair.name == kControlPair}});
              if (globals.json) continue;
              print_result("{}{}\n  + {}\n  - {}\n", pair.name,
                           pair.name == standard       ? " (default)"
                           : pair.name == kControlPair ? " (control)"
                                                       : "",
                           printable(pair.positive, 1000), printable(pair.negative, 1000));
            }
            if (globals.json) print_result("{}\n", to_line(Json{{"pairs", list}}));
          }};
}

}  // namespace

Command contexts_command(const Globals& globals) {
  return {.name = "contexts",
          .summary = "List context pairs, search for the pair that suits a task",
          .commands = {contexts_list_command(globals), contexts_search_command(globals)}};
}

}  // namespace counterbeam::cli
