// Names Json without its definition: for headers that only pass it on. It takes seconds to compile.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace counterbeam {

using Json = nlohmann::ordered_json;

}  // namespace counterbeam
