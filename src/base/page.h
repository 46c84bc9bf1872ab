// Puts data into an HTML page that is embedded in the program.
#pragma once

#include <string>
#include <string_view>

#include "base/json_fwd.h"

namespace counterbeam {

// Returns the page with `place` replaced by the JSON, escaped for use inside a script element.
// REQUIRES: the page contains `place`.
std::string page_with_data(std::string_view page, std::string_view place, const Json& data);

}  // namespace counterbeam
