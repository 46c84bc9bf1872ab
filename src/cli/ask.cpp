// `ask`: one question, one answer, by any method; or lines of questions.
#include <unistd.h>

#include <atomic>

#include "base/error.h"
#include "base/file.h"
#include "base/output.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/line_filter.h"
#include "cli/live_answer.h"
#include "cli/loading.h"
#include "cli/method_options.h"
#include "cli/question_options.h"
#include "search/answer.h"

namespace counterbeam::cli {
namespace {

namespace fs = std::filesystem;

struct AskOptions {
  MethodOptions method;
  QuestionOptions asked;
  std::optional<std::string> question;
  std::string trace;
};

// Fails before the search where the trace could not be written after it.
void check_trace_path(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    bad_input("--trace {}: is a folder; name a file", path.string());
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    bad_input("--trace {}: there is no folder {}", path.string(), folder.string());
  const fs::path& written = fs::exists(path, error) ? path : folder;
  if (::access(written.c_str(), W_OK) != 0)
    bad_input("--trace {}: {} cannot be written", path.string(), written.string());
}

void write_trace(const std::string& path, const SearchResult& result, const std::string& question,
                 const LoadedModel& model) {
  if (path.ends_with(".html"))
    write_named_file(path, to_html(result.trace, question,
                                   [&](TokenId token) { return model.token_text(token); }));
  else
    write_named_file(path, to_line(to_json(result.trace)) + "\n");
}

Json result_json(const AnsweredQuestion& answered, const Settings& settings) {
  const SearchResult& result = answered.result;
  const Candidate& answer = result.answer();
  return {{"answer", answered.text},
          {"score", answer.score},
          {"method", settings.method->name},
          {"settings", to_json(settings)},
          {"tokens", answer.tokens},
          {"completion_tokens", result.ledger.generated_tokens},
          {"generated_tokens", result.ledger.generated_tokens},
          {"scored_tokens", result.ledger.scored_tokens},
          {"prompt_tokens", result.ledger.prompt_tokens},
          {"cached_tokens", result.ledger.cached_tokens},
          {"seconds", result.ledger.seconds},
          {"finished", answer.ended},
          {"truncated", !answer.ended},
          {"interrupted", result.interrupted}};
}

void print_cost(const SearchResult& result, const Settings& settings) {
  const Candidate& answer = result.answer();
  const char* ending = answer.ended         ? ""
                       : result.interrupted ? ", unfinished"
                                            : ", cut at the limit";
  print_message("[{}: score {:.4f}, {} tokens{}, {} generated and {} scored in all, {:.2f} s]\n",
                settings.method->name, answer.score, answer.tokens.size(), ending,
                result.ledger.generated_tokens, result.ledger.scored_tokens, result.ledger.seconds);
}

AnsweredQuestion search_live(const LoadedModel& model, const Question& question,
                             const Settings& settings, LiveAnswer& live, std::uint64_t seed) {
  AnswerOptions asking;
  asking.seed = seed;
  asking.cancellation = &cancelled_by_ctrl_c();
  asking.keep_partial = true;
  asking.on_block = [&](const BlockReport& report) { live.update(report); };
  try {
    return answer_question(model, question, settings, asking);
  } catch (const Cancelled&) {
    throw Cancelled("stopped before the first block was done; there is no answer yet");
  }
}

void ask_one(const AskOptions& options, const Settings& settings, const Globals& globals) {
  if (!options.trace.empty()) check_trace_path(options.trace);
  const Question question = options.asked.question(text_argument(*options.question));
  const LoadedModel model = load_model(globals, options.asked.stop.at);
  LiveAnswer live(globals.quiet || globals.json, model.engine());
  const AnsweredQuestion answered = search_live(model, question, settings, live, globals.seed);
  const SearchResult& result = answered.result;
  if (globals.json) {
    print_result("{}\n", to_line(result_json(answered, settings)));
    flush_results();
  } else {
    live.finish(answered.text);
    if (!globals.quiet) print_cost(result, settings);
  }
  if (!options.trace.empty()) write_trace(options.trace, result, question.text, model);
  if (result.interrupted) throw Cancelled("stopped; this was the best answer so far");
}

// Every line gets the answer that `ask` gives it alone.
void ask_lines(const AskOptions& options, const Settings& settings, const Globals& globals) {
  const LoadedModel model = load_model(globals, options.asked.stop.at);
  AnswerOptions asking;
  asking.seed = globals.seed;
  asking.cancellation = &cancelled_by_ctrl_c();
  Progress progress("ask", 0, globals.quiet || globals.json);
  std::atomic<int> failures = 0;
  filter_lines(options.asked.concurrency, [&](const std::string& line, const std::string& name) {
    Json answer;
    try {
      const Question question = options.asked.question(parse_row(line, name), name);
      answer = result_json(answer_question(model, question, settings, asking), settings);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) throw;
      answer = {{"error", error.what()}};
      ++failures;
    }
    progress.add();
    return to_line(answer);
  });
  if (failures > 0) failed("{} of the lines have no answer: see \"error\"", failures.load());
}

void run_ask(const AskOptions& options, const Globals& globals) {
  cancelled_by_ctrl_c();  // from now on, so that nothing is lost to an early one
  const Settings settings = options.method.settings();
  if (options.asked.jsonl == options.question.has_value())
    bad_input("ask: give a question or --jsonl, one of the two");
  if (!options.trace.empty() && options.asked.jsonl)
    bad_input("--trace: is for one question; with --jsonl there are many");
  if (!options.trace.empty() && !settings.method->traced)
    bad_input("--trace: {} leaves no tree to trace", settings.method->name);
  options.asked.jsonl ? ask_lines(options, settings, globals) : ask_one(options, settings, globals);
}

}  // namespace

Command ask_command(const Globals& globals) {
  const auto options = std::make_shared<AskOptions>();
  Command command = {
      .name = "ask",
      .summary = "Answer one question, by contrastive beam search or another method",
      .description =
          "Ctrl-C ends the search: the best answer so far is printed, and the exit code is 130.",
      .arguments = {{.name = "QUESTION",
                     .value = text(options->question),
                     .help = "The question; - reads it from standard input"}},
      .options = {{.name = "--trace",
                   .value = file(options->trace),
                   .help = "Write every candidate of the search to this file: a page to look at if "
                           "its name ends in .html, JSON otherwise"}},
      .examples = {"counterbeam ask 'Compute 12 + 3 * 7.'",
                   "counterbeam ask --method beam --beams 24 --model Qwen/Qwen2.5-7B-Instruct - "
                   "< question.txt",
                   "counterbeam ask --steer 0.7 --trace tree.html 'Compute 12 + 3 * 7.'",
                   "counterbeam ask --jsonl --steer 0.7 < questions.jsonl > answers.jsonl"},
      .run = [options, &globals] { run_ask(*options, globals); }};
  options->asked.add_to(command, "{\"question\" or \"messages\", \"system\"}");
  options->asked.stop.add_to(command);
  options->method.add_to(command);
  return command;
}

}  // namespace counterbeam::cli
