// render: a conversation as the text a model is prompted with.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "model/hub.h"
#include "text/chat_template.h"

namespace counterbeam::cli {
namespace {

struct RenderOptions {
  std::string template_file, bos, eos, now;
  std::string user, system, args = "{}";
  bool jsonl = false, pieces = false, no_generation_prompt = false;
};

ChatTemplate open_template(const RenderOptions& options, const Globals& globals) {
  if (options.template_file.empty())
    return ChatTemplate::load(find_model_or_shipped(globals.model));
  return ChatTemplate::parse(read_file(options.template_file), options.template_file,
                             {{"bos_token", options.bos}, {"eos_token", options.eos}});
}

Json render_line(const ChatTemplate& chat, const std::string& line, std::size_t number,
                 bool pieces) {
  try {
    const Json row = parse_json(line, fmt::format("line {} of standard input", number));
    if (!row.is_object() || !row.contains("messages"))
      bad_input("line {} of standard input: an object with \"messages\" is needed", number);
    const Json args = row.contains("args") ? row["args"] : Json::object();
    if (!pieces) return {{"text", chat.render(row["messages"], args)}};
    Json list = Json::array();
    for (const PromptPiece& piece : chat.render_pieces(row["messages"], args))
      list.push_back({{"text", piece.text}, {"trusted", piece.trusted}});
    return {{"pieces", list}};
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
}

void render_lines(const ChatTemplate& chat, bool pieces) {
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    if (line.empty()) continue;
    fmt::print("{}\n", to_line(render_line(chat, line, number, pieces)));
  }
}

void render_one(const ChatTemplate& chat, const RenderOptions& options, bool json) {
  Json messages = Json::array();
  if (!options.system.empty())
    messages.push_back({{"role", "system"}, {"content", options.system}});
  messages.push_back({{"role", "user"}, {"content", options.user}});
  Json args = parse_json(options.args, "--args");
  if (!args.is_object()) bad_input("--args: a JSON object is needed, not {}", options.args);
  if (!args.contains("add_generation_prompt"))
    args["add_generation_prompt"] = !options.no_generation_prompt;
  const std::string text = chat.render(messages, args);
  if (json)
    fmt::print("{}\n", to_line({{"text", text}}));
  else
    fmt::print("{}", text);
}

void run(const RenderOptions& options, const Globals& globals) {
  ChatTemplate chat = open_template(options, globals);
  if (!options.now.empty()) chat.set_now(parse_time(options.now));
  if (options.jsonl) return render_lines(chat, options.pieces);
  if (options.user.empty())
    bad_input("nothing to render: give a question, or --jsonl and lines on standard input");
  render_one(chat, options, globals.json);
}

}  // namespace

void add_render(CLI::App& app, const Globals& globals) {
  auto options = std::make_shared<RenderOptions>();
  CLI::App* command = app.add_subcommand(
      "render",
      "Show the prompt a chat template makes of a conversation.\n"
      "  counterbeam render 'What is 2+2?' --model DIR\n"
      "  counterbeam render --template chat_template.jinja --jsonl < conversations.jsonl");
  command->add_option("question", options->user, "The user's message");
  command->add_option("--system", options->system, "A system message before it");
  command->add_option(
      "--args", options->args,
      "JSON object of what else the template sees, as '{\"enable_thinking\": true}'");
  command->add_flag("--no-generation-prompt", options->no_generation_prompt,
                    "End after the last message instead of opening the answer");
  command->add_option("--template", options->template_file,
                      "A template file (default: the template of --model)");
  command->add_flag("--jsonl", options->jsonl,
                    "Lines {\"messages\", \"args\"} on standard input, a line {\"text\"} or "
                    "{\"error\"} out for each");
  command->add_flag("--pieces", options->pieces,
                    "With --jsonl: {\"pieces\": [{\"text\", \"trusted\"}]}, which tell what the "
                    "template wrote from what the conversation brought");
  command->add_option("--bos", options->bos, "bos_token of a --template");
  command->add_option("--eos", options->eos, "eos_token of a --template");
  command->add_option("--now", options->now, "The time strftime_now shows, as 2026-01-02T03:04:05");
  command->callback([options, &globals] { run(*options, globals); });
}

}  // namespace counterbeam::cli
