// A trace as one self-contained page: web/trace with the trace put in as JSON.
#include <set>

#include "base/json.h"
#include "base/page.h"
#include "search/trace.h"

namespace counterbeam {

extern const std::string_view kTracePage;  // web/trace/trace.html

std::string to_html(const Trace& trace, std::string_view question,
                    const std::function<std::string(TokenId)>& text_of) {
  Json json = to_json(trace);
  json["question"] = question;
  std::set<TokenId> tokens;
  for (const auto& block : trace.blocks)
    for (const TraceCandidate& candidate : block)
      tokens.insert(candidate.tokens.begin(), candidate.tokens.end());
  const Prompts& prompts = trace.prompts;
  for (const auto* prompt : {&prompts.base, &prompts.positive, &prompts.negative})
    tokens.insert(prompt->begin(), prompt->end());
  Json texts = Json::object();
  for (TokenId token : tokens) texts[std::to_string(token)] = text_of(token);
  json["texts"] = std::move(texts);

  return page_with_data(kTracePage, "/*TRACE*/", json);
}

}  // namespace counterbeam
