#include "cli/command.h"

namespace counterbeam::cli {

void add_tokenize(CLI::App&, const Globals&) {}

}  // namespace counterbeam::cli
