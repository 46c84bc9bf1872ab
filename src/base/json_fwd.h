// Declares Json without defining it, for headers that only pass it on: the definition takes seconds
// to compile.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace counterbeam {

using Json = nlohmann::ordered_json;

}  // namespace counterbeam
