// Reading of remote replies: members by name and type, each a BadReply where it is absent or wrong.
#pragma once

#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "engine/remote_protocol.h"

namespace counterbeam::remote_json {

template <typename... Args>
[[noreturn]] void bad_reply(fmt::format_string<Args...> format, Args&&... args) {
  throw BadReply(fmt::format(format, std::forward<Args>(args)...));
}

inline Json parsed(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == body.npos) bad_reply("the reply is empty");
  try {
    Json json = parse_json(body, "the reply");
    if (!json.is_object()) bad_reply("the reply is no JSON object");
    return json;
  } catch (const Error& error) {
    if (body[body.find_first_not_of(" \t\r\n")] == '<')
      bad_reply("the reply is a page (HTML), no JSON; is the address that of the API?");
    bad_reply("{}", error.what());
  }
}

inline const Json* find(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

inline const Json& object(const Json& parent, const char* name) {
  const Json* found = find(parent, name);
  if (!found || !found->is_object()) bad_reply("{} is missing in the reply", name);
  return *found;
}

inline const Json& array(const Json& parent, const char* name) {
  const Json* found = find(parent, name);
  if (!found || !found->is_array()) bad_reply("{} is missing in the reply", name);
  return *found;
}

inline const Json& first(const Json& parent, const char* name) {
  const Json& list = array(parent, name);
  if (list.empty()) bad_reply("{} is empty in the reply", name);
  return list[0];
}

inline std::int64_t whole(const Json* value, const char* name) {
  if (!value || !value->is_number_integer() || *value < 0 || *value > std::int64_t{1} << 40)
    bad_reply("{} is no count in the reply", name);
  return value->get<std::int64_t>();
}

inline TokenId id_of(const Json& value) {
  if (!value.is_number_integer() || value < 0 || value > 0x7fffffff)
    bad_reply("a token of the reply is {}, which is no id", printable(to_line(value), 40));
  return value.get<TokenId>();
}

inline std::vector<TokenId> ids_of(const Json& list) {
  std::vector<TokenId> ids;
  for (const Json& one : list) ids.push_back(id_of(one));
  return ids;
}

// The object with one more member, an array of ids, in front. Ids are most of a request, and a tree
// of them would take longer than all the rest.
inline std::string with_ids(const char* name, std::span<const TokenId> ids, const Json& object) {
  const std::string rest = to_line(object);
  std::string text = fmt::format("{{\"{}\":[", name);
  text.reserve(text.size() + 7 * ids.size() + rest.size() + 2);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += ',';
    text += fmt::format_int(ids[i]).c_str();
  }
  text += ']';
  if (rest.size() > 2) text += ',';
  return text.append(rest, 1);
}

// A log-probability; rounding may lift it a little above 0.
inline std::optional<float> logprob_of(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  const bool fits = number >= std::numeric_limits<float>::lowest();  // -1e39 does not; nor a NaN
  if (!fits || number > 0.01) return std::nullopt;
  return static_cast<float>(std::min(number, 0.0));
}

inline float needed_logprob(const Json& value) {
  const auto number = logprob_of(value);
  if (!number)
    bad_reply(
        "a log-probability of the reply is {}; does the server run with another --logprobs-mode?",
        printable(to_line(value), 40));
  return *number;
}

// "token_id:123"
inline std::optional<TokenId> labelled_id(const Json* label) {
  constexpr std::string_view kLabel = "token_id:";
  if (!label || !label->is_string()) return std::nullopt;
  const auto& text = label->get_ref<const std::string&>();
  if (!text.starts_with(kLabel) || text.size() == kLabel.size() || text.size() > 19)
    return std::nullopt;
  TokenId id = 0;
  for (const char c : text.substr(kLabel.size())) {
    if (c < '0' || c > '9' || id > 200'000'000) return std::nullopt;
    id = 10 * id + (c - '0');
  }
  return id;
}

// By falling log-probability, the first `count`.
void keep_likeliest(TopTokens& tokens, int count);

struct CountedUsage {
  std::int64_t prompt_tokens = 0;
  std::optional<std::int64_t> cached_tokens{};
};
CountedUsage usage_of(const Json& reply);

// Entries of prompt_logprobs, as vLLM gives them: null or {"ID": {"logprob": x}}. The last entries
// belong to the last tokens, since rows that the cache held may be missing at the front.
void read_prompt_rows(const Json& rows, const ScoreCall& call, ScoreReply& reply);

}  // namespace counterbeam::remote_json
