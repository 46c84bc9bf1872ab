// `ask`: one question, one answer, by any method.
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/output.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/live_answer.h"
#include "cli/loading.h"
#include "cli/method_options.h"
#include "search/answer.h"

namespace counterbeam::cli {
namespace {

struct Options {
  MethodOptions method;
  std::string question;
  std::string system;
  bool raw = false;
  std::string template_arguments = "{}";
  std::string trace;
};

std::string read_question(const std::string& argument) {
  return argument == "-" ? read_standard_input() : argument;
}

void write_trace(const std::string& path, const SearchResult& result, const std::string& question,
                 const LoadedModel& model) {
  if (path.ends_with(".html"))
    write_file(path, to_html(result.trace, question,
                             [&](TokenId token) { return model.token_text(token); }));
  else
    write_file(path, to_json(result.trace).dump() + "\n");
}

Json result_json(const SearchResult& result, const Settings& settings, const std::string& text) {
  const Candidate& answer = result.answer();
  return {{"answer", text},
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
          {"truncated", !answer.ended}};
}

void run(const Options& options, const Globals& globals) {
  const Settings settings = options.method.settings();
  if (!options.trace.empty() && !settings.method->traced)
    bad_input("--trace: {} leaves no tree to trace", settings.method->name);
  const Question question{read_question(options.question), options.system, options.raw,
                          options.template_arguments};
  const LoadedModel model = LoadedModel::load(globals.model, load_options(globals));
  LiveAnswer live(globals.quiet || globals.json);
  AnswerOptions asking;
  asking.seed = globals.seed;
  asking.cancellation = &cancelled_by_ctrl_c();
  asking.on_block = [&](const BlockReport& report) {
    live.update(report, model.text(report.agreed));
  };
  const AnsweredQuestion answered = answer_question(model, question, settings, asking);
  const SearchResult& result = answered.result;
  if (!options.trace.empty()) write_trace(options.trace, result, question.text, model);
  const std::string& text = answered.text;
  if (globals.json) {
    print_result("{}\n", to_line(result_json(result, settings, text)));
    return;
  }
  live.finish(text);
  if (!globals.quiet)
    print_message(
        "[{}: score {:.4f}, {} tokens{}, {} generated and {} scored in "
        "all, {:.2f} s]\n",
        settings.method->name, result.answer().score, result.answer().tokens.size(),
        result.answer().ended ? "" : ", cut at the limit", result.ledger.generated_tokens,
        result.ledger.scored_tokens, result.ledger.seconds);
}

}  // namespace

Command ask_command(const Globals& globals) {
  const auto options = std::make_shared<Options>();
  Command command = {
      .name = "ask",
      .summary = "Answer one question, by contrastive beam search or another method",
      .arguments = {{.name = "QUESTION",
                     .value = text(options->question),
                     .help = "The question; - reads it from standard input",
                     .required = true}},
      .options = {{.name = "--system", .value = text(options->system), .help = "System message"},
                  {.name = "--raw",
                   .value = flag(options->raw),
                   .help = "Continue the question itself, without a chat template"},
                  {.name = "--template-args",
                   .value = text(options->template_arguments, "JSON"),
                   .help = "A JSON object with further variables of the chat template, such as "
                           "{\"enable_thinking\": true}"},
                  {.name = "--trace",
                   .value = file(options->trace),
                   .help = "Write every candidate of the search to this file: a page to look at if "
                           "its name ends in .html, JSON otherwise"}},
      .examples = {"counterbeam ask 'Compute 12 + 3 * 7.'",
                   "counterbeam ask --method beam --beams 24 --model Qwen/Qwen2.5-7B-Instruct - "
                   "< question.txt",
                   "counterbeam ask --steer 0.7 --trace tree.html 'Compute 12 + 3 * 7.'"},
      .run = [options, &globals] { run(*options, globals); }};
  options->method.add_to(command);
  return command;
}

}  // namespace counterbeam::cli
