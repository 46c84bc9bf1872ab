#include "search/prompts.h"

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/trim.h"
#include "search/contexts.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace counterbeam {
namespace {

std::string joined(const std::vector<PromptPiece>& pieces) {
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

// Rendered text around the user's message.
struct Frame {
  std::string before, after;
};

// Templates may trim a message, but must keep it whole.
Frame frame_of(const std::string& rendered, std::string_view message, const ChatTemplate& chat,
               std::string_view what) {
  for (const std::string_view form : {message, trim(message, kAsciiSpace)}) {
    const auto place = rendered.rfind(form);
    if (place != rendered.npos)
      return {rendered.substr(0, place), rendered.substr(place + form.size())};
  }
  bad_input("{}: the chat template drops or changes {}; use another template, or --raw",
            chat.name(), what);
}

class Renderer {
 public:
  Renderer(const Question& question, const ChatTemplate& chat)
      : question_(question),
        chat_(chat),
        arguments_(parse_json(question.template_arguments, "template arguments")) {
    if (!arguments_.is_object())
      bad_input("template arguments: an object is needed, as {{\"enable_thinking\": true}}");
    arguments_["add_generation_prompt"] = true;
  }

  std::vector<PromptPiece> pieces(std::string_view message) const {
    Json messages = Json::array();
    if (!question_.system.empty())
      messages.push_back({{"role", "system"}, {"content", question_.system}});
    for (const Message& turn : question_.history)
      messages.push_back({{"role", turn.role}, {"content", turn.content}});
    messages.push_back({{"role", "user"}, {"content", message}});
    return chat_.render_pieces(messages, arguments_);
  }

  // The rendered message with a context; the rest of the prompt must be that of the base prompt.
  std::vector<PromptPiece> with(std::string_view message, const Frame& base,
                                std::string_view context) const {
    std::vector<PromptPiece> rendered = pieces(message);
    const Frame frame =
        frame_of(joined(rendered), message, chat_, fmt::format("the context \"{}\"", context));
    if (frame.before != base.before || frame.after != base.after)
      bad_input("{}: the chat template moves the context \"{}\" away from the question",
                chat_.name(), context);
    return rendered;
  }

  Frame base_frame(const std::vector<PromptPiece>& rendered) const {
    const std::string text = joined(rendered);
    const Frame frame = frame_of(text, question_.text, chat_, "the question");
    if (text.find(trim(question_.system, kAsciiSpace)) == text.npos)
      bad_input("{}: the chat template drops the system message; put it into the question",
                chat_.name());
    return frame;
  }

 private:
  const Question& question_;
  const ChatTemplate& chat_;
  Json arguments_;
};

std::vector<TokenId> encoded(const std::vector<PromptPiece>& pieces, const Tokenizer& tokenizer) {
  std::vector<PromptPart> parts;
  for (const PromptPiece& piece : pieces) parts.push_back({piece.text, piece.trusted});
  return tokenizer.encode_parts(parts);
}

}  // namespace

Question question_of(const std::vector<Message>& messages) {
  if (messages.empty()) bad_input("messages: the list is empty; the last one must be the user's");
  for (const Message& message : messages)
    if (message.role != "system" && message.role != "user" && message.role != "assistant")
      bad_input("messages: role {} is not known; allowed: system, user, assistant",
                in_quotes(message.role));
  if (messages.back().role != "user")
    bad_input("messages: the last one is of role {}; the one to answer must be the user's",
              in_quotes(messages.back().role));
  Question question{.text = messages.back().content};
  const bool system = messages.front().role == "system";
  if (system) question.system = messages.front().content;
  question.history.assign(messages.begin() + (system ? 1 : 0), messages.end() - 1);
  return question;
}

Prompts build_prompts(const Question& question, const std::optional<ContextPair>& pair,
                      std::string_view joiner, const ChatTemplate* chat,
                      const Tokenizer& tokenizer) {
  if (trim(question.text, kAsciiSpace).empty()) bad_input("the question is empty");
  const auto message = [&](std::string_view context) {
    return with_context(question.text, joiner, context);
  };
  Prompts prompts;
  if (question.raw) {
    if (!question.history.empty() || !question.system.empty())
      bad_input(
          "--raw: without a chat template there is no system message and no earlier turn; "
          "put everything into the question");
    const EncodeOptions options{.special_in_text = false, .add_special_tokens = true};
    prompts.base = tokenizer.encode(question.text, options);
    if (pair) {
      prompts.positive = tokenizer.encode(message(pair->positive), options);
      prompts.negative = tokenizer.encode(message(pair->negative), options);
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
      return encoded(renderer.with(message(context), frame, context), tokenizer);
    };
    prompts.positive = prompt(pair->positive);
    prompts.negative = prompt(pair->negative);
  }
  return prompts;
}

}  // namespace counterbeam
