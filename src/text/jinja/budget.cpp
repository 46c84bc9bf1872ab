#include "text/jinja/budget.h"

#include <fmt/format.h>

namespace counterbeam::jinja {

void Budget::fail_steps() const {
  throw Fault(
      fmt::format("the template runs for more than {} steps; it may never end", limits_.steps));
}

void Budget::fail_memory() const {
  throw Fault(fmt::format("the template's values need more than {} MiB of memory",
                          limits_.memory_bytes >> 20));
}

void Budget::fail_text(std::size_t bytes) const {
  throw Fault(fmt::format("a text of {} bytes is more than the limit of {} MiB", bytes,
                          limits_.output_bytes >> 20));
}

}  // namespace counterbeam::jinja
