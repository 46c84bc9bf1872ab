#include "search/prompts.h"

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "search/answer_beginning.h"
#include "search/contexts.h"
#include "text/chat_template.h"
#include "text/jinja/chars.h"
#include "text/tokenizer.h"

namespace counterbeam {
namespace {

constexpr const char* kSystemRemedy =
    "--system-as-user puts it before the question, --system '' leaves it out";

// Rendered text around the user's message.
struct Frame {
  std::string before, after;
};

// Around the last place of a content in text that the template did not write itself.
std::optional<Frame> frame_around(const std::vector<PromptPiece>& pieces,
                                  std::string_view content) {
  for (std::size_t i = pieces.size(); i-- > 0;) {
    if (pieces[i].trusted) continue;
    const auto place = pieces[i].text.rfind(content);
    if (place == std::string::npos) continue;
    Frame frame{.before = {}, .after = pieces[i].text.substr(place + content.size())};
    for (std::size_t k = 0; k < i; ++k) frame.before += pieces[k].text;
    frame.before += pieces[i].text.substr(0, place);
    for (std::size_t k = i + 1; k < pieces.size(); ++k) frame.after += pieces[k].text;
    return frame;
  }
  return std::nullopt;
}

// Templates may trim a message, but must keep it whole.
bool fills(const std::string& rendered, const Frame& frame, std::string_view message) {
  if (rendered.size() < frame.before.size() + frame.after.size() ||
      !rendered.starts_with(frame.before) || !rendered.ends_with(frame.after))
    return false;
  const std::string_view middle = std::string_view(rendered).substr(
      frame.before.size(), rendered.size() - frame.before.size() - frame.after.size());
  return jinja::trim_space(middle) == jinja::trim_space(message);
}

std::optional<Frame> find_message(const std::vector<PromptPiece>& pieces,
                                  std::string_view message) {
  if (auto whole = frame_around(pieces, message)) return whole;
  return frame_around(pieces, jinja::trim_space(message));
}

class Renderer {
 public:
  // Error where the template has no place for the system message, unless it may go to the user.
  Renderer(const Question& question, const ChatTemplate& chat)
      : question_(question),
        chat_(chat),
        arguments_(parse_json(question.template_arguments, "template arguments")) {
    if (!arguments_.is_object())
      bad_input("template arguments: an object is needed, as {{\"enable_thinking\": true}}");
    arguments_["add_generation_prompt"] = question_.generation_prompt && !question_.continue_last;
    while (occurs(marker_)) marker_ += "z";
    if (!question_.system.empty()) place_system();
  }

  std::vector<PromptPiece> pieces(std::string_view message) const {
    return rendered(question_.system, message);
  }

  // Around the question, found by rendering a marker in its place. A template may look at the
  // message and change what surrounds it; then the question itself is looked for.
  Frame base_frame(const std::vector<PromptPiece>& base) const {
    if (joined(base).find(jinja::trim_space(question_.system)) == std::string::npos)
      bad_input("{}: the chat template changes the system message: {}", chat_.name(),
                kSystemRemedy);
    if (const auto frame = marker_frame(); frame && fills(joined(base), *frame, question_.text))
      return *frame;
    if (auto frame = find_message(base, question_.text)) return *frame;
    bad_input("{}: the chat template drops or changes the question; use another template, or --raw",
              chat_.name());
  }

  // The rendered message with a context; the rest of the prompt must be that of the base prompt.
  std::vector<PromptPiece> with(std::string_view message, const Frame& base,
                                std::string_view context) const {
    std::vector<PromptPiece> rendered = pieces(message);
    if (fills(joined(rendered), base, message)) return rendered;
    if (find_message(rendered, message))
      bad_input("{}: the chat template moves the context {} away from the question", chat_.name(),
                in_quotes(context));
    bad_input(
        "{}: the chat template drops or changes the context {}; use another template, or --raw",
        chat_.name(), in_quotes(context));
  }

 private:
  bool occurs(std::string_view word) const {
    bool found = question_.system.find(word) != question_.system.npos ||
                 question_.text.find(word) != question_.text.npos;
    for (const Message& turn : question_.history)
      found = found || turn.content.find(word) != turn.content.npos;
    for (const Message& turn : question_.later)
      found = found || turn.content.find(word) != turn.content.npos;
    return found;
  }

  // With the system message as the template takes it: as a message, or before the first message of
  // the user.
  std::vector<PromptPiece> rendered(const std::string& system, std::string_view message) const {
    Json messages = Json::array();
    bool merge = system_as_user_ && !system.empty();
    const auto add = [&](const std::string& role, std::string content, const std::string& name) {
      if (merge && role == "user") {
        content = with_system(system, content);
        merge = false;
      }
      messages.push_back({{"role", role}, {"content", std::move(content)}});
      if (!name.empty()) messages.back()["name"] = name;
    };
    if (!system.empty() && !system_as_user_) add("system", system, "");
    for (const Message& turn : question_.history) add(turn.role, turn.content, turn.name);
    add("user", std::string(message), question_.name);
    for (const Message& turn : question_.later) add(turn.role, turn.content, turn.name);
    std::vector<PromptPiece> pieces = chat_.render_pieces(messages, arguments_);
    if (!question_.continue_last) return pieces;
    messages.back()["content"] = marker_;
    if (auto cut = cut_after_beginning(std::move(pieces), before_marker(messages),
                                       question_.later.back().content))
      return *std::move(cut);
    bad_input("{}: the chat template drops or changes the beginning of the answer", chat_.name());
  }

