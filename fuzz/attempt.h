// Runs a reader on an input that it may refuse. Any other exception ends the process.
#pragma once

#include "base/error.h"

namespace counterbeam {

template <typename Read>
void attempt(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace counterbeam
