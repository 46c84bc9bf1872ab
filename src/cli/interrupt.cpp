#include "cli/interrupt.h"

#include <csignal>

namespace counterbeam::cli {
namespace {

Cancellation interrupted;

}  // namespace

const Cancellation& cancelled_by_ctrl_c() {
  std::signal(SIGINT, [](int) {
    interrupted.cancel();
    std::signal(SIGINT, SIG_DFL);
  });
  return interrupted;
}

}  // namespace counterbeam::cli
