// `ask`: one question, one answer, by any method.
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
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
  if (argument != "-") return argument;
  return {std::istreambuf_iterator<char>(std::cin), {}};
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
    fmt::print("{}\n", to_line(result_json(result, settings, text)));
    return;
  }
  live.finish(text);
  if (!globals.quiet)
    fmt::print(stderr,
               "[{}: score {:.4f}, {} tokens{}, {} generated and {} scored in "
               "all, {:.2f} s]\n",
               settings.method->name, result.answer().score, result.answer().tokens.size(),
               result.answer().ended ? "" : ", cut at the limit", result.ledger.generated_tokens,
               result.ledger.scored_tokens, result.ledger.seconds);
}

}  // namespace

void add_ask(CLI::App& app, const Globals& globals) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "ask", "Answer one question, by contrastive beam search or another method");
  command->add_option("question", options->question, "The question; - reads it from standard input")
      ->required();
  command->add_option("--system", options->system, "System message");
  command->add_flag("--raw", options->raw, "Continue the question itself, without a chat template");
  command->add_option("--template-args", options->template_arguments,
                      "A JSON object of what else the chat template sees, as "
                      "{\"enable_thinking\": true}");
  command->add_option("--trace", options->trace,
                      "Write every candidate of the search to this file: JSON, "
                      "or a page to look at "
                      "if it ends in .html");
  options->method.add_to(*command);
  command->footer(
      "Examples:\n"
      "  counterbeam ask 'Compute 12 + 3 * 7.'\n"
      "  counterbeam ask --method beam --beams 24 --model "
      "Qwen/Qwen2.5-7B-Instruct - < "
      "question.txt\n"
      "  counterbeam ask --steer 0.7 --trace tree.html 'Compute 12 + 3 * 7.'");
  command->callback([options, &globals] { run(*options, globals); });
}

}  // namespace counterbeam::cli
