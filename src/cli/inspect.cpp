#include "cli/command.h"

namespace counterbeam::cli {

void add_inspect(CLI::App&, const Globals&) {}

}  // namespace counterbeam::cli
