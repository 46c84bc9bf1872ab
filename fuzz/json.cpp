// Reads any bytes as JSON with the pull parser and with nlohmann's: both refuse it, or both read
// the same value.
#include "base/json.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_cursor.h"

using namespace counterbeam;

namespace {

// The value at the cursor, built from what the cursor says about it.
Json value_at(JsonCursor& cursor) {
  const char first = cursor.peek();
  if (first == '"') return cursor.string("a value");
  if (first == '{') {
    Json object = Json::object();
    cursor.object("a value", [&](const std::string& key) { object[key] = value_at(cursor); });
    return object;
  }
  if (first == '[') {
    Json array = Json::array();
    cursor.array("a value", [&] { array.push_back(value_at(cursor)); });
    return array;
  }
  return Json::parse(cursor.raw(), nullptr,
                     false);  // a number or a literal, of which the text counts
}

template <typename Read>
bool accepts(Read read) {
  try {
    read();
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool too_deep(std::string_view text) {
  int depth = 0, most = 0;
  for (const char c : text) {
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    most = std::max(most, depth);
  }
  return most > 200;
}

// nlohmann's parser takes a zero byte for the end.
bool has_zero(std::string_view text) {
  return text.find('\0') != text.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Limits and extensions that differ on purpose: nesting, nlohmann's byte-order mark.
  if (too_deep(text) || text.starts_with("\xEF\xBB\xBF")) return 0;
  JsonCursor skipping(text, "fuzz", "advice"), building(text, "fuzz", "advice");
  Json built;
  const bool skipped = accepts([&] { skipping.skip(), skipping.end(); });
  CB_CHECK(skipped == accepts([&] { built = value_at(building), building.end(); }));
  Json parsed;
  const bool ours = accepts([&] { parsed = parse_json(text, "fuzz"); });
  CB_CHECK(!ours || (skipped && built == parsed));
  // Ours also refuses keys that occur twice, and numbers beyond a double as nlohmann does.
  if (skipped && !ours) return 0;
  CB_CHECK(ours == skipped && ours == (!has_zero(text) && Json::accept(text)));
  return 0;
}
