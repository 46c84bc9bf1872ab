#include "search/context_book.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/closest.h"
#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

std::string context_text(const Json& pair, const char* side, const std::string& place) {
  const auto found = pair.find(side);
  if (found == pair.end())
    bad_input("{}: \"{}\" is missing; a pair has \"positive\" and \"negative\"", place, side);
  if (!found->is_string())
    bad_input("{}: \"{}\" is {}; give it as a string", place, side, printable(to_line(*found), 60));
  return found->get<std::string>();
}

ContextPair pair_of(const std::string& name, const Json& pair, const std::string& place) {
  if (!pair.is_object())
    bad_input("{}: is {}; give an object with \"positive\" and \"negative\"", place,
              printable(to_line(pair), 60));
  for (const auto& [key, value] : pair.items())
    if (key != "positive" && key != "negative")
      bad_input("{}: key {} is not known; a pair has \"positive\" and \"negative\"", place,
                in_quotes(key));
  return {name, context_text(pair, "positive", place), context_text(pair, "negative", place)};
}

}  // namespace

void ContextBook::add(ContextPair pair, std::string_view place) {
  if (pair.name.empty() || pair.name.find_first_not_of(kNameLetters) != pair.name.npos)
    bad_input("{}: {} cannot be the name of a pair; use letters, digits, -, _ and .", place,
              in_quotes(pair.name));
  if (pair.name == "none" || pair.name == kOwnContexts)
    bad_input("{}: the name {} is reserved; choose another", place, pair.name);
  for (const ContextPair& known : added_)
    if (known.name == pair.name)
      bad_input("{}: a pair {} was given before; choose another name", place, pair.name);
  if (find(pair.name))
    bad_input("{}: {} is a pair that ships with the program; choose another name", place,
              pair.name);
  check_pair(pair, place);
  added_.push_back(std::move(pair));
}

void ContextBook::add_file(const std::filesystem::path& path) {
  const Json pairs = read_json_file(path);
  if (!pairs.is_object() || pairs.empty())
    bad_input(
        "{}: holds no context pairs; write {{\"NAME\": {{\"positive\": TEXT, \"negative\": "
        "TEXT}}}}",
        path.string());
  for (const auto& [name, pair] : pairs.items()) {
    const std::string place = fmt::format("{}: {}", path.string(), in_quotes(name));
    add(pair_of(name, pair, place), place);
  }
}

const ContextPair* ContextBook::find(std::string_view name) const {
  for (const std::span<const ContextPair> pairs : {added(), named_contexts()})
    for (const ContextPair& pair : pairs)
      if (pair.name == name) return &pair;
  return nullptr;
}

const ContextPair& ContextBook::at(std::string_view name) const {
  if (const ContextPair* found = find(name)) return *found;
  std::vector<std::string_view> names;
  for (const std::span<const ContextPair> pairs : {added(), named_contexts()})
    for (const ContextPair& pair : pairs) names.push_back(pair.name);
  names.push_back("none");
  bad_input(
      "--contexts: {} is not known; allowed: {}, a pair of a file by --contexts @FILE, or your "
      "own by --positive and --negative{}",
      in_quotes(name), fmt::join(names, ", "), did_you_mean(name, names));
}

void ContextBook::resolve(Settings& settings, bool named) const {
  if (settings.positive.empty() && settings.negative.empty()) {
    if (settings.contexts == "none") return;
    const ContextPair& pair = at(settings.contexts);
    settings.positive = pair.positive;
    settings.negative = pair.negative;
    return;
  }
  if (!named) {
    settings.contexts = kOwnContexts;
    return;
  }
  const ContextPair* pair = find(settings.contexts);
  const bool agrees =
      settings.contexts != "none" &&
      (!pair || (pair->positive == settings.positive && pair->negative == settings.negative));
  if (!agrees)
    bad_input(
        "--contexts: {} is given beside --positive and --negative, which are other texts; give a "
        "named pair or your own, not both",
        settings.contexts);
}

std::vector<ContextPair> read_context_pairs(const std::string& path) {
  ContextBook book;
  book.add_file(path);
  return {book.added().begin(), book.added().end()};
}

}  // namespace counterbeam
