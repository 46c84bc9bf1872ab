#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace counterbeam {

void broken_invariant(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "counterbeam: broken invariant %s at %s:%d; please report this\n", condition,
               file, line);
  std::abort();
}

}  // namespace counterbeam
