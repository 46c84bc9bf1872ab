// /v1/chat/completions and /v1/completions: from the request's JSON to a Generation.
#include "serve/api.h"
#include "serve/chat_request.h"
#include "serve/completion_request.h"
#include "serve/generation.h"

namespace counterbeam::serve {
namespace {

RequestContext context_of(const Services& services) {
  return {services.model, services.names, {}, services.system_as_user, services.ignore_tools};
}

bool has_thoughts(const LoadedModel& model) {
  const ChatTemplate* chat = model.chat_template();
  return chat && chat->source().find("</think>") != std::string::npos;
}

}  // namespace

void chat_completions(Services& services, const Call& call) {
  ChatRequest chat = read_chat(parse_body(call.request->body), context_of(services));
  PromptTask task{.question = std::move(chat.question), .param = "messages"};
  task.thinks = chat.reasoning && has_thoughts(services.model);
  task.score = chat.how.prompt_logprobs.has_value();
  task.score_top = chat.how.prompt_logprobs.value_or(0);
  const auto format = [&services](const GenerationRequest& how, ReplyHead head) {
    return chat_format(services.model, how, std::move(head));
  };
  std::make_shared<Generation>(services, call.request, call.responder, call.client,
                               std::move(chat.how), std::vector<PromptTask>{std::move(task)}, true,
                               "chatcmpl-", format)
      ->start();
}

void completions(Services& services, const Call& call) {
  CompletionRequest completion =
      read_completion(parse_body(call.request->body), context_of(services));
  const GenerationRequest& how = completion.how;
  std::vector<PromptTask> tasks;
  for (std::size_t i = 0; i < completion.prompts.size(); ++i) {
    CompletionPrompt& prompt = completion.prompts[i];
    PromptTask task{
        .question = std::move(prompt.question),
        .param = completion.prompts.size() == 1 ? "prompt" : fmt::format("prompt[{}]", i)};
    if (completion.echo) task.echo = std::move(prompt.text);
    task.score = how.prompt_logprobs || (completion.echo && how.top_logprobs);
    task.score_top = std::max(how.prompt_logprobs.value_or(0),
                              completion.echo ? how.top_logprobs.value_or(0) : 0);
    tasks.push_back(std::move(task));
  }
  const auto format = [&services, echo = completion.echo](const GenerationRequest& request,
                                                          ReplyHead head) {
    return completion_format(services.model, request, echo, std::move(head));
  };
  std::make_shared<Generation>(services, call.request, call.responder, call.client,
                               std::move(completion.how), std::move(tasks), completion.generate,
                               "cmpl-", format)
      ->start();
}

}  // namespace counterbeam::serve
