#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace counterbeam::cli {
namespace {

bool is_file(const Value& value) {
  return value.placeholder == "FILE";
}

bool is_folder(const Value& value) {
  return value.placeholder == "FOLDER";
}

// In single quotes, as all three shells read it.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char character : text) {
    if (character == '\'')
      result += "'\\''";
    else
      result += character;
  }
  return result + "'";
}

std::string choices_of(const Value& value) {
  return fmt::format("{}", fmt::join(value.choices, " "));
}

std::string names_of_commands(const Program& program, const char* between) {
  std::vector<std::string> names;
  for (const Command& command : program.commands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, between));
}

std::string names_within(const Command& group, const char* between) {
  std::vector<std::string_view> names;
  for (const Command& command : group.commands) names.push_back(own_name(command));
  return fmt::format("{}", fmt::join(names, between));
}

std::string names_of_options(const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back(option.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// The bash function of this script that completes a value.
std::string bash_action(const Value& value) {
  if (!value.choices.empty())
    return fmt::format("_counterbeam_words {}", shell_quoted(choices_of(value)));
  if (is_file(value)) return "_counterbeam_paths -f";
  if (is_folder(value)) return "_counterbeam_paths -d";
  return ":";
}

std::string bash_values(const std::string& command, const std::vector<Option>& options) {
  std::string lines;
  for (const Option& option : options)
    if (!option.value.is_flag())
      lines += fmt::format("    {}:{}) {}; return ;;\n", command, option.name,
                           bash_action(option.value));
  return lines;
}

// The name of a command in a pattern of bash; in quotes if it has two words.
std::string bash_name(const Command& command) {
  return command.name.find(' ') == command.name.npos ? command.name : "'" + command.name + "'";
}

// A word in the brackets or between the colons of a zsh _arguments specification.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char character : text) {
    if (character == '[' || character == ']' || character == ':' || character == '\\')
      result += '\\';
    result += character;
  }
  return result;
}

std::string zsh_action(const Value& value) {
  if (!value.choices.empty())
    return value.several ? "_values -s , value " + choices_of(value)
                         : "(" + choices_of(value) + ")";
  if (is_file(value)) return "_files";
  if (is_folder(value)) return "_files -/";
  return "";
}

std::string zsh_options(const std::vector<Option>& options) {
  std::string lines;
  for (const Option& option : options) {
    std::string entry = option.name;
    if (!option.value.is_flag()) entry += "=";
    entry += "[" + zsh_text(option.help) + "]";
    if (!option.value.is_flag())
      entry += ":" + zsh_text(option.value.placeholder) + ":" + zsh_action(option.value);
    lines += "    " + shell_quoted(entry) + "\n";
    if (!option.letter.empty())
      lines += "    " + shell_quoted(option.letter + "[" + zsh_text(option.help) + "]") + "\n";
  }
  return lines;
}

std::string zsh_arguments(const Command& command) {
  std::string lines;
  for (const Option& argument : command.arguments)
    lines += "    " +
             shell_quoted(fmt::format("{}:{}:{}", argument.value.several ? "*" : "",
                                      zsh_text(argument.name), zsh_action(argument.value))) +
             "\n";
  return lines;
}

std::string zsh_command(const Command& command) {
  return fmt::format("    {})\n  local -a own\n  own=(\n{}{}  )\n  _arguments $globals $own ;;\n",
                     own_name(command), zsh_options(command.options), zsh_arguments(command));
}

// The rest of the line is completed again, with the group's commands as the commands.
std::string zsh_group(const Command& group) {
  std::string script = fmt::format(
      "    {})\n  _arguments -C $globals {} '*::argument:->member'\n  case $state in\n  member)\n"
      "    case $line[1] in\n",
      group.name, shell_quoted(fmt::format("1:command:({})", names_within(group, " "))));
  for (const Command& command : group.commands) script += zsh_command(command);
  return script + "    esac ;;\n  esac ;;\n";
}

std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char character : text) {
    if (character == '\'' || character == '\\') result += '\\';
    result += character;
  }
  return result + "'";
}

std::string fish_value(const Value& value) {
  if (value.is_flag()) return "";
  if (!value.choices.empty()) return " -x -a " + fish_quoted(choices_of(value));
  if (is_file(value)) return " -r -F";
  if (is_folder(value)) return " -x -a '(__fish_complete_directories)'";
  return " -x";
}

std::string fish_options(const std::string& condition, const std::vector<Option>& options) {
  std::string lines;
  for (const Option& option : options)
    lines += fmt::format("complete -c counterbeam{}{} -l {}{} -d {}\n", condition,
                         option.letter.empty() ? "" : " -s " + option.letter.substr(1),
                         option.name.substr(2), fish_value(option.value), fish_quoted(option.help));
  return lines;
}

std::string fish_command(const Command& command, const std::string& seen) {
  const std::string condition = fmt::format(" -n '{}'", seen);
  std::string lines = fish_options(condition, command.options);
  for (const Option& argument : command.arguments)
    if (const std::string value = fish_value(argument.value); value != " -x")
      lines += fmt::format("complete -c counterbeam{}{}\n", condition, value);
  return lines;
}

}  // namespace

