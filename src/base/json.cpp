#include "base/json.h"

#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

constexpr int kMaxDepth = 256;

// Watches the parse for what nlohmann lets pass: depth and duplicate keys.
struct Watch {
  std::string_view name;
  std::vector<std::set<std::string, std::less<>>> keys;

  bool operator()(int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMaxDepth) bad_input("{}: nested deeper than {} levels", name, kMaxDepth);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) bad_input("{}: key \"{}\" occurs twice", name, key);
    }
    return true;
  }
};

}  // namespace

Json parse_json(std::string_view text, std::string_view name) {
  try {
    return Json::parse(text.begin(), text.end(), Watch{name, {}});
  } catch (const Json::exception& error) {  // bad syntax, or a number beyond a double
    // nlohmann's message: "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view what = error.what();
    if (const auto at = what.find("] "); at != what.npos) what.remove_prefix(at + 2);
    bad_input("{}: not valid JSON: {}", name, printable(what, 300));
  }
}

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

std::string to_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace counterbeam
