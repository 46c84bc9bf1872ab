// counterbeam: the command line. Exit codes: 0 done, 1 failed, 2 bad usage or input, 130 stopped by
// Ctrl-C.
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/output.h"
#include "base/utf8.h"
#include "cli/build.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/out_of_memory.h"
#include "cli/parse.h"

namespace counterbeam::cli {
namespace {

constexpr int kFailed = 1, kBadInput = 2, kInterrupted = 130;

// An argument that is not valid UTF-8, as $'x\xFF', which bash and zsh understand. Results record
// the command and must be valid UTF-8.
std::string quoted_bytes(const std::string& argument) {
  std::string quoted = "$'";
  for (const char c : argument) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7F && c != '\'' && c != '\\';
    quoted += plain ? std::string(1, c) : fmt::format("\\x{:02X}", byte);
  }
  return quoted + "'";
}

// An argument as a shell takes it.
std::string shell_word(const std::string& argument) {
  constexpr std::string_view kPlain = "-_./=:,+@%";
  const bool plain =
      !argument.empty() && std::all_of(argument.begin(), argument.end(), [&](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || kPlain.find(c) != kPlain.npos;
      });
  if (plain) return argument;
  if (!is_valid_utf8(argument)) return quoted_bytes(argument);
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The command line as it could be typed again. It is written into results, so that keys are left
// out of it.
std::string command_line(std::span<const std::string> arguments) {
  constexpr std::string_view kSecrets[] = {"--engine-key", "--api-key"};
  std::string line = "counterbeam";
  bool secret = false;
  for (const std::string& argument : arguments) {
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    const bool names_secret =
        std::find(std::begin(kSecrets), std::end(kSecrets), name) != std::end(kSecrets);
    if (secret)
      line += " ...";
    else if (names_secret && name.size() < argument.size())
      line += fmt::format(" {}=...", name);
    else
      line += " " + shell_word(argument);
    secret = names_secret && name.size() == argument.size();
  }
  return line;
}

void run(std::span<const std::string> arguments) {
  Globals globals;
  globals.command = command_line(arguments);
  Program program;
  program.name = "counterbeam";
  program.version = kVersion;
  program.summary =
      "Counterbeam: better answers from the language model you have, by contrastive beam search.";
  program.globals = global_options(globals);
  program.commands = all_commands(globals, program);

  const Parsed parsed = parse(program, arguments);
  if (parsed.wish == Parsed::Wish::Version)
    print_result("{}\n", program.version);
  else if (parsed.wish == Parsed::Wish::Help)
    write_result(parsed.command ? command_help(program, *parsed.command, help_width())
                                : program_help(program, help_width()));
  else
    parsed.command->run();
  flush_results();
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::BadInput:
      return kBadInput;
    case ErrorKind::Cancelled:
      return kInterrupted;
    case ErrorKind::Failed:
      break;
  }
  return kFailed;
}

// Reports the failure after the results that came before it, whether or not they arrive. Allocates
// nothing, since there may be no memory.
int report(const char* message, int code) {
  std::fflush(stdout);
  write_message("counterbeam: ");
  write_escaped(message);
  write_message("\n");
  return code;
}

// Threads get stacks of this size too, and parsers of nested input are sized for it.
void check_stack() {
  constexpr rlim_t kLeastStack = 1 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kLeastStack)
    failed("the stack is limited to {} bytes, and at least {} are needed; raise it (ulimit -s)",
           limit.rlim_cur, kLeastStack);
}

int run_and_report(int argc, char** argv) {
  try {
    check_stack();
    run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
    return 0;
  } catch (const ResultsLost& error) {
    return error.reader_left() ? kFailed : report(error.what(), kFailed);
  } catch (const Error& error) {
    return report(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report(kOutOfMemory, kFailed);
  } catch (const std::exception& error) {
    return report(error.what(), kFailed);
  }
}

}  // namespace
}  // namespace counterbeam::cli

int main(int argc, char** argv) {
  counterbeam::occupy_closed_streams();
  counterbeam::make_write_signals_errors();
  counterbeam::cli::end_cleanly_without_memory();
  return counterbeam::cli::run_and_report(argc, argv);
}
