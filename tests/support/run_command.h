// Runs a shell command and returns its output and exit code.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "support/temporary_folder.h"

namespace counterbeam::testing {

struct CommandResult {
  std::string out, err;
  int code = -1;  // -1 if ended by a signal
};

inline CommandResult run_command(const std::string& command) {
  const TemporaryFolder folder;
  const std::string out = folder.path() / "out", err = folder.path() / "err";
  const int status =
      std::system(("( " + command + " ) >'" + out + "' 2>'" + err + "' </dev/null").c_str());
  return {read_file(out), read_file(err), WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

inline CommandResult run_counterbeam(const std::string& arguments) {
  return run_command("'" COUNTERBEAM_BINARY "' " + arguments);
}

}  // namespace counterbeam::testing
