#include "serve/chat_request.h"

#include "base/error.h"
#include "base/quote.h"
#include "serve/api_error.h"

namespace counterbeam::serve {
namespace {

constexpr std::size_t kMostMessages = 4096;

std::string content_of(const Json& content, const std::string& name) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array() || content.empty())
    invalid(name, "{}: {} is neither a string nor an array of text parts", name,
            shown_value(content));
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string part = fmt::format("{}[{}]", name, i);
    if (!content[i].is_object())
      invalid(part, "{}: {} is not an object", part, shown_value(content[i]));
    const Fields fields(content[i], part + ".");
    const std::string type = fields.text("type").value_or("text");
    if (type != "text" && type != "input_text")
      invalid(part + ".type", "{}.type: {} is not supported; only text parts are", part,
              in_quotes(printable(type, 40)));
    const auto piece = fields.text("text");
    if (!piece) invalid(part + ".text", "{}.text: is missing", part);
    text += (i > 0 && !text.empty() ? "\n" : "") + *piece;
  }
  return text;
}

Message message_of(const Json& message, const std::string& name) {
  if (!message.is_object()) invalid(name, "{}: {} is not an object", name, shown_value(message));
  const Fields fields(message, name + ".");
  auto role = fields.text("role");
  if (!role) invalid(name + ".role", "{}.role: is missing", name);
  if (*role == "developer") role = "system";
  if (*role != "system" && *role != "user" && *role != "assistant")
    invalid(name + ".role", "{}.role: {} is not known; allowed: system, developer, user, assistant",
            name, in_quotes(printable(*role, 40)));
  const Json* content = fields.find("content");
  if (!content) invalid(name + ".content", "{}.content: is missing", name);
  return {*role, content_of(*content, name + ".content"), fields.text("name").value_or("")};
}

}  // namespace

Question read_messages(const Fields& fields, const RequestContext& context) {
  const Json* list = fields.find("messages");
  if (!list) invalid("messages", "messages: is missing");
  if (!list->is_array() || list->empty())
    invalid("messages", "messages: {} is not an array with at least one message",
            shown_value(*list));
  if (list->size() > kMostMessages)
    invalid("messages", "messages: {} messages; at most {} are allowed", list->size(),
            kMostMessages);
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list->size(); ++i)
    messages.push_back(message_of((*list)[i], fmt::format("messages[{}]", i)));
  Question question;
  try {
    question = question_of(messages, true);
  } catch (const Error& error) {
    invalid("messages", "{}", error.what());
  }
  question.system_as_user = context.system_as_user;
  question.continue_last = fields.flag("continue_final_message").value_or(false);
  question.generation_prompt =
      fields.flag("add_generation_prompt").value_or(!question.continue_last);
  if (question.continue_last &&
      (question.later.empty() || question.later.back().role != "assistant"))
    invalid("continue_final_message",
            "continue_final_message: the last message is not the assistant's, so that there is "
            "nothing to continue");
  if (question.continue_last && question.later.back().content.empty())
    invalid("continue_final_message",
            "continue_final_message: the last message is empty; leave it out");
  if (const auto arguments = fields.object("chat_template_kwargs")) {
    for (const char* own : {"messages", "add_generation_prompt"})
      if (arguments->has(own))
        invalid(arguments->full(own), "{}: is a field of the request itself; put it there",
                arguments->full(own));
    question.template_arguments = to_line(*fields.find("chat_template_kwargs"));
  }
  return question;
}

ChatRequest read_chat(const Json& body, const RequestContext& context) {
  const Fields fields(body);
  ChatRequest request{read_generation(fields, context, 0), read_messages(fields, context)};
  for (const char* name : {"max_tokens", "max_completion_tokens"}) fields.whole(name, 1, INT64_MAX);
  const auto top = fields.whole("top_logprobs", 0, context.limits.top_logprobs);
  if (fields.flag("logprobs").value_or(false))
    request.how.top_logprobs = static_cast<int>(top.value_or(0));
  else if (top.value_or(0) > 0)
    invalid("top_logprobs", "top_logprobs: needs \"logprobs\": true");
  const std::string format = fields.text("reasoning_format").value_or("auto");
  if (format != "auto" && format != "none" && format != "deepseek")
    invalid("reasoning_format", "reasoning_format: {} is not known; allowed: auto, none, deepseek",
            in_quotes(printable(format, 40)));
  request.reasoning = format != "none";
  request.question.stop = request.how.stop;
  request.question.stop_ids = request.how.stop_ids;
  return request;
}

}  // namespace counterbeam::serve
