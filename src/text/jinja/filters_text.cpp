// Filters that turn text into text.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/builtin.h"
#include "text/jinja/chars.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"
#include "text/jinja/text_ops.h"
#include "text/jinja/word_wrap.h"

namespace counterbeam::jinja {
namespace {

// markupsafe's soft_str: Markup stays Markup, anything else becomes a plain string.
Value made_from(const Call& call, Text text) {
  call.budget.scan(text.size());
  return call.heap.text(std::move(text), is_markup(call[0]));
}

template <Text (*Change)(const Text&)>
Value changed(Call& call) {
  const Text text = call.string(0);
  call.budget.scan(8 * text.size());
  return made_from(call, Change(text));
}

// A word starts after whitespace and after any of - ( { [ <
Text title_words(const Text& text) {
  Text out;
  bool start = true;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text.view(), at);
    const bool border =
        is_space(point.value) ||
        (point.value < 0x80 &&
         std::string_view("-({[<").find(static_cast<char>(point.value)) != std::string_view::npos);
    std::string piece;
    start ? append_upper(piece, point.value) : append_lower(piece, point.value);
    out.append(piece, text.trusted_at(at));
    start = border;
    at += point.size;
  }
  return out;
}

Value trim(Call& call) {
  const Text text = call.string(0);
  if (!call.has(1) || call[1].is(Kind::None))
    return made_from(call, strip(text, Side::Both, nullptr));
  const std::string_view chars = call.text(1).view();
  call.budget.step(text.size() * chars.size() / 64 + 1);
  return made_from(call, strip(text, Side::Both, &chars));
}

Value center(Call& call) {
  return made_from(call,
                   pad(call.string(0), call.integer(1, 80), Side::Both, Text(" "), call.budget));
}

Value replace_filter(Call& call) {
  const std::int64_t count = call.has(3) && !call[3].is(Kind::None) ? call.integer(3) : -1;
  return call.heap.text(
      replace(call.string(0), call.string(1), call.string(2), count, call.budget));
}

Value indent(Call& call) {
  Text indention;
  if (call.has(1) && call[1].is(Kind::Str)) {
    indention = text_of(call[1]);
  } else {
    const std::int64_t width = std::max<std::int64_t>(call.integer(1, 4), 0);
    call.budget.check_text(static_cast<std::size_t>(width));
    indention = Text(std::string(static_cast<std::size_t>(width), ' '));
  }
  Text text = call.text(0);
  text.append("\n");
  const std::vector<Text> lines = split_lines(text, false);
  const bool blank = call.flag(3);
  Text out;
  if (call.flag(2)) out.append(indention);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out.append("\n");
      if (blank || !lines[i].empty()) out.append(indention);
    }
    out.append(lines[i]);
    call.budget.check_text(out.size());
  }
  return made_from(call, std::move(out));
}

Value truncate(Call& call) {
  const std::int64_t length = call.integer(1, 255);
  const Text end = call.has(3) ? call.text(3) : Text("...");
  const std::int64_t leeway = call.has(4) && !call[4].is(Kind::None) ? call.integer(4) : 5;
  const auto end_size = static_cast<std::int64_t>(count_points(end.view()));
  if (length < end_size) call.fail(fmt::format("expected length >= {}, got {}", end_size, length));
  if (leeway < 0) call.fail(fmt::format("expected leeway >= 0, got {}", leeway));
  const auto size = static_cast<std::int64_t>(counterbeam::jinja::length(call[0]));
  if (length >= size || leeway >= size - length) return call[0];
  const Text& text = call.text(0);
  Text kept = text.substr(0, offset_of(text.view(), static_cast<std::size_t>(length - end_size)));
  if (!call.flag(2)) {
    const std::size_t space = kept.view().rfind(' ');
    if (space != std::string_view::npos) kept = kept.substr(0, space);
  }
  kept.append(end);
  return made_from(call, std::move(kept));
}

Value wordcount(Call& call) {
  const Text text = call.string(0);
  std::int64_t count = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text.view(), at);
    const bool word = is_word(point.value);
    if (word && !inside) ++count;
    inside = word;
    at += point.size;
  }
  return Value(count);
}

Value wordwrap(Call& call) {
  WrapStyle style;
  style.width = call.integer(1, 79);
  style.break_long_words = call.flag(2, true);
  style.break_on_hyphens = call.flag(4, true);
  if (style.width <= 0) call.fail("the width must be positive");
  const Text separator = call.has(3) && !call[3].is(Kind::None) ? call.text(3) : Text("\n");
  const Text& text = call.text(0);
  call.budget.scan(16 * text.size());
  Text out;
  bool first = true;
  for (const Text& line : split_lines(text, false)) {
    std::vector<Text> rows = wrap(line, style);
    if (rows.empty()) rows.emplace_back();
    for (const Text& row : rows) {
      if (!first) out.append(separator);
      first = false;
      out.append(row);
      call.budget.check_text(out.size());
    }
  }
  return call.heap.text(std::move(out));
}

Value format_filter(Call& call) {
  if (!call.rest.empty() && !call.named.empty())
    call.fail("can't handle positional and keyword arguments at the same time");
  Value values = call.heap.tuple(std::move(call.rest));
  if (!call.named.empty()) {
    values = call.heap.dict();
    for (const auto& [name, value] : call.named)
      call.heap.put(values.as<DictObject>(), call.heap.text(name), value);
    call.heap.settle(values.as<DictObject>());
  }
  const Value format = call.heap.text(call.string(0), is_markup(call[0]));
  return call.heap.text(percent_format(call.heap, format, values), is_markup(format));
}

Value string_filter(Call& call) {
  if (call[0].is(Kind::Str)) return call[0];
  return call.heap.text(call.string(0));
}

}  // namespace

std::vector<Builtin> text_filters() {
  return {
      {"capitalize", changed<capitalize>, "_s"},
      {"upper", changed<upper>, "_s"},
      {"lower", changed<lower>, "_s"},
      {"title", changed<title_words>, "_s"},
      {"trim", trim, "_value ?chars"},
      {"center", center, "_value ?width"},
      {"replace", replace_filter, "_s old new ?count"},
      {"indent", indent, "_s ?width ?first ?blank"},
      {"truncate", truncate, "_s ?length ?killwords ?end ?leeway"},
      {"wordcount", wordcount, "_s"},
      {"wordwrap", wordwrap, "_s ?width ?break_long_words ?wrapstring ?break_on_hyphens"},
      {"format", format_filter, "_value *args **named"},
      {"string", string_filter, "_value"},
  };
}

}  // namespace counterbeam::jinja
