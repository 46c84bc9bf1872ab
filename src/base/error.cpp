#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace counterbeam {

void throw_error(ErrorKind kind, const std::string& message) {
  switch (kind) {
    case ErrorKind::BadInput:
      throw BadInput(message);
    case ErrorKind::Failed:
      throw Failed(message);
    case ErrorKind::Cancelled:
      throw Cancelled(message);
  }
  CB_CHECK(false);
}

void broken_invariant(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "counterbeam: broken invariant %s at %s:%d; please report this\n", condition,
               file, line);
  std::abort();
}

}  // namespace counterbeam
