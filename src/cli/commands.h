// Every command. A new one is declared here and listed in commands.cpp.
#pragma once

#include "cli/command.h"
#include "cli/globals.h"

namespace counterbeam::cli {

// In the order of --help. REQUIRES that both outlive the commands; `program` is the one that will
// hold them, which the commands about the command line itself describe.
std::vector<Command> all_commands(const Globals& globals, const Program& program);

Command ask_command(const Globals& globals);
Command chat_command(const Globals& globals);
Command score_command(const Globals& globals);
Command serve_command(const Globals& globals);
Command eval_command(const Globals& globals);
Command merge_command(const Globals& globals);
Command reproduce_command(const Globals& globals);
Command diagnose_command(const Globals& globals);
Command report_command(const Globals& globals);
Command contexts_command(const Globals& globals);
Command inspect_command(const Globals& globals);
Command quantize_command(const Globals& globals);
Command tokenize_command(const Globals& globals);
Command render_command(const Globals& globals);
Command logits_command(const Globals& globals);
Command grade_command(const Globals& globals);
Command bench_command(const Globals& globals);
Command theory_command(const Globals& globals);
Command help_command(const Program& program);
Command man_command(const Program& program);
Command completion_command(const Program& program);

}  // namespace counterbeam::cli
