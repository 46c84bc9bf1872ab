#include "text/turn_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "base/trim.h"

namespace counterbeam {
namespace {

using Rendered = std::vector<PromptPiece>;

// Contents that no template writes by itself, trims or rewrites.
constexpr const char* kSystem = "Zqsystemqz";
constexpr const char* kQuestion = "Zqquestionqz";
constexpr const char* kAnswer = "Zqanswerqz";
constexpr const char* kThoughts = "Zqthoughtsqz";
constexpr const char* kNext = "Zqnextqz";

Json message(const char* role, const char* content) {
  return {{"role", role}, {"content", content}};
}

std::string joined_text(const Rendered& pieces) {
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

// The pieces from byte `from` on.
Rendered tail(const Rendered& pieces, std::size_t from) {
  Rendered rest;
  for (const PromptPiece& piece : pieces) {
    if (from < piece.text.size()) rest.push_back({piece.text.substr(from), piece.trusted});
    from -= std::min(from, piece.text.size());
  }
  return rest;
}

struct Around {
  Rendered before, after;
};

// What stands around the last place where the template put the content; none where it did not.
std::optional<Around> around(const Rendered& pieces, std::string_view content) {
  for (std::size_t i = pieces.size(); i-- > 0;) {
    if (pieces[i].trusted) continue;
    const auto place = pieces[i].text.rfind(content);
    if (place == std::string::npos) continue;
    Around result;
    result.before.assign(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(i));
    result.before.push_back({pieces[i].text.substr(0, place), false});
    result.after.push_back({pieces[i].text.substr(place + content.size()), false});
    result.after.insert(result.after.end(), pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                        pieces.end());
    return result;
  }
  return std::nullopt;
}

class TurnProbe {
 public:
  TurnProbe(const ChatTemplate& chat, const Tokenizer& tokenizer)
      : chat_(chat), tokenizer_(tokenizer) {
    for (const AddedToken& token : tokenizer.added_tokens())
      if (!trim(token.content, kAsciiSpace).empty()) controls_.insert(token.id);
  }

  TurnEnd turn_end() const {
    const auto answer = around(
        chat_.render_pieces({message("user", kQuestion), message("assistant", kAnswer)}), kAnswer);
    if (!answer) return none("the chat template drops or changes an assistant's message");
    const std::string text_after = joined_text(answer->after);
    const bool blank = trim(text_after, kAsciiSpace).empty();
    const std::optional<TokenId> end = blank ? end_within() : first_control(answer->after);
    if (!end) {
      if (blank) return none("the chat template writes nothing after an assistant's message");
      return none(
          fmt::format("the chat template writes {} after an assistant's message, which does not "
                      "begin with a control token",
                      in_quotes(text_after)));
    }
    const std::string text(tokenizer_.token_text(*end).value_or(""));
    if (starts_turns(*end))
      return none(fmt::format(
          "the chat template writes {} after an assistant's message, but turns start with it too",
          in_quotes(text)));
    if (closes_thoughts(*end))
      return none(fmt::format(
          "the chat template writes {} after an assistant's message, but also after its thoughts",
          in_quotes(text)));
    return {end, text, ""};
  }

 private:
  static TurnEnd none(std::string note) { return {std::nullopt, "", std::move(note)}; }

  // Nothing where the template refuses the conversation.
  std::optional<Rendered> rendered(const Json& messages, bool generation_prompt = false) const {
    try {
      return chat_.render_pieces(messages, {{"add_generation_prompt", generation_prompt}});
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  std::vector<TokenId> encoded(const Rendered& pieces) const {
    std::vector<PromptPart> parts;
    for (const PromptPiece& piece : pieces) parts.push_back({piece.text, piece.trusted});
    return tokenizer_.encode_parts(parts);
  }

  std::optional<TokenId> first_control(const Rendered& pieces) const {
    const std::string text = joined_text(pieces);
    const auto start = text.find_first_not_of(kAsciiSpace);
    if (start == text.npos) return std::nullopt;
    const std::vector<TokenId> ids = encoded(tail(pieces, start));
    if (ids.empty() || !controls_.contains(ids.front())) return std::nullopt;
    return ids.front();
  }

  // The end of an answer that a question follows: some templates leave it out after the last
  // message. What also stands before the first question opens a turn, and does not end one.
  std::optional<TokenId> end_within() const {
    const Json question = message("user", kQuestion), answer = message("assistant", kAnswer);
    const auto pieces = rendered({question, answer, message("user", kNext)});
    const auto next = pieces ? around(*pieces, kNext) : std::nullopt;
    const auto between = next ? around(next->before, kAnswer) : std::nullopt;
    const auto first = between ? around(between->before, kQuestion) : std::nullopt;
    if (!first) return std::nullopt;
    const std::string text = joined_text(between->after);
    const auto start = text.find_first_not_of(kAsciiSpace);
    if (start == text.npos) return std::nullopt;
    std::vector<TokenId> ids = encoded(tail(between->after, start));
    std::vector<TokenId> opening = encoded(first->before);
    while (!ids.empty() && !opening.empty() && ids.back() == opening.back()) {
      ids.pop_back();
      opening.pop_back();
    }
    if (ids.empty() || !controls_.contains(ids.front())) return std::nullopt;
    return ids.front();
  }

  // Whether the control token is among those that come before any ordinary text.
  bool opens(const Rendered& pieces, TokenId token) const {
    for (const TokenId id : encoded(pieces)) {
      if (id == token) return true;
      if (!controls_.contains(id) &&
          !trim(tokenizer_.decode(std::span(&id, 1)), kAsciiSpace).empty())
        return false;
    }
    return false;
  }

  // A template without end tokens that always asks for an answer writes the opening of the next
  // turn where its end is looked for.
  bool starts_turns(TokenId token) const {
    const Json question = message("user", kQuestion), answer = message("assistant", kAnswer);
    std::optional<Around> first;
    if (const auto pieces = rendered({message("system", kSystem), question, answer}))
      first = around(*pieces, kSystem);
    if (!first) first = around(*rendered({question, answer}), kQuestion);
    if (first && opens(first->before, token)) return true;

    const auto plain = rendered(Json::array({question}));
    const auto prompted = rendered(Json::array({question}), true);
    if (plain && prompted) {
      const std::string text = joined_text(*plain), longer = joined_text(*prompted);
      if (longer.size() > text.size() && longer.starts_with(text))
        return opens(tail(*prompted, text.size()), token);
    }
    // No generation prompt to compare with: an end stands there within a conversation too.
    const auto going_on = rendered({question, answer, message("user", kNext)});
    const auto within = going_on ? around(*going_on, kAnswer) : std::nullopt;
    return within && first_control(within->after) != token;
  }

  // A token that closes every part of an answer would end it after the first one.
  bool closes_thoughts(TokenId token) const {
    Json answer = message("assistant", kAnswer);
    for (const char* name : {"reasoning_content", "reasoning", "thinking"})
      answer[name] = kThoughts;
    const auto pieces = rendered({message("user", kQuestion), answer});
    const auto whole = pieces ? around(*pieces, kAnswer) : std::nullopt;
    const auto thoughts = whole ? around(whole->before, kThoughts) : std::nullopt;
    if (!thoughts) return false;
    const std::vector<TokenId> ids = encoded(thoughts->after);
    return std::find(ids.begin(), ids.end(), token) != ids.end();
  }

  const ChatTemplate& chat_;
  const Tokenizer& tokenizer_;
  std::set<TokenId> controls_;
};

}  // namespace

TurnEnd find_turn_end(const ChatTemplate& chat, const Tokenizer& tokenizer) {
  try {
    return TurnProbe(chat, tokenizer).turn_end();
  } catch (const Error& error) {
    return {std::nullopt, "",
            fmt::format("the chat template refuses a question with its answer ({})", error.what())};
  }
}

}  // namespace counterbeam
