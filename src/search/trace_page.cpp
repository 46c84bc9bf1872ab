// A trace as one self-contained page: web/trace with the trace put in as JSON.
#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/page.h"
#include "counterbeam/counterbeam.h"
#include "search/trace.h"

namespace counterbeam {

extern const std::string_view kTracePage;  // web/trace/trace.html

namespace {

void add_ids(const Json& list, std::set<TokenId>& ids) {
  if (!list.is_array()) bad_input("trace: a list of token ids is needed");
  for (const Json& id : list) {
    if (!id.is_number_integer()) bad_input("trace: {} is not a token id", id.dump());
    ids.insert(id.get<TokenId>());
  }
}

const Json& member_of(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) bad_input("trace: \"{}\" is missing", name);
  return object[name];
}

}  // namespace

std::string to_html(const Trace& trace, std::string_view question,
                    const std::function<std::string(TokenId)>& text_of) {
  return to_html(to_json(trace), question, text_of);
}

std::string to_html(Json trace, std::string_view question,
                    const std::function<std::string(TokenId)>& text_of) {
  std::set<TokenId> tokens;
  for (const Json& block : member_of(trace, "blocks"))
    for (const Json& candidate : member_of(block, "candidates"))
      add_ids(member_of(candidate, "tokens"), tokens);
  for (const char* prompt : {"base", "positive", "negative"})
    add_ids(member_of(member_of(trace, "prompts"), prompt), tokens);
  Json texts = Json::object();
  for (TokenId token : tokens) texts[std::to_string(token)] = text_of(token);
  trace["question"] = question;
  trace["texts"] = std::move(texts);
  return page_with_data(kTracePage, "/*TRACE*/", trace);
}

std::string trace_page(const std::string& trace, const std::string& question,
                       const std::map<std::int32_t, std::string>& texts) {
  return to_html(parse_json(trace, "trace"), question, [&](TokenId token) {
    const auto found = texts.find(token);
    return found == texts.end() ? std::to_string(token) : found->second;
  });
}

}  // namespace counterbeam
