#include "serve/completion_request.h"

#include "base/error.h"
#include "serve/api_error.h"
#include "text/tokenizer.h"

namespace counterbeam::serve {
namespace {

constexpr int kDefaultTokens = 16;  // of the OpenAI API

CompletionPrompt text_prompt(const std::string& text, const RequestContext& context,
                             const std::string& name) {
  CompletionPrompt prompt{.text = text, .ids = {}, .question = {.text = text}};
  prompt.question.raw = prompt.question.special_in_text = true;
  prompt.ids =
      context.model.tokenizer().encode(text, {.special_in_text = true, .add_special_tokens = true});
  if (prompt.ids.empty()) invalid(name, "{}: is empty; a prompt needs at least one token", name);
  return prompt;
}

// Ids are taken as they are: nothing is added before or after them.
CompletionPrompt id_prompt(const Json& ids, const RequestContext& context,
                           const std::string& name) {
  CompletionPrompt prompt{.ids = token_ids(ids, name, context.model.engine().info().vocab_size),
                          .question = {}};
  if (prompt.ids.empty()) invalid(name, "{}: is empty; a prompt needs at least one token", name);
  prompt.text = context.model.tokenizer().decode(prompt.ids);
  prompt.question.raw = true;
  prompt.question.ids = prompt.ids;
  return prompt;
}

std::vector<CompletionPrompt> read_prompts(const Fields& fields, const RequestContext& context) {
  const Json* given = fields.find("prompt");
  if (!given) invalid("prompt", "prompt: is missing");
  if (given->is_string()) return {text_prompt(given->get<std::string>(), context, "prompt")};
  if (!given->is_array() || given->empty())
    invalid("prompt",
            "prompt: {} is not a string, an array of strings, of token ids, or of arrays of ids",
            shown_value(*given));
  if ((*given)[0].is_number()) return {id_prompt(*given, context, "prompt")};
  const auto most = static_cast<std::size_t>(context.limits.prompts);
  if (given->size() > most)
    invalid("prompt", "prompt: {} prompts; at most {} are allowed", given->size(), most);
  std::vector<CompletionPrompt> prompts;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const std::string name = fmt::format("prompt[{}]", i);
    const Json& one = (*given)[i];
    if (one.is_string())
      prompts.push_back(text_prompt(one.get<std::string>(), context, name));
    else if (one.is_array())
      prompts.push_back(id_prompt(one, context, name));
    else
      invalid(name, "{}: {} is neither a string nor an array of token ids", name, shown_value(one));
  }
  return prompts;
}

}  // namespace

CompletionRequest read_completion(const Json& body, const RequestContext& context) {
  const Fields fields(body);
  CompletionRequest request{read_generation(fields, context, kDefaultTokens),
                            read_prompts(fields, context)};
  request.echo = fields.flag("echo").value_or(false);
  request.generate = fields.whole("max_tokens", 0, INT64_MAX).value_or(1) > 0;
  if (!request.generate && !request.echo)
    invalid("max_tokens", "max_tokens: 0 is allowed with echo only; allowed: 1 or more");
  if (const auto top = fields.whole("logprobs", 0, context.limits.top_logprobs))
    request.how.top_logprobs = static_cast<int>(*top);
  const auto best_of = fields.whole("best_of", 1, context.limits.choices);
  if (best_of && *best_of != request.how.n)
    invalid("best_of",
            "best_of: a number other than n is not supported; use the model {}@best-of-n",
            context.names.name());
  const std::size_t choices = request.prompts.size() * static_cast<std::size_t>(request.how.n);
  if (choices > static_cast<std::size_t>(context.limits.all_choices))
    invalid("n", "n: {} choices in all; at most {} are allowed", choices,
            context.limits.all_choices);
  for (CompletionPrompt& prompt : request.prompts) {
    prompt.question.stop = request.how.stop;
    prompt.question.stop_ids = request.how.stop_ids;
  }
  return request;
}

}  // namespace counterbeam::serve
