// render: a conversation as the text a model is prompted with.
#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/output.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "model/model_source.h"
#include "text/file_limits.h"

namespace counterbeam::cli {
namespace {

struct RenderOptions {
  std::string template_file, bos, eos, now;
  std::string user, system, args = "{}";
  bool jsonl = false, pieces = false, no_generation_prompt = false;
};

ChatTemplate open_template(const RenderOptions& options, const Globals& globals) {
  if (options.template_file.empty()) return open_model(globals.model)->chat_template();
  return ChatTemplate::parse(read_file(options.template_file, kMostTemplateBytes),
                             options.template_file,
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
  for (std::size_t number = 1; read_input_line(line); ++number) {
    if (line.empty()) continue;
    print_result("{}\n", to_line(render_line(chat, line, number, pieces)));
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
    print_result("{}\n", to_line(Json{{"text", text}}));
  else
    print_result("{}", text);
}

void run_render(const RenderOptions& options, const Globals& globals) {
  ChatTemplate chat = open_template(options, globals);
  if (!options.now.empty()) chat.set_now(parse_time(options.now));
  if (options.jsonl) return render_lines(chat, options.pieces);
  if (options.user.empty())
    bad_input("nothing to render: give a question, or --jsonl and lines on standard input");
  render_one(chat, options, globals.json);
}

}  // namespace

Command render_command(const Globals& globals) {
  const auto options = std::make_shared<RenderOptions>();
  return {
      .name = "render",
      .summary = "Show the prompt that a chat template makes of a conversation",
      .arguments = {{.name = "QUESTION",
                     .value = text(options->user),
                     .help = "The user's message"}},
      .options =
          {{.name = "--system",
            .value = text(options->system),
            .help = "A system message before it"},
           {.name = "--args",
            .value = text(options->args, "JSON"),
            .help = "A JSON object with further variables of the template, such as "
                    "'{\"enable_thinking\": true}'"},
           {.name = "--no-generation-prompt",
            .value = flag(options->no_generation_prompt),
            .help = "End after the last message instead of opening the answer"},
           {.name = "--template",
            .value = file(options->template_file),
            .help = "A template file",
            .standard = "the template of --model"},
           {.name = "--jsonl",
            .value = flag(options->jsonl),
            .help = "Read lines {\"messages\", \"args\"} from standard input, print {\"text\"} or "
                    "{\"error\"} for each"},
           {.name = "--pieces",
            .value = flag(options->pieces),
            .help = "With --jsonl: print {\"pieces\": [{\"text\", \"trusted\"}]}, which separates "
                    "the text of the template from the text of the conversation"},
           {.name = "--bos", .value = text(options->bos), .help = "bos_token of a --template"},
           {.name = "--eos", .value = text(options->eos), .help = "eos_token of a --template"},
           {.name = "--now",
            .value = text(options->now, "TIME"),
            .help = "The time that strftime_now shows, such as 2026-01-02T03:04:05"}},
      .examples =
          {"counterbeam render 'What is 2+2?' --model DIR",
           "counterbeam render --template chat_template.jinja --jsonl < conversations.jsonl"},
      .run = [options, &globals] { run_render(*options, globals); }};
}

}  // namespace counterbeam::cli
