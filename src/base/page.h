// Puts data into a page that ships in the program.
#pragma once

#include <string>
#include <string_view>

#include "base/json_fwd.h"

namespace counterbeam {

// The page with `place` replaced by the JSON, safe inside a script element. REQUIRES that the page
// has the place.
std::string page_with_data(std::string_view page, std::string_view place, const Json& data);

}  // namespace counterbeam
