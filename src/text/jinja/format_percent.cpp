// "..." % values: Python's printf-style formatting.
#include <fmt/format.h>

#include <cmath>

#include "text/jinja/chars.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

class PercentFormat {
 public:
  PercentFormat(const Heap& heap, const Value& format, const Value& values)
      : heap_(heap), markup_(is_markup(format)), format_(text_of(format)), values_(values) {}

  Text run() {
    const std::string_view view = format_.view();
    for (std::size_t at = 0; at < view.size();) {
      const std::size_t mark = std::min(view.find('%', at), view.size());
      out_.append(format_, at, mark);
      at = mark;
      if (at < view.size()) at = convert(at + 1);
      heap_.budget()->check_text(out_.size());
    }
    const bool sequence = values_.is(Kind::Tuple);
    if (sequence ? next_ < items_of(values_).size()
                 : next_ == 0 && !named_ && !values_.is(Kind::Dict) && !values_.is(Kind::List) &&
                       !values_.is(Kind::Range))
      throw Fault("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  const Value& take() {
    if (!values_.is(Kind::Tuple)) {
      if (next_++ > 0) throw Fault("not enough arguments for format string");
      return values_;
    }
    if (next_ >= items_of(values_).size()) throw Fault("not enough arguments for format string");
    return items_of(values_)[next_++];
  }

  // Formats the conversion after a '%' and returns the offset after it.
  std::size_t convert(std::size_t at) {
    const std::string_view view = format_.view();
    const Value* value = nullptr;
    if (at < view.size() && view[at] == '(') {
      const std::size_t close = view.find(')', at);
      if (close == view.npos) throw Fault("incomplete format key");
      if (!values_.is(Kind::Dict)) throw Fault("format requires a mapping");
      value = find(values_.as<DictObject>(), view.substr(at + 1, close - at - 1));
      if (!value)
        throw Fault(fmt::format("'%' found no key '{}'", view.substr(at + 1, close - at - 1)));
      named_ = true;
      at = close + 1;
    }
    std::string flags;
    while (at < view.size() && std::string_view("#0- +").find(view[at]) != std::string_view::npos)
      flags += view[at++];
    std::int64_t width = number(at), precision = -1;
    if (width < 0) flags += '-';
    if (at < view.size() && view[at] == '.') precision = std::max<std::int64_t>(number(++at), 0);
    while (at < view.size() && (view[at] == 'l' || view[at] == 'h' || view[at] == 'L')) ++at;
    if (at >= view.size()) throw Fault("incomplete format");
    const char type = view[at];
    if (type == '%')
      out_.append(format_, at, at + 1);
    else
      add(value ? *value : take(), type, flags, std::abs(width), precision);
    return at + 1;
  }

  std::int64_t number(std::size_t& at) {
    const std::string_view view = format_.view();
    if (at < view.size() && view[at] == '*') {
      ++at;
      const Value& value = take();
      if (!value.is_integral()) throw Fault("* wants int");
      if (std::abs(value.integer()) > 1'000'000'000)
        throw Fault("a width in a format is too large");
      return value.integer();
    }
    std::int64_t result = 0;
    for (; at < view.size() && view[at] >= '0' && view[at] <= '9'; ++at) {
      result = result * 10 + (view[at] - '0');
      if (result > 1'000'000'000) throw Fault("a width in a format is too large");
    }
    return result;
  }

  void add(const Value& value, char type, const std::string& flags, std::int64_t width,
           std::int64_t precision) {
    const bool left = flags.find('-') != flags.npos;
    const bool zero = flags.find('0') != flags.npos && !left;
    if (type == 's' || type == 'r' || type == 'a' || type == 'c')
      return add_text(value, type, left, width, precision);
    std::string spec = left ? "<" : zero ? "" : ">";
    if (flags.find('+') != flags.npos)
      spec += '+';
    else if (flags.find(' ') != flags.npos)
      spec += ' ';
    if (flags.find('#') != flags.npos) spec += '#';
    if (zero) spec += '0';
    if (width > 0) spec += fmt::format("{}", width);
    const Value number = checked_number(value, type);
    if (number.is(Kind::Float)) {
      if (precision >= 0) spec += fmt::format(".{}", precision);
      spec += type;
    } else {
      spec += type == 'i' || type == 'u' ? 'd' : type;
    }
    if (!number.is(Kind::Float) && precision > 0)
      throw Fault("a precision for an integer is not supported");
    out_.append(format_value(heap_, number, Text(spec)));
  }

  Value checked_number(const Value& value, char type) const {
    const bool real = std::string_view("eEfFgG").find(type) != std::string_view::npos;
    const bool whole = std::string_view("diuoxX").find(type) != std::string_view::npos;
    if (!real && !whole) throw Fault(fmt::format("unsupported format character '{}'", type));
    if (value.is(Kind::Undefined)) throw Fault(undefined_message(value.as<UndefinedObject>()));
    if (!value.is_number())
      throw Fault(fmt::format("%{} format: a number is required, not {}", type, type_name(value)));
    if (real) return Value(value.real());
    if (value.is_integral()) return Value(value.integer());
    if (type == 'o' || type == 'x' || type == 'X')
      throw Fault(fmt::format("%{} format: an integer is required, not float", type));
    if (!(std::fabs(value.real()) < 9.2e18)) throw Fault("an integer does not fit in 64 bits");
    return Value(static_cast<std::int64_t>(value.real()));
  }

  void add_text(const Value& value, char type, bool left, std::int64_t width,
                std::int64_t precision) {
    Text text;
    if (type == 'c' && value.is_integral())
      text = format_value(heap_, Value(value.integer()), Text("c"));
    else if (type == 'c' && (!value.is(Kind::Str) || length(value) != 1))
      throw Fault("%c requires int or char");
    else if (type == 'r' || type == 'a')
      text = repr(heap_, value);
    else
      text = to_text(heap_, value);
    if (markup_ && !is_markup(value)) text = escape_html(text);
    std::string spec = left ? "<" : ">";
    if (width > 0) spec += fmt::format("{}", width);
    if (precision >= 0) spec += fmt::format(".{}", precision);
    out_.append(format_value(heap_, heap_.text(std::move(text)), Text(spec)));
  }

  const Heap& heap_;
  const bool markup_;
  const Text& format_;
  const Value& values_;
  std::size_t next_ = 0;
  bool named_ = false;
  Text out_;
};

}  // namespace

Text percent_format(const Heap& heap, const Value& format, const Value& values) {
  return PercentFormat(heap, format, values).run();
}

}  // namespace counterbeam::jinja
