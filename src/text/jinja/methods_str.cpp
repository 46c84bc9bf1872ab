// Methods of str that return strings or lists of strings. As in markupsafe, the result of a method
// of Markup is Markup, and arguments that become part of it are escaped.
#include <fmt/format.h>

#include "text/jinja/builtin.h"
#include "text/jinja/chars.h"
#include "text/jinja/operations.h"
#include "text/jinja/text_ops.h"

namespace counterbeam::jinja {
namespace {

const Text& self(const Call& call) {
  return text_of(call.self);
}

Value same(const Call& call, Text text) {
  call.budget.scan(text.size());
  return call.heap.text(std::move(text), is_markup(call.self));
}

Value same_list(const Call& call, std::vector<Text> parts) {
  std::vector<Value> values;
  for (Text& part : parts) values.push_back(same(call, std::move(part)));
  return call.heap.list(std::move(values));
}

// A string argument that becomes part of the result.
Text joinable(const Call& call, const Value& value) {
  if (is_markup(call.self)) return escaped(call.heap, value);
  if (!value.is(Kind::Str))
    call.fail(fmt::format("a string is needed, not '{}'", type_name(value)));
  return text_of(value);
}

template <Text (*Change)(const Text&)>
Value changed_self(Call& call) {
  call.budget.scan(8 * self(call).size());
  return same(call, Change(self(call)));
}

template <Side kSide>
Value stripped(Call& call) {
  if (!call.has(0) || call[0].is(Kind::None)) return same(call, strip(self(call), kSide, nullptr));
  const std::string_view chars = call.text(0).view();
  call.budget.step(self(call).size() * chars.size() / 64 + 1);
  return same(call, strip(self(call), kSide, &chars));
}

template <bool kRight>
Value split_parts(Call& call) {
  const std::int64_t limit = call.integer(1, -1);
  call.budget.scan(self(call).size());
  if (!call.has(0) || call[0].is(Kind::None))
    return same_list(call, split(self(call), nullptr, limit, kRight));
  const Text& separator = call.text(0);
  if (separator.empty()) call.fail("empty separator");
  return same_list(call, split(self(call), &separator, limit, kRight));
}

template <bool kRight>
Value partitioned(Call& call) {
  const Text& text = self(call);
  const Text& separator = call.text(0);
  if (separator.empty()) call.fail("empty separator");
  const std::size_t at =
      kRight ? text.view().rfind(separator.view()) : text.view().find(separator.view());
  const bool found = at != std::string_view::npos;
  const std::size_t cut = found ? at : kRight ? 0 : text.size();
  const std::size_t rest = found ? at + separator.size() : cut;
  return call.heap.tuple({same(call, text.substr(0, cut)),
                          same(call, found ? text.substr(at, rest) : Text()),
                          same(call, text.substr(rest, text.size()))});
}

Value lines(Call& call) {
  call.budget.scan(self(call).size());
  return same_list(call, split_lines(self(call), call.flag(0)));
}

Value join_items(Call& call) {
  Text out;
  bool first = true;
  for (const Value& item : items(call.heap, call[0])) {
    if (!first) out.append(self(call));
    first = false;
    out.append(joinable(call, item));
    call.budget.check_text(out.size());
  }
  return same(call, std::move(out));
}

Value replaced(Call& call) {
  call.text(0);
  call.text(1);
  return same(call, replace(self(call), joinable(call, call[0]), joinable(call, call[1]),
                            call.integer(2, -1), call.budget));
}

template <Side kSide>
Value padded(Call& call) {
  const Text fill = call.has(1) ? call.text(1) : Text(" ");
  if (count_points(fill.view()) != 1)
    call.fail("The fill character must be exactly one character long");
  return same(call, pad(self(call), call.integer(0), kSide, fill, call.budget));
}

Value zero_filled(Call& call) {
  const Text& text = self(call);
  const bool sign = !text.empty() && (text.view()[0] == '-' || text.view()[0] == '+');
  const Text number = text.substr(sign ? 1 : 0, text.size());
  Text out = text.substr(0, sign ? 1 : 0);
  out.append(pad(number, call.integer(0) - (sign ? 1 : 0), Side::Right, Text("0"), call.budget));
  return same(call, std::move(out));
}

Value tabs_expanded(Call& call) {
  const std::int64_t size = call.integer(0, 8);
  Text out;
  std::int64_t column = 0;
  const Text& text = self(call);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text.view(), at);
    if (point.value == '\t') {
      const std::int64_t gap = size > 0 ? size - column % size : 0;
      call.budget.check_text(out.size() + static_cast<std::size_t>(gap));
      out.append(std::string(static_cast<std::size_t>(gap), ' '), text.trusted_at(at));
      column += gap;
    } else {
      out.append(text, at, at + point.size);
      column = point.value == '\n' || point.value == '\r' ? 0 : column + 1;
    }
    at += point.size;
  }
  return same(call, std::move(out));
}

Value without_prefix(Call& call) {
  const std::size_t size = call.text(0).size();
  const bool has = self(call).view().starts_with(call.text(0).view());
  return same(call, self(call).substr(has ? size : 0, self(call).size()));
}

Value without_suffix(Call& call) {
  const std::size_t size = call.text(0).size();
  const bool has = self(call).view().ends_with(call.text(0).view());
  return same(call, self(call).substr(0, self(call).size() - (has ? size : 0)));
}

}  // namespace

std::vector<Builtin> str_methods() {
  return {
      {"upper", changed_self<upper>, ""},
      {"lower", changed_self<lower>, ""},
      {"casefold", changed_self<fold_case>, ""},
      {"swapcase", changed_self<swap_case>, ""},
      {"capitalize", changed_self<capitalize>, ""},
      {"title", changed_self<title>, ""},
      {"strip", stripped<Side::Both>, "?_chars"},
      {"lstrip", stripped<Side::Left>, "?_chars"},
      {"rstrip", stripped<Side::Right>, "?_chars"},
      {"split", split_parts<false>, "?sep ?maxsplit"},
      {"rsplit", split_parts<true>, "?sep ?maxsplit"},
      {"partition", partitioned<false>, "_sep"},
      {"rpartition", partitioned<true>, "_sep"},
      {"splitlines", lines, "?keepends"},
      {"join", join_items, "_iterable"},
      {"replace", replaced, "_old _new ?_count"},
      {"center", padded<Side::Both>, "_width ?_fillchar"},
      {"ljust", padded<Side::Left>, "_width ?_fillchar"},
      {"rjust", padded<Side::Right>, "_width ?_fillchar"},
      {"zfill", zero_filled, "_width"},
      {"expandtabs", tabs_expanded, "?tabsize"},
      {"removeprefix", without_prefix, "_prefix"},
      {"removesuffix", without_suffix, "_suffix"},
  };
}

}  // namespace counterbeam::jinja
