// tojson: json.dumps with the arguments of transformers; trust marks are kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/chars.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(const Heap& heap, const JsonStyle& style) : heap_(heap), style_(style) {}

  Text run(const Value& value) {
    add(value, 0);
    return std::move(out_);
  }

 private:
  void add(const Value& value, int level) {
    heap_.budget()->step();
    heap_.budget()->check_text(out_.size());
    switch (value.kind()) {
      case Kind::None:
        return out_.append("null");
      case Kind::Bool:
        return out_.append(value.boolean() ? "true" : "false");
      case Kind::Int:
        return out_.append(fmt::format("{}", value.integer()));
      case Kind::Float:
        return out_.append(float_text(value.real()));
      case Kind::Str:
        return add_string(text_of(value));
      case Kind::List:
      case Kind::Tuple:
        return add_list(items_of(value), level);
      case Kind::Dict:
        return add_dict(value.as<DictObject>(), level);
      default:
        throw Fault(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
    }
  }

  static std::string float_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return float_repr(value);
  }

  void add_string(const Text& text) {
    const std::string_view view = text.view();
    out_.append("\"");
    std::size_t from = 0;
    for (std::size_t at = 0; at < view.size();) {
      const CodePoint point = decode(view, at);
      const std::string escape = escape_of(point.value);
      if (!escape.empty()) {
        out_.append(text, from, at);
        out_.append(escape, text.trusted_at(at));
        from = at + point.size;
      }
      at += point.size;
    }
    out_.append(text, from, text.size());
    out_.append("\"");
  }

  // The escape of a character; empty if it needs none.
  std::string escape_of(char32_t code) const {
    switch (code) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\b':
        return "\\b";
      case '\f':
        return "\\f";
      default:
        break;
    }
    const auto number = static_cast<unsigned>(code);
    if (number < 0x20 || (style_.ascii && number > 0x7E && number < 0x10000))
      return fmt::format("\\u{:04x}", number);
    if (style_.ascii && number >= 0x10000)
      return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((number - 0x10000) >> 10),
                         0xDC00 + (number & 0x3FF));
    return {};
  }

  void new_line(int level) {
    if (!style_.indented) return;
    out_.append("\n");
    for (int i = 0; i < level; ++i) {
      out_.append(style_.indent);
      heap_.budget()->check_text(out_.size());
    }
  }

  void add_list(const std::vector<Value>& all, int level) {
    if (all.empty()) return out_.append("[]");
    out_.append("[");
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line(level + 1);
      add(all[i], level + 1);
    }
    new_line(level);
    out_.append("]");
  }

  void add_dict(const DictObject& dict, int level) {
    if (dict.items.empty()) return out_.append("{}");
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& entry : dict.items) order.push_back(&entry);
    if (style_.sort_keys)
      std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
        return less(heap_, a->first, b->first);
      });
    out_.append("{");
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line(level + 1);
      add_key(order[i]->first);
      out_.append(style_.key_separator);
      add(order[i]->second, level + 1);
    }
    new_line(level);
    out_.append("}");
  }

  void add_key(const Value& key) {
    switch (key.kind()) {
      case Kind::Str:
        return add_string(text_of(key));
      case Kind::None:
        return out_.append("\"null\"");
      case Kind::Bool:
        return out_.append(key.boolean() ? "\"true\"" : "\"false\"");
      case Kind::Int:
        return out_.append(fmt::format("\"{}\"", key.integer()));
      case Kind::Float:
        return out_.append(fmt::format("\"{}\"", float_text(key.real())));
      default:
        throw Fault(
            fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
  }

  const Heap& heap_;
  const JsonStyle& style_;
  Text out_;
};

}  // namespace

Text to_json(const Heap& heap, const Value& value, const JsonStyle& style) {
  return JsonWriter(heap, style).run(value);
}

}  // namespace counterbeam::jinja
