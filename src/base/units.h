// Human-readable sizes, counts and durations.
#pragma once

#include <cstdint>
#include <string>

namespace counterbeam {

std::string human_bytes(std::int64_t bytes);  // "512 B", "1.5 KiB", "18.6 GiB"
std::string human_count(std::int64_t count);  // "752,393,024"
std::string human_duration(double seconds);   // "0.4 s", "12 s", "3:07 min", "2:05:30 h"

}  // namespace counterbeam
