#include "cli/commands.h"

namespace counterbeam::cli {

std::vector<Command> all_commands(const Globals& globals, const Program& program) {
  using Make = Command (*)(const Globals&);
  constexpr Make kCommands[] = {
      ask_command,     chat_command,      score_command,    serve_command,    eval_command,
      merge_command,   reproduce_command, report_command,   diagnose_command, contexts_command,
      inspect_command, quantize_command,  tokenize_command, render_command,   logits_command,
      grade_command,   bench_command,     theory_command};
  std::vector<Command> commands;
  for (const Make make : kCommands) commands.push_back(make(globals));
  commands.push_back(help_command(program));
  commands.push_back(man_command(program));
  commands.push_back(completion_command(program));
  return commands;
}

}  // namespace counterbeam::cli
