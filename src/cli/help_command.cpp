// `help`, `man` and `completion`: the command line about itself.
#include <memory>

#include "base/error.h"
#include "base/output.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/manual.h"

namespace counterbeam::cli {

Command help_command(const Program& program) {
  const auto words = std::make_shared<std::vector<std::string>>();
  return {.name = "help",
          .summary = "Show the help of a command",
          .arguments = {{.name = "COMMAND",
                         .value = repeated(*words, "COMMAND"),
                         .help = "The command, such as ask or contexts search",
                         .standard = "the list of commands"}},
          .run = [words, &program] {
            if (words->empty()) return write_result(program_help(program, help_width()));
            const Command* command = &program.at(words->front());
            for (std::size_t i = 1; i < words->size(); ++i) {
              if (!command->is_group())
                bad_input("help: {} has no commands of its own; leave {} out", command->name,
                          in_quotes((*words)[i]));
              command = &command->at((*words)[i]);
            }
            write_result(command_help(program, *command, help_width()));
          }};
}

Command man_command(const Program& program) {
  return {.name = "man",
          .summary = "Print the manual page",
          .description = "An installation has it in place: man counterbeam.",
          .examples = {"counterbeam man | man -l -"},
          .run = [&program] { write_result(manual_page(program)); }};
}

Command completion_command(const Program& program) {
  const auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .summary = "Print the completions of commands and options for a shell",
          .description = "An installation has them in place for all three shells.",
          .arguments = {{.name = "SHELL",
                         .value = one_of(*shell, {"bash", "zsh", "fish"}),
                         .help = "The shell",
                         .required = true}},
          .examples = {"source <(counterbeam completion bash)",
                       "counterbeam completion zsh > ~/.zfunc/_counterbeam",
                       "counterbeam completion fish > ~/.config/fish/completions/counterbeam.fish"},
          .run = [shell, &program] {
            write_result(*shell == "bash"  ? bash_completion(program)
                         : *shell == "zsh" ? zsh_completion(program)
                                           : fish_completion(program));
          }};
}

}  // namespace counterbeam::cli
