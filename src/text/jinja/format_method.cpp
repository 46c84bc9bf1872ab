// str.format and str.format_map: replacement fields with attributes, items, conversions and nested
// format specs.
#include <fmt/format.h>

#include <charconv>

#include "text/jinja/builtin.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

class FormatMethod {
 public:
  FormatMethod(Call& call, const Value& mapping) : call_(call), mapping_(mapping) {}

  Text run(const Text& format, int depth) {
    if (depth > 2) throw Fault("Max string recursion exceeded");
    const std::string_view view = format.view();
    Text out;
    for (std::size_t at = 0; at < view.size();) {
      const std::size_t brace = std::min(view.find_first_of("{}", at), view.size());
      out.append(format, at, brace);
      at = brace;
      if (at >= view.size()) break;
      if (at + 1 < view.size() && view[at + 1] == view[at]) {
        out.append(format, at, at + 1);
        at += 2;
      } else if (view[at] == '}') {
        throw Fault("Single '}' encountered in format string");
      } else {
        const std::size_t close = field_end(view, at);
        out.append(field(format.substr(at + 1, close), depth));
        at = close + 1;
      }
      call_.budget.check_text(out.size());
    }
    return out;
  }

 private:
  static std::size_t field_end(std::string_view view, std::size_t open) {
    int nested = 0;
    bool in_item = false;
    for (std::size_t at = open; at < view.size(); ++at) {
      if (view[at] == '[' && nested == 1) in_item = true;
      if (view[at] == ']') in_item = false;
      if (in_item) continue;
      if (view[at] == '{') ++nested;
      if (view[at] == '}' && --nested == 0) return at;
    }
    throw Fault("expected '}' before end of string");
  }

  Text field(const Text& field, int depth) {
    const std::string_view view = field.view();
    std::size_t name_end = 0;
    bool in_item = false;
    while (name_end < view.size() &&
           (in_item || (view[name_end] != '!' && view[name_end] != ':'))) {
      if (view[name_end] == '[') in_item = true;
      if (view[name_end] == ']') in_item = false;
      ++name_end;
    }
    Value value = lookup(view.substr(0, name_end));
    std::size_t at = name_end;
    if (at < view.size() && view[at] == '!') {
      if (at + 1 >= view.size())
        throw Fault("end of string while looking for conversion specifier");
      const char conversion = view[at + 1];
      at += 2;
      if (at < view.size() && view[at] != ':')
        throw Fault("expected ':' after conversion specifier");
      if (conversion == 'r' || conversion == 'a')
        value = call_.heap.text(repr(call_.heap, value));
      else if (conversion == 's')
        value = call_.heap.text(to_text(call_.heap, value));
      else
        throw Fault(fmt::format("Unknown conversion specifier {}", conversion));
    }
    const Text spec =
        at < view.size() ? run(field.substr(at + 1, field.size()), depth + 1) : Text();
    Text text = format_value(call_.heap, value, spec);
    return is_markup(call_.self) && !is_markup(value) ? escape_html(text) : text;
  }

  Value lookup(std::string_view name) {
    const std::size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = first(name.substr(0, end));
    for (std::size_t at = end; at < name.size();) {
      if (name[at] == '.') {
        const std::size_t stop = std::min(name.find_first_of(".[", at + 1), name.size());
        value = call_.in.attribute(value, name.substr(at + 1, stop - at - 1));
        at = stop;
      } else {
        const std::size_t close = name.find(']', at);
        if (name[at] != '[' || close == name.npos) throw Fault("Missing ']' in format string");
        const std::string_view key = name.substr(at + 1, close - at - 1);
        std::int64_t index = 0;
        value =
            call_.in.subscript(value, as_index(key, index) ? Value(index) : call_.heap.text(key));
        at = close + 1;
      }
    }
    return value;
  }

  static bool as_index(std::string_view text, std::int64_t& index) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    return error == std::errc() && end == text.data() + text.size() && text[0] != '-';
  }

  Value first(std::string_view name) {
    std::int64_t index = 0;
    if (name.empty() || as_index(name, index)) {
      if (name.empty()) index = next_++;
      if (name.empty() ? numbered_ : next_ > 0)
        throw Fault("cannot mix automatic and manual field numbering");
      if (!name.empty()) numbered_ = true;
      if (static_cast<std::size_t>(index) >= call_.rest.size())
        throw Fault("Replacement index out of range for positional args tuple");
      return call_.rest[static_cast<std::size_t>(index)];
    }
    if (mapping_.is(Kind::Dict)) {
      if (const Value* found = find(mapping_.as<DictObject>(), name)) return *found;
    }
    for (const auto& [key, value] : call_.named)
      if (key.view() == name) return value;
    throw Fault(fmt::format("format() found no argument '{}'", name));
  }

  Call& call_;
  const Value& mapping_;
  std::int64_t next_ = 0;
  bool numbered_ = false;
};

Value format_text(Call& call) {
  const Value none;
  return call.heap.text(FormatMethod(call, none).run(text_of(call.self), 0), is_markup(call.self));
}

Value format_map(Call& call) {
  if (!call[0].is(Kind::Dict)) call.fail("a mapping is needed");
  const Value mapping = call[0];
  return call.heap.text(FormatMethod(call, mapping).run(text_of(call.self), 0),
                        is_markup(call.self));
}

}  // namespace

std::vector<Builtin> str_format_methods() {
  return {{"format", format_text, "*args **named"}, {"format_map", format_map, "_mapping"}};
}

}  // namespace counterbeam::jinja
