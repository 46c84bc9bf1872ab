#include "base/page.h"

#include "base/error.h"
#include "base/json.h"

namespace counterbeam {

std::string page_with_data(std::string_view page, std::string_view place, const Json& data) {
  // Only "<" could end the script element early; in JSON it occurs in strings only, where it can be
  // escaped.
  std::string text;
  for (char c : to_line(data)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  const auto at = page.find(place);
  CB_CHECK(at != page.npos);
  return std::string(page.substr(0, at)) + text + std::string(page.substr(at + place.size()));
}

}  // namespace counterbeam
