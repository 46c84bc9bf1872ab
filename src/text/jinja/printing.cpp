// str() and repr() of values, with trust marks kept and floats printed as in Python.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "text/jinja/chars.h"
#include "text/jinja/escapes.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

constexpr int kMaxReprDepth = 100;  // namespaces may hold each other in a ring

class Printer {
 public:
  Printer(const Heap& heap, Text& out) : heap_(heap), out_(out) {}

  void add(const Value& value) {
    heap_.budget()->step();
    heap_.budget()->check_text(out_.size());
    if (++depth_ > kMaxReprDepth) throw Fault("a value nests too deeply to print");
    add_one(value);
    --depth_;
  }

 private:
  void add_one(const Value& value) {
    switch (value.kind()) {
      case Kind::Missing:
      case Kind::None:
        return out_.append("None");
      case Kind::Bool:
        return out_.append(value.boolean() ? "True" : "False");
      case Kind::Int:
        return out_.append(fmt::format("{}", value.integer()));
      case Kind::Float:
        return out_.append(float_repr(value.real()));
      case Kind::Undefined:
        return out_.append("Undefined");
      case Kind::Str:
        return add_text(value);
      case Kind::List:
        return add_sequence("[", items_of(value), "]");
      case Kind::Tuple:
        return add_sequence("(", items_of(value), items_of(value).size() == 1 ? ",)" : ")");
      case Kind::Dict:
        return add_dict(value.as<DictObject>());
      case Kind::Range:
        return add_range(value.as<RangeObject>());
      case Kind::View:
        out_.append(fmt::format("{}(", type_name(value)));
        add_sequence("[", items(heap_, value).copy(), "]");
        return out_.append(")");
      case Kind::Namespace:
        return add_namespace(value.as<NamespaceObject>());
      case Kind::Macro:
        return out_.append(fmt::format("<Macro '{}'>", value.as<MacroObject>().def->name));
      default:
        return out_.append(fmt::format("<{} object>", type_name(value)));
    }
  }

  void add_text(const Value& value) {
    if (is_markup(value)) out_.append("Markup(");
    append_repr(out_, text_of(value));
    if (is_markup(value)) out_.append(")");
  }

  void add_sequence(std::string_view open, const std::vector<Value>& all, std::string_view close) {
    out_.append(open);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out_.append(", ");
      add(all[i]);
    }
    out_.append(close);
  }

  void add_dict(const DictObject& dict) {
    out_.append("{");
    for (std::size_t i = 0; i < dict.items.size(); ++i) {
      if (i > 0) out_.append(", ");
      add(dict.items[i].first);
      out_.append(": ");
      add(dict.items[i].second);
    }
    out_.append("}");
  }

  void add_range(const RangeObject& range) {
    out_.append(range.step == 1
                    ? fmt::format("range({}, {})", range.start, range.stop)
                    : fmt::format("range({}, {}, {})", range.start, range.stop, range.step));
  }

  void add_namespace(const NamespaceObject& space) {
    out_.append("<Namespace {");
    for (std::size_t i = 0; i < space.items.size(); ++i) {
      if (i > 0) out_.append(", ");
      append_repr(out_, space.items[i].first);
      out_.append(": ");
      add(space.items[i].second);
    }
    out_.append("}>");
  }

  const Heap& heap_;
  Text& out_;
  int depth_ = 0;
};

}  // namespace

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view shortest(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t mark = shortest.find('e');
  std::string digits(shortest.substr(0, mark));
  int exponent = 0;
  const char* from = shortest.data() + mark + 1;
  if (*from == '+') ++from;
  std::from_chars(from, end, exponent);
  const std::string sign = digits[0] == '-' ? "-" : "";
  std::erase_if(digits, [](char c) { return c == '-' || c == '.'; });
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16)
    return fmt::format("{}{}{}{}e{}{:02}", sign, digits[0], count > 1 ? "." : "", digits.substr(1),
                       exponent < 0 ? '-' : '+', std::abs(exponent));
  if (exponent < 0)
    return fmt::format("{}0.{}{}", sign, std::string(static_cast<std::size_t>(-exponent - 1), '0'),
                       digits);
  if (count <= exponent + 1)
    return fmt::format("{}{}{}.0", sign, digits,
                       std::string(static_cast<std::size_t>(exponent + 1 - count), '0'));
  const auto whole = static_cast<std::size_t>(exponent + 1);
  return fmt::format("{}{}.{}", sign, digits.substr(0, whole), digits.substr(whole));
}

Text repr(const Heap& heap, const Value& value) {
  Text out;
  Printer(heap, out).add(value);
  return out;
}

void append_text(const Heap& heap, Text& out, const Value& value) {
  if (value.is(Kind::Undefined)) return;
  if (value.is(Kind::Str)) {
    heap.budget()->scan(text_of(value).size());
    out.append(text_of(value));
  } else {
    Printer(heap, out).add(value);
  }
  heap.budget()->check_text(out.size());
}

Text to_text(const Heap& heap, const Value& value) {
  Text out;
  append_text(heap, out, value);
  return out;
}

Text escape_html(const Text& text) {
  Text out;
  const std::string_view view = text.view();
  std::size_t from = 0;
  for (std::size_t at = 0; at < view.size(); ++at) {
    std::string_view entity;
    switch (view[at]) {
      case '&':
        entity = "&amp;";
        break;
      case '<':
        entity = "&lt;";
        break;
      case '>':
        entity = "&gt;";
        break;
      case '"':
        entity = "&#34;";
        break;
      case '\'':
        entity = "&#39;";
        break;
      default:
        continue;
    }
    out.append(text, from, at);
    out.append(entity, text.trusted_at(at));
    from = at + 1;
  }
  out.append(text, from, text.size());
  return out;
}

Text escaped(const Heap& heap, const Value& value) {
  return is_markup(value) ? text_of(value) : escape_html(to_text(heap, value));
}

}  // namespace counterbeam::jinja
