#include "serve/reply.h"

#include <algorithm>

#include "base/json.h"

namespace counterbeam::serve {
namespace {

Json ids_of(const std::vector<ShownToken>& tokens) {
  Json ids = Json::array();
  for (const ShownToken& shown : tokens) ids.push_back(shown.token);
  return ids;
}

Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

class ChatFormat : public ReplyFormat {
 public:
  using ReplyFormat::ReplyFormat;

  Json whole(const std::vector<Choice>& choices, const std::vector<PromptReply>& prompts,
             const Usage& usage) const override {
    Json list = Json::array();
    for (const Choice& choice : choices) {
      Json message = {{"role", "assistant"}, {"content", choice.content}};
      add_reasoning(message, choice.reasoning);
      Json one = {{"index", choice.index},
                  {"message", std::move(message)},
                  {"logprobs", logprobs(choice)},
                  {"finish_reason", choice.finish}};
      if (how_.return_token_ids) one["token_ids"] = ids_of(choice.tokens);
      list.push_back(std::move(one));
    }
    Json reply = object("chat.completion");
    reply["choices"] = std::move(list);
    reply["usage"] = to_json(usage);
    if (how_.return_token_ids) reply["prompt_token_ids"] = prompts[0].ids;
    if (how_.prompt_logprobs)
      reply["prompt_logprobs"] = prompt_logprobs(tokenizer(), prompts[0].scores);
    return reply;
  }

  Json first_chunk(int index, const PromptReply&) const override {
    return chunk_of("chat.completion.chunk", {{"index", index},
                                              {"delta", {{"role", "assistant"}, {"content", ""}}},
                                              {"logprobs", nullptr},
                                              {"finish_reason", nullptr}});
  }

  Json chunk(const Choice& fresh) const override {
    Json delta = Json::object();
    add_reasoning(delta, fresh.reasoning);
    if (!fresh.content.empty()) delta["content"] = fresh.content;
    Json one = {{"index", fresh.index},
                {"delta", std::move(delta)},
                {"logprobs", fresh.tokens.empty() ? Json() : logprobs(fresh)},
                {"finish_reason", or_null(fresh.finish)}};
    if (how_.return_token_ids && !fresh.tokens.empty()) one["token_ids"] = ids_of(fresh.tokens);
    return chunk_of("chat.completion.chunk", std::move(one));
  }

 private:
  static void add_reasoning(Json& message, const std::string& reasoning) {
    if (reasoning.empty()) return;
    message["reasoning_content"] = reasoning;
    message["reasoning"] = reasoning;
  }
  Json logprobs(const Choice& choice) const {
    if (!how_.top_logprobs) return {};
    return {{"content", chat_logprobs(tokenizer(), choice.tokens, top())}};
  }
};

class CompletionFormat : public ReplyFormat {
 public:
  CompletionFormat(const LoadedModel& model, const GenerationRequest& how, bool echo,
                   ReplyHead head)
      : ReplyFormat(model, how, std::move(head)), echo_(echo) {}

  Json whole(const std::vector<Choice>& choices, const std::vector<PromptReply>& prompts,
             const Usage& usage) const override {
    Json list = Json::array();
    for (const Choice& choice : choices) {
      const PromptReply& prompt = prompts[choice.prompt];
      Json one = {{"index", choice.index},
                  {"text", prompt.echo + choice.content},
                  {"logprobs", logprobs(choice, prompt)},
                  {"finish_reason", choice.finish}};
      if (how_.return_token_ids) {
        one["prompt_token_ids"] = prompt.ids;
        one["token_ids"] = ids_of(choice.tokens);
      }
      if (how_.prompt_logprobs)
        one["prompt_logprobs"] = prompt_logprobs(tokenizer(), prompt.scores);
      list.push_back(std::move(one));
    }
    Json reply = object("text_completion");
    reply["choices"] = std::move(list);
    reply["usage"] = to_json(usage);
    if (how_.prompt_logprobs)
      reply["prompt_logprobs"] = prompt_logprobs(tokenizer(), prompts[0].scores);
    return reply;
  }

  Json first_chunk(int index, const PromptReply& prompt) const override {
    if (!echo_) return {};
    Json one = {{"index", index},
                {"text", prompt.echo},
                {"logprobs", how_.top_logprobs ? prompt_arrays(prompt) : Json()},
                {"finish_reason", nullptr}};
    if (how_.return_token_ids) one["prompt_token_ids"] = prompt.ids;
    return chunk_of("text_completion", std::move(one));
  }

  Json chunk(const Choice& fresh) const override {
    Json logprobs;
    if (how_.top_logprobs && !fresh.tokens.empty())
      logprobs = legacy_logprobs(tokenizer(), fresh.tokens, *fresh.offsets);
    Json one = {{"index", fresh.index},
                {"text", fresh.content},
                {"logprobs", std::move(logprobs)},
                {"finish_reason", or_null(fresh.finish)}};
    if (how_.return_token_ids && !fresh.tokens.empty()) one["token_ids"] = ids_of(fresh.tokens);
    return chunk_of("text_completion", std::move(one));
  }

 private:
  Json logprobs(const Choice& choice, const PromptReply& prompt) const {
    if (!how_.top_logprobs) return {};
    TextOffsets offsets = answer_offsets(prompt);
    Json answer = legacy_logprobs(tokenizer(), choice.tokens, offsets);
    if (!echo_) return answer;
    Json all = prompt_arrays(prompt);
    for (auto& [name, values] : all.items())
      for (Json& value : answer[name]) values.push_back(std::move(value));
    return all;
  }

  // Tokens that were put before the text, such as BOS, are not echoed and take no place in it.
  Json prompt_arrays(const PromptReply& prompt) const {
    const std::size_t shown = count_characters(prompt.echo),
                      decoded = count_characters(tokenizer().decode(prompt.ids));
    TextOffsets offsets(tokenizer(),
                        {.hidden = decoded > shown ? decoded - shown : 0, .specials = true});
    return legacy_logprobs(tokenizer(), prompt.scores, offsets);
  }

  bool echo_;
};

}  // namespace

Json to_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

Json ReplyFormat::object(const char* kind) const {
  return {{"id", head_.id},
          {"object", kind},
          {"created", head_.created},
          {"model", head_.model},
          {"system_fingerprint", head_.fingerprint}};
}

Json ReplyFormat::chunk_of(const char* kind, Json choice) const {
  Json chunk = object(kind);
  chunk["choices"] = Json::array({std::move(choice)});
  if (how_.include_usage) chunk["usage"] = nullptr;
  return chunk;
}

TextOffsets ReplyFormat::answer_offsets(const PromptReply& prompt) const {
  return TextOffsets(tokenizer(), {.first = count_characters(prompt.echo)});
}

Json ReplyFormat::usage_chunk(const Usage& usage) const {
  Json chunk =
      object(head_.id.starts_with("chatcmpl-") ? "chat.completion.chunk" : "text_completion");
  chunk["choices"] = Json::array();
  chunk["usage"] = to_json(usage);
  return chunk;
}

std::unique_ptr<ReplyFormat> chat_format(const LoadedModel& model, const GenerationRequest& how,
                                         ReplyHead head) {
  return std::make_unique<ChatFormat>(model, how, std::move(head));
}

std::unique_ptr<ReplyFormat> completion_format(const LoadedModel& model,
                                               const GenerationRequest& how, bool echo,
                                               ReplyHead head) {
  return std::make_unique<CompletionFormat>(model, how, echo, std::move(head));
}

}  // namespace counterbeam::serve
