#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/terminal.h"

namespace counterbeam::cli {
namespace {

constexpr std::size_t kColumn = 26;  // where the second column of a table starts

// Words in lines of at most `width` columns, each after `indent` spaces. A word longer than that
// has a line of its own.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result, line;
  const auto end_line = [&] {
    if (!line.empty()) result += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const auto space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) end_line();
    if (!line.empty() && !word.empty()) line += ' ';
    line += word;
    text.remove_prefix(space == text.npos ? text.size() : space + 1);
  }
  end_line();
  return result;
}

// Paragraphs, one per line of the text; a line that opens with a space is kept as it is.
std::string paragraphs(std::string_view text, std::size_t width) {
  std::string result;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(' '))
      result += std::string(line) + "\n";
    else
      result += line.empty() ? "\n" : wrapped(line, 0, width);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return result;
}

std::string row(const std::string& left, const std::string& right, std::size_t width) {
  std::string result = "  " + left;
  const std::string text = wrapped(right, kColumn, width);
  if (text.empty() || result.size() + 2 > kColumn) return result + "\n" + text;
  result.resize(kColumn, ' ');
  return result + text.substr(kColumn);
}

std::string option_row(const Option& option, std::size_t width) {
  // No break inside a bracket that fits a line.
  std::string result = row(names_of(option), option.help, width);
  std::string line;
  for (const std::string& detail : details_of(option)) {
    if (!line.empty() && kColumn + line.size() + 1 + detail.size() > width) {
      result += wrapped(line, kColumn, width);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + detail;
  }
  return result + wrapped(line, kColumn, width);
}

std::string global_rows(const Program& program, std::size_t width) {
  std::string result;
  for (const Option& option : program.globals) result += option_row(option, width);
  result += row("-h, --help", "Show help; after a command, that of the command", width);
  return result;
}

}  // namespace

int help_width() {
  constexpr int kNarrowest = 40, kWidest = 100;
  return std::clamp(terminal_of(stdout).width, kNarrowest, kWidest);
}

std::string names_of(const Option& option) {
  std::string names = option.letter.empty() ? option.name : option.letter + ", " + option.name;
  if (option.name.starts_with("-") && !option.value.is_flag())
    names += " " + option.value.placeholder;
  return names;
}

std::vector<std::string> details_of(const Option& option) {
  std::vector<std::string> details;
  if (option.required) details.push_back("[required]");
  if (!option.value.range.empty()) details.push_back("[" + option.value.range + "]");
  if (!option.value.choices.empty())
    details.push_back(fmt::format("[{}: {}]", option.value.several ? "some of" : "one of",
                                  fmt::join(option.value.choices, ", ")));
  const std::string& standard = option.standard.empty() ? option.value.standard : option.standard;
  if (!standard.empty()) details.push_back("[default: " + standard + "]");
  if (!option.used_by.empty()) details.push_back("[methods: " + option.used_by + "]");
  return details;
}

std::vector<std::string> groups_of(const Command& command) {
  std::vector<std::string> groups;
  for (const Option& option : command.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  return groups;
}

std::string usage(const Program& program, const Command& command) {
  if (command.is_group()) return fmt::format("{} {} COMMAND ...", program.name, command.name);
  std::string line = fmt::format("{} {} [OPTIONS]", program.name, command.name);
  for (const Option& option : command.options)
    if (option.required) line += " " + names_of(option);
  for (const Option& argument : command.arguments) {
    const std::string name = argument.name + (argument.value.several ? "..." : "");
    line += argument.required ? " " + name : " [" + name + "]";
  }
  return line;
}

std::string program_help(const Program& program, int columns) {
  const auto width = static_cast<std::size_t>(columns);
  std::string result = paragraphs(program.summary, width);
  result += fmt::format("\nUsage: {} [OPTIONS] COMMAND ...\n\nCommands:\n", program.name);
  for (const Command& command : program.commands)
    result += row(command.name, command.summary, width);
  result += "\nOptions, before or after the command:\n" + global_rows(program, width);
  result += row("--version", "Show the version", width);
  result += fmt::format("\n'{} COMMAND --help' shows the options of a command.\n", program.name);
  return result;
}

std::string command_help(const Program& program, const Command& command, int columns) {
  const auto width = static_cast<std::size_t>(columns);
  std::string result = paragraphs(command.summary + ".", width);
  result += "\nUsage: " + usage(program, command) + "\n";
  if (!command.description.empty()) result += "\n" + paragraphs(command.description, width);
  if (command.is_group()) result += "\nCommands:\n";
  for (const Command& member : command.commands) result += row(member.name, member.summary, width);
  if (!command.arguments.empty()) result += "\nArguments:\n";
  for (const Option& argument : command.arguments) result += option_row(argument, width);
  for (const std::string& group : groups_of(command)) {
    result += "\n" + group + ":\n";
    for (const Option& option : command.options)
      if (option.group == group) result += option_row(option, width);
  }
  for (const Section& section : command.sections) {
    result += "\n" + section.title + ":\n" + wrapped(section.text, 2, width);
    for (const Option& option : section.rows) result += option_row(option, width);
  }
  result += "\nGlobal options, before or after the command:\n" + global_rows(program, width);
  if (!command.examples.empty()) result += "\nExamples:\n";
  for (const std::string& example : command.examples) result += "  " + example + "\n";
  if (command.is_group())
    result += fmt::format("\n'{} {} COMMAND --help' shows the options of a command.\n",
                          program.name, command.name);
  return result;
}

}  // namespace counterbeam::cli
