// format(value, spec): Python's format mini-language for strings, integers and floats.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "text/jinja/chars.h"
#include "text/jinja/operations.h"
#include "text/jinja/text_ops.h"

namespace counterbeam::jinja {
namespace {

constexpr std::int64_t kMaxDigits = 1000;

struct Spec {
  Text fill{" "};
  char align = 0;  // < > ^ =
  char sign = '-';
  bool alternate = false;
  std::int64_t width = 0;
  char grouping = 0;
  std::int64_t precision = -1;
  char type = 0;
};

std::int64_t read_number(std::string_view spec, std::size_t& at, std::int64_t limit) {
  std::int64_t number = 0;
  while (at < spec.size() && spec[at] >= '0' && spec[at] <= '9') {
    number = number * 10 + (spec[at++] - '0');
    if (number > limit) throw Fault("a width or precision in a format is too large");
  }
  return number;
}

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

Spec parse_spec(const Text& given, std::int64_t max_width) {
  const std::string_view text = given.view();
  Spec spec;
  std::size_t at = 0;
  const std::size_t fill = text.empty() ? 0 : decode(text, 0).size;
  if (fill < text.size() && is_align(text[fill])) {
    spec.fill = given.substr(0, fill);
    spec.align = text[fill];
    at = fill + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[at++];
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' '))
    spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') {
    spec.alternate = true;
    ++at;
  }
  if (at < text.size() && text[at] == '0') {
    if (!spec.align) {
      spec.align = '=';
      spec.fill = Text("0");
    }
    ++at;
  }
  spec.width = read_number(text, at, max_width);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
  if (at < text.size() && text[at] == '.') {
    const std::size_t digits = ++at;
    spec.precision = read_number(text, at, max_width);
    if (at == digits) throw Fault("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) throw Fault(fmt::format("Invalid format specifier '{}'", text));
  return spec;
}

std::string group_digits(const std::string& digits, char mark, std::size_t every) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % every == 0) out += mark;
    out += digits[i];
  }
  return out;
}

Text padded(const Heap& heap, const Spec& spec, std::string_view sign, const Text& body,
            char default_align) {
  const char align = spec.align ? spec.align : default_align;
  Text whole{std::string(sign)};
  if (align == '=') {
    whole.append(pad(body, spec.width - static_cast<std::int64_t>(sign.size()), Side::Right,
                     spec.fill, *heap.budget()));
    return whole;
  }
  whole.append(body);
  const auto size = static_cast<std::int64_t>(count_points(whole.view()));
  if (align != '^' || spec.width <= size)
    return pad(whole, spec.width, align == '<' ? Side::Left : Side::Right, spec.fill,
               *heap.budget());
  // Unlike str.center, format puts the extra space on the right.
  const Text left =
      pad(whole, size + (spec.width - size) / 2, Side::Right, spec.fill, *heap.budget());
  return pad(left, spec.width, Side::Left, spec.fill, *heap.budget());
}

std::string_view sign_text(const Spec& spec, bool negative) {
  if (negative) return "-";
  return spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
}

// Groups the digits; zero padding is grouped too.
std::string zero_grouped(std::string digits, const Spec& spec, std::size_t every,
                         std::size_t used) {
  std::string out = group_digits(digits, spec.grouping, every);
  while (spec.fill.view() == "0" && spec.align == '=' &&
         out.size() + used < static_cast<std::size_t>(spec.width)) {
    digits.insert(digits.begin(), '0');
    out = group_digits(digits, spec.grouping, every);
  }
  return out;
}

Text format_integer(const Heap& heap, const Value& value, const Spec& spec) {
  if (spec.precision >= 0) throw Fault("Precision not allowed in integer format specifier");
  const std::int64_t number = value.integer();
  if (spec.type == 'c') {
    if (number < 0 || number > 0x10FFFF || (number >= 0xD800 && number <= 0xDFFF))
      throw Fault("%c arg not in range(0x110000)");
    std::string out;
    append_utf8(out, static_cast<char32_t>(number));
    // The number may come from the conversation, and numbers carry no mark.
    return padded(heap, spec, "", Text(std::move(out), false), '<');
  }
  const auto size =
      number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  std::string digits, prefix;
  std::size_t every = 4;
  switch (spec.type) {
    case 'b':
      digits = fmt::format("{:b}", size);
      prefix = "0b";
      break;
    case 'o':
      digits = fmt::format("{:o}", size);
      prefix = "0o";
      break;
    case 'x':
      digits = fmt::format("{:x}", size);
      prefix = "0x";
      break;
    case 'X':
      digits = fmt::format("{:X}", size);
      prefix = "0X";
      break;
    default:
      digits = fmt::format("{}", size);
      every = 3;
  }
  std::string sign(sign_text(spec, number < 0));
  if (spec.alternate) sign += prefix;
  if (spec.grouping) digits = zero_grouped(digits, spec, every, sign.size());
  return padded(heap, spec, sign, Text(digits), '>');
}

