// Methods of str that return a number or a bool: searches, prefixes and character classes.
#include <fmt/format.h>

#include "text/jinja/builtin.h"
#include "text/jinja/chars.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

// The characters [start, end) that a search is limited to, as byte offsets.
struct Window {
  std::size_t from, to;
  bool empty_range;  // start is beyond end: not even "" is found
};

Window window(const Call& call, std::size_t first) {
  const std::string_view view = text_of(call.self).view();
  call.budget.scan(view.size());
  if (!call.has(first)) return {0, view.size(), false};
  const auto size = static_cast<std::int64_t>(count_points(view));
  const auto place = [&](std::size_t i, std::int64_t otherwise) {
    std::int64_t at = call.has(i) && !call[i].is(Kind::None) ? call.integer(i) : otherwise;
    if (at < 0) at = std::max<std::int64_t>(at + size, 0);
    return at;
  };
  const std::int64_t start = place(first, 0);
  const std::int64_t end = std::min(place(first + 1, size), size);
  if (start > end) return {0, 0, true};
  return {offset_of(view, static_cast<std::size_t>(start)),
          offset_of(view, static_cast<std::size_t>(end)), false};
}

template <bool kRight>
std::int64_t search(const Call& call) {
  const Window in = window(call, 1);
  const std::string_view view = text_of(call.self).view();
  const std::string_view needle = call.text(0).view();
  if (in.empty_range) return -1;
  const std::string_view part = view.substr(in.from, in.to - in.from);
  const std::size_t found = kRight ? part.rfind(needle) : part.find(needle);
  if (found == part.npos) return -1;
  return static_cast<std::int64_t>(count_points(view.substr(0, in.from + found)));
}

template <bool kRight>
Value find_text(Call& call) {
  return Value(search<kRight>(call));
}

template <bool kRight>
Value index_text(Call& call) {
  const std::int64_t at = search<kRight>(call);
  if (at < 0) call.fail("substring not found");
  return Value(at);
}

Value count_text(Call& call) {
  const Window in = window(call, 1);
  const std::string_view part = text_of(call.self).view().substr(in.from, in.to - in.from);
  const std::string_view needle = call.text(0).view();
  if (in.empty_range) return Value(std::int64_t{0});
  if (needle.empty()) return Value::count(count_points(part) + 1);
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = part.find(needle, at)) != part.npos; at += needle.size()) ++count;
  return Value(count);
}

template <bool kEnd>
Value has_affix(Call& call) {
  const Window in = window(call, 1);
  const std::string_view part = text_of(call.self).view().substr(in.from, in.to - in.from);
  const auto matches = [&](const Value& affix) {
    if (!affix.is(Kind::Str))
      call.fail(fmt::format("a string or a tuple of them is needed, not '{}'", type_name(affix)));
    const std::string_view text = text_of(affix).view();
    return !in.empty_range && (kEnd ? part.ends_with(text) : part.starts_with(text));
  };
  if (!call[0].is(Kind::Tuple)) return Value(matches(call[0]));
  for (const Value& affix : items_of(call[0]))
    if (matches(affix)) return Value(true);
  return Value(false);
}

// Whether the text is not empty and every character is in the class.
template <bool (*Class)(char32_t)>
Value all_are(Call& call) {
  const std::string_view view = text_of(call.self).view();
  call.budget.scan(8 * view.size());
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint point = decode(view, at);
    if (!Class(point.value)) return Value(false);
    at += point.size;
  }
  return Value(!view.empty());
}

bool is_alnum(char32_t code) {
  return is_alpha(code) || is_digit(code) || is_numeric(code);
}

bool is_ascii_point(char32_t code) {
  return code < 0x80;
}

template <bool (*Class)(char32_t)>
Value all_or_empty(Call& call) {
  return text_of(call.self).empty() ? Value(true) : all_are<Class>(call);
}

// islower and isupper: at least one cased character, none of the other case.
template <bool (*Wanted)(char32_t), bool (*Other)(char32_t)>
Value cased(Call& call) {
  const std::string_view view = text_of(call.self).view();
  call.budget.scan(8 * view.size());
  bool seen = false;
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint point = decode(view, at);
    if (Other(point.value) || is_title(point.value)) return Value(false);
    seen = seen || Wanted(point.value);
    at += point.size;
  }
  return Value(seen);
}

Value is_titled(Call& call) {
  const std::string_view view = text_of(call.self).view();
  bool seen = false, after_cased = false;
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint point = decode(view, at);
    const bool up = is_upper(point.value) || is_title(point.value);
    const bool low = is_lower(point.value);
    if ((up && after_cased) || (low && !after_cased)) return Value(false);
    seen = seen || up || low;
    after_cased = up || low;
    at += point.size;
  }
  return Value(seen);
}

Value is_identifier(Call& call) {
  const std::string_view view = text_of(call.self).view();
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint point = decode(view, at);
    if (at == 0 ? !is_name_start(point.value) : !is_name_part(point.value)) return Value(false);
    at += point.size;
  }
  return Value(!view.empty());
}

}  // namespace

std::vector<Builtin> str_class_methods() {
  return {
      {"find", find_text<false>, "_sub ?_start ?_end"},
      {"rfind", find_text<true>, "_sub ?_start ?_end"},
      {"index", index_text<false>, "_sub ?_start ?_end"},
      {"rindex", index_text<true>, "_sub ?_start ?_end"},
      {"count", count_text, "_sub ?_start ?_end"},
      {"startswith", has_affix<false>, "_prefix ?_start ?_end"},
      {"endswith", has_affix<true>, "_suffix ?_start ?_end"},
      {"isspace", all_are<is_space>, ""},
      {"isalpha", all_are<is_alpha>, ""},
      {"isdigit", all_are<is_digit>, ""},
      {"isdecimal", all_are<is_decimal>, ""},
      {"isnumeric", all_are<is_numeric>, ""},
      {"isalnum", all_are<is_alnum>, ""},
      {"isascii", all_or_empty<is_ascii_point>, ""},
      {"isprintable", all_or_empty<is_printable>, ""},
      {"islower", cased<is_lower, is_upper>, ""},
      {"isupper", cased<is_upper, is_lower>, ""},
      {"istitle", is_titled, ""},
      {"isidentifier", is_identifier, ""},
  };
}

}  // namespace counterbeam::jinja
