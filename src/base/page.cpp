#include "base/page.h"

#include "base/error.h"
#include "base/json.h"

namespace counterbeam {

std::string script_json(const Json& data) {
  // Only "<" could end the script element early; in JSON it occurs in strings only, where it can be
  // escaped.
  std::string text;
  for (char c : to_line(data)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

std::string page_with_text(std::string_view page, std::string_view place, std::string_view text) {
  const auto at = page.find(place);
  CB_CHECK(at != page.npos);
  std::string whole;
  whole.reserve(page.size() + text.size());
  return whole.append(page.substr(0, at)).append(text).append(page.substr(at + place.size()));
}

std::string page_with_data(std::string_view page, std::string_view place, const Json& data) {
  return page_with_text(page, place, script_json(data));
}

}  // namespace counterbeam
