#include "cli/parse.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/closest.h"
#include "base/error.h"
#include "base/quote.h"

namespace counterbeam::cli {
namespace {

bool names(const Option& option, std::string_view name) {
  return option.name == name || (!option.letter.empty() && option.letter == name);
}

const Option* find_option(const std::vector<Option>& options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& option) { return names(option, name); });
  return found == options.end() ? nullptr : &*found;
}

bool is_option(std::string_view argument) {
  return argument.size() > 1 && argument.front() == '-';
}

class Parser {
 public:
  Parser(const Program& program, std::span<const std::string> arguments)
      : program_(program), arguments_(arguments) {}

  Parsed run() {
    if (arguments_.empty()) return {Parsed::Wish::Help};
    for (; at_ < arguments_.size(); ++at_) {
      const std::string& argument = arguments_[at_];
      if (options_end_ || !is_option(argument)) {
        word(argument);
      } else if (argument == "--") {
        options_end_ = true;
      } else if (argument == "--help" || argument == "-h") {
        return {Parsed::Wish::Help, later_command()};
      } else if (argument == "--version" && !command_) {
        return {Parsed::Wish::Version};
      } else {
        option(argument);
      }
    }
    if (!command_) bad_input("a command is missing; counterbeam --help lists the commands");
    if (command_->is_group()) return {Parsed::Wish::Help, command_};
    check_required();
    return {Parsed::Wish::Run, command_};
  }

 private:
  std::string see_help() const {
    return command_ ? fmt::format("{} {} --help", program_.name, command_->name)
                    : program_.name + " --help";
  }

  // `counterbeam --help ask`.
  const Command* later_command() const {
    const Command* command = command_;
    for (std::size_t i = at_ + 1; i < arguments_.size(); ++i)
      if (const Command* next =
              command ? command->find(arguments_[i]) : program_.find(arguments_[i]))
        command = next;
    return command;
  }

  void word(const std::string& argument) {
    if (!command_)
      command_ = &program_.at(argument);
    else if (command_->is_group())
      command_ = &command_->at(argument);
    else
      positional(argument);
  }

  void positional(const std::string& argument) {
    const auto& wanted = command_->arguments;
    if (words_ >= wanted.size() && (wanted.empty() || !wanted.back().value.several))
      bad_input("{}: unexpected argument {}; {}, and a text of several words needs quotes ({})",
                command_->name, in_quotes(argument),
                wanted.empty()
                    ? "it takes options only"
                    : fmt::format("it takes {}", wanted.size() == 1
                                                     ? "one argument"
                                                     : fmt::format("{} arguments", wanted.size())),
                see_help());
    const Option& option = wanted[std::min(words_, wanted.size() - 1)];
    option.value.take(argument, option.name);
    ++words_;
  }

  void option(const std::string& argument) {
    const bool is_long = argument.starts_with("--");
    const auto equals = is_long ? argument.find('=') : argument.npos;
    const std::string name = argument.substr(0, equals);
    const Option* found = find(name);
    if (!found) unknown(name);
    if (found->value.is_flag()) {
      if (equals != argument.npos) bad_input("{} takes no value; write it alone", name);
      found->value.take("", name);
      return;
    }
    if (!given_.insert(found).second && !found->value.several)
      bad_input("{} is given twice; give it once", name);
    found->value.take(equals != argument.npos ? argument.substr(equals + 1) : next_value(*found),
                      name);
  }

  const Option* find(std::string_view name) const {
    const Option* own = command_ ? find_option(command_->options, name) : nullptr;
    return own ? own : find_option(program_.globals, name);
  }

  // Whatever comes next is the value, also `-1` and `-`; only another option is taken for a slip.
  const std::string& next_value(const Option& option) {
    const bool none = at_ + 1 >= arguments_.size();
    if (none || arguments_[at_ + 1] == "--")
      bad_input("{} needs a value: {} {}", option.name, option.name, option.value.placeholder);
    const std::string& next = arguments_[at_ + 1];
    if (next.starts_with("-") &&
        (next == "--help" || find(std::string_view(next).substr(0, next.find('=')))))
      bad_input("{} needs a value, but the option {} follows; if that is the value, write {}={}",
                option.name, printable(next), option.name, printable(next));
    ++at_;
    return next;
  }

  [[noreturn]] void unknown(const std::string& name) const {
    std::vector<std::string_view> known = {"--help"};
    if (!command_) known.push_back("--version");
    for (const Option& option : program_.globals) known.push_back(option.name);
    for (const Command* command : program_.runnable())
      if ((!command_ || command_->find(own_name(*command)) == command) &&
          find_option(command->options, name))
        bad_input("{}: options of a command stand after its name: {} {} {}", name, program_.name,
                  command->name, name);
    if (!command_)
      bad_input("unknown option {}{} ({} lists the options)", printable(name),
                did_you_mean(name, known), see_help());
    for (const Option& option : command_->options) known.push_back(option.name);
    bad_input("{}: unknown option {}{} ({} lists the options)", command_->name, printable(name),
              did_you_mean(name, known), see_help());
  }

  void check_required() const {
    for (std::size_t i = words_; i < command_->arguments.size(); ++i)
      if (command_->arguments[i].required) missing(command_->arguments[i]);
    for (const Option& option : command_->options)
      if (option.required && !given_.contains(&option)) missing(option);
  }

  [[noreturn]] void missing(const Option& option) const {
    bad_input("{}: {} is missing: {} ({})", command_->name,
              option.name.starts_with("-")
                  ? fmt::format("{} {}", option.name, option.value.placeholder)
                  : option.name,
              option.help, see_help());
  }

  const Program& program_;
  std::span<const std::string> arguments_;
  const Command* command_ = nullptr;
  std::size_t at_ = 0, words_ = 0;  // words: arguments by position so far
  bool options_end_ = false;
  std::set<const Option*> given_;
};

}  // namespace

std::string_view own_name(const Command& command) {
  return std::string_view(command.name).substr(command.name.rfind(' ') + 1);
}

const Command* Command::find(std::string_view word) const {
  for (const Command& candidate : commands)
    if (own_name(candidate) == word) return &candidate;
  return nullptr;
}

const Command& Command::at(std::string_view word) const {
  if (const Command* found = find(word)) return *found;
  std::vector<std::string_view> known;
  for (const Command& candidate : commands) known.push_back(own_name(candidate));
  bad_input("{}: {} is not one of its commands, {}{} (counterbeam {} --help)", name,
            in_quotes(word), fmt::join(known, ", "), did_you_mean(word, known), name);
}

const Command* Program::find(std::string_view command) const {
  for (const Command& candidate : commands)
    if (candidate.name == command) return &candidate;
  return nullptr;
}

const Command& Program::at(std::string_view command) const {
  if (const Command* found = find(command)) return *found;
  std::vector<std::string_view> known;
  for (const Command& candidate : commands) known.push_back(candidate.name);
  bad_input("{} is not a command{} ({} --help lists the commands)", in_quotes(command),
            did_you_mean(command, known), name);
}

std::vector<const Command*> Program::runnable() const {
  std::vector<const Command*> all;
  for (const Command& command : commands) {
    if (!command.is_group()) all.push_back(&command);
    for (const Command& member : command.commands) all.push_back(&member);
  }
  return all;
}

Parsed parse(const Program& program, std::span<const std::string> arguments) {
  return Parser(program, arguments).run();
}

}  // namespace counterbeam::cli
