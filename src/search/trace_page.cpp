// A trace as one self-contained page: web/trace.html with the trace put in as JSON.
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "search/trace.h"

namespace counterbeam {

extern const std::string_view kTracePage;  // web/trace.html

std::string to_html(const Trace& trace, std::string_view question,
                    const std::function<std::string(TokenId)>& text_of) {
  constexpr std::string_view kPlace = "/*TRACE*/";
  Json json = to_json(trace);
  json["question"] = question;
  std::set<TokenId> tokens;
  for (const auto& block : trace.blocks)
    for (const TraceCandidate& candidate : block)
      tokens.insert(candidate.tokens.begin(), candidate.tokens.end());
  Json texts = Json::object();
  for (TokenId token : tokens) texts[std::to_string(token)] = text_of(token);
  json["texts"] = std::move(texts);

  // Inside a script element only "<" could end it early, and inside JSON it occurs in strings only.
  std::string data;
  for (char c : to_line(json)) {
    if (c == '<')
      data += "\\u003c";
    else
      data += c;
  }
  std::string page(kTracePage);
  const auto place = page.find(kPlace);
  CB_CHECK(place != page.npos);
  return page.replace(place, kPlace.size(), data);
}

}  // namespace counterbeam
