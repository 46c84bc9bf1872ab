#include "search/method_strings.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/closest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/trim.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

constexpr std::uint64_t kMostMethodsBytes = 1 << 20;  // of a file of methods

// The pieces of `text` between separators that stand outside quotes.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == separator && !quoted) {
      pieces.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  if (quoted) bad_input("{}: a quote is opened and not closed", printable(text, 200));
  pieces.push_back(text.substr(start));
  return pieces;
}

// The value itself, quotes and escapes taken away.
std::string unquoted(std::string_view value, std::string_view origin) {
  if (!value.starts_with('"')) return std::string(value);
  std::string text;
  std::size_t i = 1;
  for (; i < value.size() && value[i] != '"'; ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  if (i + 1 != value.size())
    bad_input("{}: {}: nothing may follow the closing quote but : or ,", origin,
              printable(value, 200));
  return text;
}

// The value as it may stand in a method string.
std::string quoted_if_needed(const std::string& value) {
  if (!value.empty() && value.find_first_of(":,\"\\ \t\n#@") == value.npos) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::vector<std::string_view> setting_names(const Method& method) {
  std::vector<std::string_view> names;
  for (const SettingUse& one : method.settings) names.push_back(one.setting->name);
  return names;
}

// {"method": "cbs", "steer": 0.7} as a method string.
std::string method_text(const Json& object, const std::string& place) {
  const auto method = object.find("method");
  if (method == object.end() || !method->is_string())
    bad_input("{}: \"method\" is missing; name a method, as in {{\"method\": \"cbs\"}}", place);
  std::string text = method->get<std::string>();
  for (const auto& [name, value] : object.items()) {
    if (name == "method") continue;
    if (!value.is_string() && !value.is_number() && !value.is_boolean())
      bad_input("{}: {} is {}; give a string, a number, true or false", place, in_quotes(name),
                printable(to_line(value), 60));
    text += fmt::format(
        ":{}={}", name,
        value.is_string() ? quoted_if_needed(value.get<std::string>()) : to_line(value));
  }
  return text;
}

std::vector<MethodText> methods_of_json(std::string_view content, const std::string& file) {
  const Json list = parse_json(content, file);
  std::vector<MethodText> methods;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = fmt::format("{}: method {}", file, i + 1);
    if (list[i].is_string())
      methods.push_back({list[i].get<std::string>(), place});
    else if (list[i].is_object())
      methods.push_back({method_text(list[i], place), place});
    else
      bad_input("{}: is {}; give a string or an object with \"method\"", place,
                printable(to_line(list[i]), 60));
  }
  return methods;
}

std::vector<MethodText> methods_of_lines(std::string_view content, const std::string& file) {
  std::vector<MethodText> methods;
  for (int number = 1; !content.empty(); ++number) {
    const auto end = content.find('\n');
    const std::string_view line = trim(content.substr(0, end), kAsciiSpace);
    if (!line.empty() && !line.starts_with('#'))
      methods.push_back({std::string(line), fmt::format("{}: line {}", file, number)});
    content.remove_prefix(end == content.npos ? content.size() : end + 1);
  }
  return methods;
}

// Opens errors with the place of the method, where it has one.
Settings parse_at_place(const MethodText& method, const ContextBook& book) {
  try {
    return parse_method(method.text, book);
  } catch (const BadInput& error) {
    if (method.place.empty()) throw;
    bad_input("{}: {}", method.place, error.what());
  }
}

}  // namespace

GivenMethod::GivenMethod(std::string_view text) {
  if (!is_valid_utf8(text)) bad_input("method {} is not valid UTF-8", in_quotes(text));
  const std::vector<std::string_view> pieces = split(text, ':');
  method_ = &method_named(pieces[0]);
  for (const std::string_view item : std::span(pieces).subspan(1)) {
    const auto equals = item.find('=');
    if (equals == item.npos)
      bad_input("\"{}\" in a method: expected NAME=VALUE, as in cbs:steer=0.7",
                printable(item, 200));
    const std::string_view name = item.substr(0, equals);
    const std::string origin = fmt::format("{}:{}", method_->name, printable(name, 60));
    give(name, unquoted(item.substr(equals + 1), origin), origin);
  }
}

bool GivenMethod::gives(std::string_view setting) const {
  return std::any_of(given_.begin(), given_.end(),
                     [&](const Given& given) { return given.setting->name == setting; });
}

void GivenMethod::give(std::string_view name, std::string value, std::string origin) {
  const Setting* setting = method_->find(name);
  if (!setting) {
    const std::vector<std::string_view> names = setting_names(*method_);
    bad_input("{} has no setting \"{}\"; it has: {}{}", method_->name, printable(name, 60),
              fmt::join(names, ", "), did_you_mean(name, names));
  }
  if (gives(name)) bad_input("{}: given twice; give it once", origin);
  given_.push_back({setting, std::move(value), std::move(origin)});
}

void GivenMethod::take_back(std::string_view setting) {
  std::erase_if(given_, [&](const Given& given) { return given.setting->name == setting; });
}

Settings GivenMethod::resolve(const ContextBook& book) const {
  Settings settings = default_settings(*method_);
  std::vector<std::string_view> names;
  for (const Given& given : given_) {
    set_value(settings, *given.setting, given.value, given.origin);
    names.push_back(given.setting->name);
    const bool own = names.back() == "positive" || names.back() == "negative";
    if (own && given.value.empty() && !gives("contexts"))
      bad_input("{}: the context is empty; give it a text, or contexts=none", given.origin);
  }
  set_dependent_defaults(settings, names);
  if (method_->find("contexts")) book.resolve(settings, gives("contexts"));
  validate(settings);
  return settings;
}

Settings parse_method(std::string_view text, const ContextBook& book) {
  return GivenMethod(text).resolve(book);
}

std::vector<MethodText> split_methods(std::string_view list) {
  if (list.starts_with('@')) return read_methods(list.substr(1));
  std::vector<MethodText> methods;
  for (const std::string_view text : split(list, ',')) methods.push_back({std::string(text)});
  return methods;
}

std::vector<MethodText> read_methods(const std::filesystem::path& file) {
  const std::string content = read_file(file, kMostMethodsBytes);
  const std::string name = file.string();
  const std::string_view trimmed = trim(content, kAsciiSpace);
  if (trimmed.starts_with('{'))
    bad_input("{}: is one JSON object; give an array of methods, [...]", name);
  std::vector<MethodText> methods =
      trimmed.starts_with('[') ? methods_of_json(content, name) : methods_of_lines(content, name);
  if (methods.empty())
    bad_input("{}: holds no method; write one per line, as in cbs:steer=0.7", name);
  return methods;
}

std::vector<MethodString> parse_methods(std::span<const MethodText> texts,
                                        const ContextBook& book) {
  std::vector<MethodString> parsed;
  for (const MethodText& method : texts) {
    for (const MethodString& former : parsed)
      if (former.text == method.text)
        bad_input("{}: {} is given twice", method.place.empty() ? "--methods" : method.place,
                  printable(method.text, 200));
    parsed.push_back({method.text, parse_at_place(method, book)});
  }
  return parsed;
}

std::vector<MethodString> parse_methods(std::string_view list, const ContextBook& book) {
  return parse_methods(split_methods(list), book);
}

}  // namespace counterbeam