std::string bash_completion(const Program& program) {
  std::string script = R"(# Completions of counterbeam for bash.

# The choices $1 for the last item of the list that $current is.
_counterbeam_words() {
  local list=
  [[ $current == *,* ]] && list=${current%,*},
  COMPREPLY=($(compgen -P "$list" -W "$1" -- "${current##*,}"))
}

_counterbeam_paths() {
  compopt -o filenames 2>/dev/null
  local IFS=$'\n'
  COMPREPLY=($(compgen "$1" -- "$current"))
}

_counterbeam() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= i
  COMPREPLY=()
  # bash splits --option=value at the equals sign
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case $command:${COMP_WORDS[i]} in
)";
  std::vector<std::string> valued;
  for (const Option& option : program.globals)
    if (!option.value.is_flag()) valued.push_back(":" + option.name);
  script += fmt::format("      {}) ((i++)) ;;\n", fmt::join(valued, " | "));
  for (const Command& command : program.commands) {
    script += fmt::format("      :{0}) command={0} ;;\n", command.name);
    for (const Command& member : command.commands)
      script += fmt::format("      {}:{}) command={} ;;\n", command.name, own_name(member),
                            bash_name(member));
  }
  script += "    esac\n  done\n  case $command:$previous in\n";
  for (const Command* command : program.runnable())
    script += bash_values(bash_name(*command), command->options);
  script += bash_values("*", program.globals);
  script += "  esac\n  case $command:$current in\n";
  const std::string globals = names_of_options(program.globals) + " --help";
  for (const Command* command : program.runnable())
    script += fmt::format("    {}:-*) _counterbeam_words {} ;;\n", bash_name(*command),
                          shell_quoted(names_of_options(command->options) + " " + globals));
  script +=
      fmt::format("    :-*) _counterbeam_words {} ;;\n", shell_quoted(globals + " --version"));
  script += fmt::format("    :*) _counterbeam_words {} ;;\n",
                        shell_quoted(names_of_commands(program, " ")));
  for (const Command& group : program.commands)
    if (group.is_group())
      script += fmt::format(
          "    {0}:-*) _counterbeam_words {1} ;;\n    {0}:*) _counterbeam_words {2} ;;\n",
          group.name, shell_quoted(globals), shell_quoted(names_within(group, " ")));
  for (const Command* command : program.runnable())
    if (!command->arguments.empty())
      script +=
          fmt::format("    {}:*) {} ;;\n", bash_name(*command),
                      command->name == "help"
                          ? "_counterbeam_words " + shell_quoted(names_of_commands(program, " "))
                          : bash_action(command->arguments.front().value));
  return script + "  esac\n}\n\ncomplete -F _counterbeam counterbeam\n";
}

std::string zsh_completion(const Program& program) {
  std::string script =
      "#compdef counterbeam\n# Completions of counterbeam for zsh.\n\n_counterbeam() {\n"
      "  local curcontext=$curcontext state line\n  local -a globals commands\n  globals=(\n";
  script += zsh_options(program.globals) + "    '(-h --help)'{-h,--help}'[Show help]'\n  )\n";
  script += "  commands=(\n";
  for (const Command& command : program.commands)
    script +=
        "    " + shell_quoted(zsh_text(command.name) + ":" + zsh_text(command.summary)) + "\n";
  script +=
      "  )\n  _arguments -C $globals '--version[Show the version]' '1:command:->command' "
      "'*::argument:->arguments'\n  case $state in\n  command) _describe command commands ;;\n"
      "  arguments)\n    case $line[1] in\n";
  for (const Command& command : program.commands)
    script += command.is_group() ? zsh_group(command) : zsh_command(command);
  return script + "    esac ;;\n  esac\n}\n\n_counterbeam \"$@\"\n";
}

std::string fish_completion(const Program& program) {
  std::string script =
      "# Completions of counterbeam for fish.\n"
      "complete -c counterbeam -f\n";
  script += fish_options("", program.globals);
  script += "complete -c counterbeam -s h -l help -d 'Show help'\n";
  script += "complete -c counterbeam -n __fish_use_subcommand -l version -d 'Show the version'\n";
  for (const Command& command : program.commands) {
    const std::string seen = "__fish_seen_subcommand_from " + command.name;
    script += fmt::format("complete -c counterbeam -n __fish_use_subcommand -a {} -d {}\n",
                          command.name, fish_quoted(command.summary));
    script += fish_command(command, seen);
    for (const Command& member : command.commands) {
      script += fmt::format(
          "complete -c counterbeam -n '{}; and not __fish_seen_subcommand_from {}' -a {} -d {}\n",
          seen, names_within(command, " "), own_name(member), fish_quoted(member.summary));
      script += fish_command(
          member, fmt::format("{}; and __fish_seen_subcommand_from {}", seen, own_name(member)));
    }
  }
  return script;
}

}  // namespace counterbeam::cli
