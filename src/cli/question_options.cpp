#include "cli/question_options.h"

#include "base/error.h"
#include "base/quote.h"
#include "cli/input.h"
#include "search/stops.h"

namespace counterbeam::cli {
namespace {

std::vector<Message> messages_of(const Json& list, const std::string& name) {
  if (!list.is_array()) bad_input("{}: \"messages\" must be a list of messages", name);
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = fmt::format("{}: message {}", name, i + 1);
    if (!list[i].is_object())
      bad_input("{} is {}; an object with \"role\" and \"content\" is needed", place,
                printable(to_line(list[i]), 60));
    messages.push_back({text_field(list[i], place, "role"), text_field(list[i], place, "content")});
  }
  return messages;
}

// Fails before a model is loaded.
void check_object(std::string_view json, std::string_view origin) {
  if (!parse_json(json, origin).is_object())
    bad_input("{}: {} is not a JSON object, such as {{\"enable_thinking\": true}}", origin,
              in_quotes(json));
}

}  // namespace

Json parse_row(const std::string& line, const std::string& name) {
  Json row = parse_json(line, name);
  if (!row.is_object())
    bad_input("{}: an object is needed, found {}", name, printable(to_line(row), 60));
  return row;
}

std::string text_field(const Json& row, const std::string& name, const char* field) {
  const auto found = row.find(field);
  if (found == row.end())
    bad_input("{}: field \"{}\" is missing; give it as a string", name, field);
  if (!found->is_string())
    bad_input("{}: field \"{}\" is {}; give it as a string", name, field,
              printable(to_line(*found), 60));
  return found->get<std::string>();
}

std::string text_argument(const std::string& argument) {
  if (argument != "-") return argument;
  std::string text = read_standard_input();
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

void StopOptions::add_end_to(Command& command) {
  command.options.push_back(
      {.name = "--stop-at",
       .value = one_of(at, {"turn", "eos"}),
       .help =
           "Where answers stop. turn: at the checkpoint's own end tokens, and at the token with "
           "which its chat template ends a turn (counterbeam inspect shows both); eos: at the "
           "checkpoint's own alone"});
}

void StopOptions::add_to(Command& command) {
  add_end_to(command);
  Option stop = {.name = "--stop",
                 .value = custom("TEXT",
                                 [this](std::string_view text, std::string_view origin) {
                                   check_stop_text(text, origin);
                                   texts.emplace_back(text);
                                 }),
                 .help =
                     "End an answer where this text is complete, and keep what comes before it; "
                     "may be given several times"};
  stop.value.several = true;
  command.options.push_back(std::move(stop));
  command.options.push_back({.name = "--stop-id",
                             .value = wholes(ids, 0, 1 << 30),
                             .help = "End an answer at this token too; may be given several times",
                             .standard = "none"});
}

void StopOptions::apply_to(Question& question) const {
  question.stop = texts;
  question.stop_ids.assign(ids.begin(), ids.end());
}

void PromptOptions::add_to(Command& command, const std::string& system_help) {
  command.options.insert(
      command.options.end(),
      {{.name = "--system", .value = cli::text(system), .help = system_help},
       {.name = "--system-as-user",
        .value = flag(system_as_user),
        .help = "Where the chat template refuses or drops a system message, and with --raw: put it "
                "before the question, with a blank line between them"},
       {.name = "--raw",
        .value = flag(raw),
        .help = "Continue the question itself, without a chat template"},
       {.name = "--template-args",
        .value = custom("JSON",
                        [this](std::string_view json, std::string_view origin) {
                          check_object(json, origin);
                          template_arguments = json;
                        }),
        .help = "A JSON object with further variables of the chat template, such as "
                "{\"enable_thinking\": true}"}});
}

void PromptOptions::apply_to(Question& question) const {
  question.system_as_user = system_as_user;
  question.raw = raw;
  question.template_arguments = template_arguments;
}

void QuestionOptions::add_to(Command& command, const std::string& fields) {
  prompt.add_to(command, "System message; '' for none");
  command.options.insert(
      command.options.end(),
      {{.name = "--jsonl",
        .value = flag(jsonl),
        .help = "Read lines " + fields +
                " from standard input and print the object of --json for "
                "each, in order; a line that cannot be answered gives {\"error\"}"},
       {.name = "--concurrency",
        .value = whole(concurrency, 1, 4096),
        .help = "With --jsonl: lines answered at once"}});
}

Question QuestionOptions::question(std::string text) const {
  Question question{.text = std::move(text), .system = prompt.system.value_or("")};
  prompt.apply_to(question);
  stop.apply_to(question);
  return question;
}

Question QuestionOptions::question(const Json& row, const std::string& name) const {
  const bool has_messages = row.contains("messages");
  if (has_messages == row.contains("question"))
    bad_input("{}: give \"question\" or \"messages\", one of the two", name);
  Question asked = has_messages ? question_of(messages_of(row["messages"], name))
                                : Question{.text = text_field(row, name, "question")};
  if (row.contains("system")) {
    if (!asked.system.empty())
      bad_input("{}: the system message is given twice, in \"system\" and in \"messages\"", name);
    asked.system = text_field(row, name, "system");
  } else if (asked.system.empty()) {
    asked.system = prompt.system.value_or("");
  }
  prompt.apply_to(asked);
  stop.apply_to(asked);
  return asked;
}

}  // namespace counterbeam::cli
