#include "text/chat_template.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "text/jinja/ast.h"
#include "text/jinja/interpreter.h"

namespace counterbeam {
namespace {

constexpr int kMaxMessageDepth = 60;  // of the conversation's JSON

// Converts JSON to template values. Every string comes from the conversation, so none is trusted.
class Reader {
 public:
  Reader(std::string_view what, std::size_t& bytes) : what_(what), bytes_(bytes) {}

  jinja::Value read(const Json& json, int depth = 0) {
    if (depth > kMaxMessageDepth)
      bad_input("{}: nested deeper than {} levels", what_, kMaxMessageDepth);
    bytes_ += 16;
    switch (json.type()) {
      case Json::value_t::boolean:
        return jinja::Value(json.get<bool>());
      case Json::value_t::number_integer:
        return jinja::Value(json.get<std::int64_t>());
      case Json::value_t::number_unsigned: {
        const auto number = json.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(INT64_MAX))
          bad_input("{}: the integer {} does not fit in 64 bits", what_, number);
        return jinja::Value(static_cast<std::int64_t>(number));
      }
      case Json::value_t::number_float:
        return jinja::Value(json.get<double>());
      case Json::value_t::string:
        return text(json.get_ref<const std::string&>());
      case Json::value_t::array: {
        std::vector<jinja::Value> items;
        for (const Json& item : json) items.push_back(read(item, depth + 1));
        return heap_.list(std::move(items));
      }
      case Json::value_t::object: {
        const jinja::Value dict = heap_.dict();
        for (const auto& [key, value] : json.items())
          heap_.put(dict.as<jinja::DictObject>(), text(key), read(value, depth + 1));
        heap_.settle(dict.as<jinja::DictObject>());
        return dict;
      }
      default:
        return jinja::Value::none();
    }
  }

 private:
  jinja::Value text(const std::string& bytes) {
    if (!is_valid_utf8(bytes)) bad_input("{}: a string is not valid UTF-8", what_);
    bytes_ += bytes.size();
    return heap_.text(jinja::Text(bytes, false));
  }

  std::string_view what_;
  std::size_t& bytes_;
  const jinja::Heap heap_{nullptr};
};

std::tm local_now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm now{};
  localtime_r(&seconds, &now);
  return now;
}

}  // namespace

ChatTemplate::ChatTemplate(std::unique_ptr<const jinja::Program> program, SpecialTokens tokens,
                           const jinja::Limits& limits)
    : program_(std::move(program)), tokens_(std::move(tokens)), limits_(limits) {}

ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

ChatTemplate ChatTemplate::parse(std::string_view source, std::string name, SpecialTokens tokens,
                                 const jinja::Limits& limits) {
  ChatTemplate chat(jinja::parse_template(source, std::move(name), limits), std::move(tokens),
                    limits);
  chat.source_ = source;
  return chat;
}

const std::string& ChatTemplate::name() const {
  return program_->name;
}

jinja::Text ChatTemplate::run(const Json& messages, const Json& args) const {
  if (!messages.is_array()) bad_input("messages: an array of objects is needed");
  for (const Json& message : messages)
    if (!message.is_object())
      bad_input("messages: every message is an object with \"role\" and \"content\"");
  if (!args.is_object()) bad_input("args: an object is needed");
  std::size_t bytes = 0;
  std::vector<std::pair<std::string_view, jinja::Value>> variables;
  const jinja::Heap heap(nullptr);
  for (const auto& [name, text] : tokens_) variables.emplace_back(name, heap.text(text));
  variables.emplace_back("messages", Reader("messages", bytes).read(messages));
  variables.emplace_back("tools", jinja::Value::none());
  variables.emplace_back("documents", jinja::Value::none());
  variables.emplace_back("add_generation_prompt", jinja::Value(false));
  for (const auto& [name, value] : args.items())
    variables.emplace_back(name, Reader("args", bytes).read(value));
  jinja::Interpreter interpreter(*program_, limits_.widened(bytes), now_ ? *now_ : local_now());
  return interpreter.run(variables);
}

std::string ChatTemplate::render(const Json& messages, const Json& args) const {
  return run(messages, args).bytes();
}

std::vector<PromptPiece> ChatTemplate::render_pieces(const Json& messages, const Json& args) const {
  const jinja::Text text = run(messages, args);
  std::vector<PromptPiece> pieces;
  std::size_t from = 0;
  bool trusted = true;
  const auto cut = [&](std::size_t to) {
    if (to > from) pieces.push_back({text.bytes().substr(from, to - from), trusted});
    from = to;
    trusted = !trusted;
  };
  for (const std::uint32_t flip : text.flips()) cut(flip);
  cut(text.size());
  return pieces;
}

std::tm parse_time(std::string_view iso) {
  std::tm time{};
  std::string text(iso);
  int used = 0;
  char separator = 0;
  const int fields = std::sscanf(text.c_str(), "%4d-%2d-%2d%n%c%2d:%2d:%2d%n", &time.tm_year,
                                 &time.tm_mon, &time.tm_mday, &used, &separator, &time.tm_hour,
                                 &time.tm_min, &time.tm_sec, &used);
  const bool whole = static_cast<std::size_t>(used) == text.size();
  const bool shaped =
      (fields == 3 && whole) || (fields == 7 && whole && (separator == 'T' || separator == ' '));
  const bool in_range = time.tm_year >= 1 && time.tm_mon >= 1 && time.tm_mon <= 12 &&
                        time.tm_mday >= 1 && time.tm_mday <= 31 && time.tm_hour >= 0 &&
                        time.tm_hour < 24 && time.tm_min >= 0 && time.tm_min < 60 &&
                        time.tm_sec >= 0 && time.tm_sec < 60;
  if (!shaped || !in_range)
    bad_input("the time \"{}\" is not of the form 2026-01-02T03:04:05", iso);
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  time.tm_isdst = -1;
  std::tm filled = time;  // timegm fills in the day of the week and of the year
  timegm(&filled);
  if (filled.tm_mday != time.tm_mday) bad_input("the time \"{}\" is not a valid date", iso);
  return filled;
}

}  // namespace counterbeam