  // What the template writes before its last message; nothing where it refuses the marker.
  std::optional<std::string> before_marker(const Json& messages) const {
    try {
      const auto frame = frame_around(chat_.render_pieces(messages, arguments_), marker_);
      return frame ? std::optional(frame->before) : std::nullopt;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void place_system() {
    std::string complaint = "drops the system message";
    try {
      if (frame_around(rendered(marker_, question_.text), marker_)) return;
    } catch (const Error& error) {
      rendered("", question_.text);  // throws where the system message is not to blame
      complaint = fmt::format("refuses a system message ({})", error.what());
    }
    if (!question_.system_as_user)
      bad_input("{}: the chat template {}: {}", chat_.name(), complaint, kSystemRemedy);
    system_as_user_ = true;
  }

  std::optional<Frame> marker_frame() const {
    try {
      return frame_around(pieces(marker_), marker_);
    } catch (const Error&) {  // it refuses the marker, not the question
      return std::nullopt;
    }
  }

  const Question& question_;
  const ChatTemplate& chat_;
  Json arguments_;
  std::string marker_ = "Zqmarkerqz";  // occurs in no message
  bool system_as_user_ = false;
};

std::vector<TokenId> encoded(const std::vector<PromptPiece>& pieces, const Tokenizer& tokenizer) {
  std::vector<PromptPart> parts;
  for (const PromptPiece& piece : pieces) parts.push_back({piece.text, piece.trusted});
  return tokenizer.encode_parts(parts);
}

// Without a chat template the text itself is continued.
std::string raw_text(const Question& question) {
  if (!question.history.empty())
    bad_input(
        "--raw: without a chat template there are no earlier turns; put everything into the "
        "question");
  if (question.system.empty()) return question.text;
  if (!question.system_as_user)
    bad_input("--raw: without a chat template there is no system message: {}", kSystemRemedy);
  return with_system(question.system, question.text);
}

}  // namespace

std::string with_system(std::string_view system, std::string_view question) {
  return fmt::format("{}\n\n{}", system, question);
}

Question question_of(const std::vector<Message>& messages, bool later_turns) {
  if (messages.empty()) bad_input("messages: the list is empty; the last one must be the user's");
  for (const Message& message : messages)
    if (message.role != "system" && message.role != "user" && message.role != "assistant")
      bad_input("messages: role {} is not known; allowed: system, user, assistant",
                in_quotes(message.role));
  auto asked = messages.end() - 1;
  while (later_turns && asked != messages.begin() && asked->role != "user") --asked;
  if (asked->role != "user")
    bad_input("messages: the last one is of role {}; the one to answer must be the user's",
              in_quotes(messages.back().role));
  Question question{.text = asked->content, .name = asked->name};
  const bool system = messages.front().role == "system";
  if (system) question.system = messages.front().content;
  question.history.assign(messages.begin() + (system ? 1 : 0), asked);
  question.later.assign(asked + 1, messages.end());
  return question;
}

Prompts build_prompts(const Question& question, const std::optional<ContextPair>& pair,
                      std::string_view joiner, const ChatTemplate* chat,
                      const Tokenizer& tokenizer) {
  Prompts prompts;
  if (!question.ids.empty()) {
    CB_CHECK(question.raw);
    const auto prompt = [&](const std::string& context) {
      std::vector<TokenId> ids = question.ids;
      if (context.empty()) return ids;
      const std::vector<TokenId> more = tokenizer.encode(std::string(joiner) + context);
      ids.insert(ids.end(), more.begin(), more.end());
      return ids;
    };
    prompts.base = question.ids;
    if (pair) {
      prompts.positive = prompt(pair->positive);
      prompts.negative = prompt(pair->negative);
    }
    return prompts;
  }
  if (jinja::trim_space(question.text).empty() && !question.special_in_text)
    bad_input("the question is empty");
  if (question.raw) {
    const EncodeOptions options{.special_in_text = question.special_in_text,
                                .add_special_tokens = true};
    const std::string text = raw_text(question);
    const auto prompt = [&](const std::string& context) {
      if (context.empty()) return prompts.base;
      return tokenizer.encode(with_context(text, joiner, context), options);
    };
    prompts.base = tokenizer.encode(text, options);
    if (pair) {
      prompts.positive = prompt(pair->positive);
      prompts.negative = prompt(pair->negative);
    }
    return prompts;
  }
  CB_CHECK(chat);
  const Renderer renderer(question, *chat);
  const std::vector<PromptPiece> base = renderer.pieces(question.text);
  const Frame frame = renderer.base_frame(base);
  prompts.base = encoded(base, tokenizer);
  if (pair) {
    const auto prompt = [&](const std::string& context) {
      if (context.empty()) return prompts.base;
      const std::string message = with_context(question.text, joiner, context);
      return encoded(renderer.with(message, frame, context), tokenizer);
    };
    prompts.positive = prompt(pair->positive);
    prompts.negative = prompt(pair->negative);
  }
  return prompts;
}

}  // namespace counterbeam