std::string print_real(char type, std::int64_t precision, double value, bool alternate) {
  if (precision > kMaxDigits) throw Fault("a precision in a format is too large");
  const std::string pattern = fmt::format("%{}.*{}", alternate ? "#" : "", type);
  const int size = std::snprintf(nullptr, 0, pattern.c_str(), static_cast<int>(precision), value);
  std::string out(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(out.data(), out.size(), pattern.c_str(), static_cast<int>(precision), value);
  out.pop_back();
  return out;
}

// The digits of a finite, non-negative number.
std::string real_digits(const Spec& spec, double value) {
  const std::int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 'e':
    case 'E':
    case 'f':
    case 'F':
      return print_real(spec.type, precision, value, spec.alternate);
    case 'g':
    case 'G':
      return print_real(spec.type, std::max<std::int64_t>(precision, 1), value, spec.alternate);
    case 'n':
      return print_real('g', std::max<std::int64_t>(precision, 1), value, spec.alternate);
    case '%':
      return print_real('f', precision, value * 100, spec.alternate) + "%";
    default:
      break;
  }
  if (spec.precision < 0) return float_repr(value);
  std::string out = print_real('g', std::max<std::int64_t>(precision, 1), value, spec.alternate);
  // Without a type the output has at least one digit after the point, or an exponent.
  if (out.find_first_of(".en") == out.npos) {
    const auto digits = static_cast<std::int64_t>(out.size());
    out = digits < precision || precision == 0 ? out + ".0"
                                               : print_real('e', precision - 1, value, false);
    if (out.find('e') != out.npos) {
      const std::size_t mark = out.find('e');
      std::string mantissa = out.substr(0, mark);
      if (mantissa.find('.') != mantissa.npos) {
        while (mantissa.back() == '0') mantissa.pop_back();
        if (mantissa.back() == '.') mantissa.pop_back();
      }
      out = mantissa + out.substr(mark);
    }
  }
  return out;
}

Text format_real(const Heap& heap, double value, const Spec& spec) {
  const std::string_view sign = sign_text(spec, std::signbit(value) && !std::isnan(value));
  const bool big = spec.type == 'F' || spec.type == 'G' || spec.type == 'E';
  std::string digits;
  if (std::isnan(value))
    digits = big ? "NAN" : "nan";
  else if (std::isinf(value))
    digits = big ? "INF" : "inf";
  else
    digits = real_digits(spec, std::fabs(value));
  if (spec.grouping && std::isfinite(value)) {
    const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    const std::string rest = digits.substr(whole);
    digits = zero_grouped(digits.substr(0, whole), spec, 3, sign.size() + rest.size()) + rest;
  }
  return padded(heap, spec, sign, Text(digits), '>');
}

Text format_text(const Heap& heap, const Text& text, const Spec& spec) {
  if (spec.type && spec.type != 's')
    throw Fault(fmt::format("Unknown format code '{}' for object of type 'str'", spec.type));
  if (spec.align == '=' && spec.fill.view() != "0")
    throw Fault("'=' alignment not allowed in string format specifier");
  Spec adapted = spec;
  if (spec.align == '=') adapted.align = '<';
  if (spec.precision < 0) return padded(heap, adapted, "", text, '<');
  const std::size_t end = offset_of(text.view(), static_cast<std::size_t>(spec.precision));
  return padded(heap, adapted, "", text.substr(0, end), '<');
}

}  // namespace

Text format_value(const Heap& heap, const Value& value, const Text& text) {
  if (text.empty()) return to_text(heap, value);
  const Spec spec =
      parse_spec(text, static_cast<std::int64_t>(heap.budget()->limits().output_bytes));
  constexpr std::string_view kReal = "eEfFgGn%", kInteger = "bcdoxXn";
  const bool real =
      value.is(Kind::Float) ||
      (value.is_integral() && spec.type && kReal.find(spec.type) != kReal.npos && spec.type != 'n');
  if (real) {
    if (spec.type && kReal.find(spec.type) == kReal.npos)
      throw Fault(fmt::format("Unknown format code '{}' for object of type 'float'", spec.type));
    return format_real(heap, value.real(), spec);
  }
  if (value.is_integral()) {
    if (spec.type && kInteger.find(spec.type) == kInteger.npos)
      throw Fault(fmt::format("Unknown format code '{}' for object of type 'int'", spec.type));
    if (value.is(Kind::Bool) && !spec.type) return format_text(heap, to_text(heap, value), spec);
    return format_integer(heap, value, spec);
  }
  if (value.is(Kind::Str)) return format_text(heap, text_of(value), spec);
  throw Fault(fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
}

}  // namespace counterbeam::jinja
