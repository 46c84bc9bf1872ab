// Puts data into an HTML page that is embedded in the program.
#pragma once

#include <string>
#include <string_view>

#include "base/json_fwd.h"

namespace counterbeam {

// The JSON on one line, escaped for use inside a script element.
std::string script_json(const Json& data);

// Returns the page with `place` replaced by `text`. REQUIRES: the page contains `place`.
std::string page_with_text(std::string_view page, std::string_view place, std::string_view text);

// Returns the page with `place` replaced by the JSON, escaped for use inside a script element.
// REQUIRES: the page contains `place`.
std::string page_with_data(std::string_view page, std::string_view place, const Json& data);

}  // namespace counterbeam
