// How questions are prompted and where their answers stop, for every command that asks or scores;
// and how `ask` and `score` take a question: as arguments, or as lines of JSON.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "cli/command.h"
#include "search/prompts.h"

namespace counterbeam::cli {

// Where answers stop.
struct StopOptions {
  std::string at = "turn";  // as LoadOptions::stop_at
  std::vector<std::string> texts;
  std::vector<int> ids;

  // Adds --stop-at, for commands that generate nothing. REQUIRES that this outlives the parse.
  void add_end_to(Command& command);
  // Adds --stop-at, --stop and --stop-id. REQUIRES that this outlives the parse.
  void add_to(Command& command);
  // Sets the texts and ids.
  void apply_to(Question& question) const;
};

// How a question becomes a prompt.
struct PromptOptions {
  std::optional<std::string> system;  // not given: the task's own, or none
  bool system_as_user = false;
  bool raw = false;
  std::string template_arguments = "{}";

  // Adds --system, --system-as-user, --raw and --template-args. REQUIRES that this outlives the
  // parse.
  void add_to(Command& command, const std::string& system_help);
  // Sets everything but the system message.
  void apply_to(Question& question) const;
};

struct QuestionOptions {
  PromptOptions prompt;
  StopOptions stop;
  bool jsonl = false;
  int concurrency = 16;  // lines answered at once

  // Adds the options above, except --stop and --stop-id. `fields` says what a line holds. REQUIRES
  // that this outlives the parse.
  void add_to(Command& command, const std::string& fields);

  Question question(std::string text) const;
  // From a line {"question": TEXT} or {"messages": [{"role", "content"}, ...]}, and "system" in
  // place of --system, even if it is empty. `name` opens the error.
  Question question(const Json& row, const std::string& name) const;
};

// The line as an object; BadInput where it is something else.
Json parse_row(const std::string& line, const std::string& name);
// A field that must be there and be a string.
std::string text_field(const Json& row, const std::string& name, const char* field);

// The text given as an argument, or all of standard input for "-", without its last line end.
std::string text_argument(const std::string& argument);

}  // namespace counterbeam::cli
