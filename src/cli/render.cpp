#include "cli/command.h"

namespace counterbeam::cli {

void add_render(CLI::App&, const Globals&) {}

}  // namespace counterbeam::cli
