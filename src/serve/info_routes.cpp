// Endpoints that tell about the server: models, methods and the tokenizer.
#include "base/error.h"
#include "base/json.h"
#include "search/contexts.h"
#include "search/methods.h"
#include "serve/api.h"
#include "serve/chat_request.h"

namespace counterbeam::serve {
namespace {

HttpResponse json_response(const Json& body) {
  return {.body = to_line(body)};
}

Json model_object(const Services& services, const std::string& id, std::int64_t created) {
  return {{"id", id},
          {"object", "model"},
          {"created", created},
          {"owned_by", "counterbeam"},
          {"root", services.names.name()},
          {"max_model_len", services.model.engine().info().max_length}};
}

Json value_of(const SettingValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json setting_object(const SettingUse& use) {
  const Setting& setting = *use.setting;
  Json one = {{"name", setting.name},
              {"type", setting.type_name()},
              {"default", value_of(use.otherwise)},
              {"help", setting.help}};
  if (setting.most > setting.least) {
    one["least"] = setting.least;
    one["most"] = setting.most;
  }
  if (!setting.choices.empty())
    one["choices"] = std::vector<std::string>(setting.choices.begin(), setting.choices.end());
  for (const DefaultWhen& when : use.when)
    one["default_when"].push_back({{"setting", when.other->name},
                                   {"value", when.value},
                                   {"default", value_of(when.otherwise)}});
  return one;
}

}  // namespace

HttpResponse list_models(const Services& services, std::int64_t created) {
  Json data = Json::array();
  for (const std::string& id : services.names.all())
    data.push_back(model_object(services, id, created));
  return json_response({{"object", "list"}, {"data", std::move(data)}});
}

HttpResponse show_model(const Services& services, const std::string& id, std::int64_t created) {
  services.names.at(id);  // throws where there is none
  return json_response(model_object(services, id, created));
}

HttpResponse list_methods(const Services& services) {
  Json data = Json::array();
  for (const Method& method : methods()) {
    Json settings = Json::array();
    for (const SettingUse& use : method.settings) settings.push_back(setting_object(use));
    data.push_back({{"name", method.name},
                    {"model", fmt::format("{}@{}", services.names.name(), method.name)},
                    {"help", method.help},
                    {"contexts", method.contrast != Contrast::None},
                    {"traced", method.traced},
                    {"votes", method.votes},
                    {"settings", std::move(settings)}});
  }
  Json pairs = Json::array();
  for (const std::span<const ContextPair> known : {services.names.book().added(), named_contexts()})
    for (const ContextPair& pair : known)
      pairs.push_back(
          {{"name", pair.name}, {"positive", pair.positive}, {"negative", pair.negative}});
  return json_response({{"object", "list"},
                        {"model", services.names.name()},
                        {"data", std::move(data)},
                        {"contexts", std::move(pairs)}});
}

HttpResponse tokenize(const Services& services, const HttpRequest& request) {
  const Json body = parse_body(request.body);
  const Fields fields(body);
  std::vector<TokenId> ids;
  if (fields.has("messages")) {
    const RequestContext context{services.model, services.names, {}, services.system_as_user};
    try {
      ids = services.model.prompts(read_messages(fields, context), std::nullopt, " ").base;
    } catch (const BadInput& error) {
      invalid("messages", "messages: {}", error.what());
    }
  } else {
    // llama.cpp calls them "content" and "add_special", which is off unless asked for.
    const auto prompt = fields.text("prompt");
    const auto content = fields.text("content");
    if (!prompt && !content) invalid("prompt", "prompt: is missing");
    const bool special = fields.flag("add_special_tokens")
                             .value_or(fields.flag("add_special").value_or(prompt.has_value()));
    ids = services.model.tokenizer().encode(
        prompt ? *prompt : *content, {.special_in_text = true, .add_special_tokens = special});
  }
  Json reply = {{"count", ids.size()},
                {"max_model_len", services.model.engine().info().max_length},
                {"tokens", ids}};
  if (fields.flag("return_token_strs").value_or(false)) {
    reply["token_strs"] = Json::array();
    for (const TokenId id : ids)
      reply["token_strs"].push_back(token_label(services.model.tokenizer(), id));
  }
  return json_response(reply);
}

HttpResponse detokenize(const Services& services, const HttpRequest& request) {
  const Json body = parse_body(request.body);
  const Fields fields(body);
  const Json* tokens = fields.find("tokens");
  if (!tokens) invalid("tokens", "tokens: is missing");
  const std::string text = services.model.tokenizer().decode(
      token_ids(*tokens, "tokens", services.model.engine().info().vocab_size));
  return json_response({{"prompt", text}, {"content", text}});
}

HttpResponse tokenizer_info(const Services& services) {
  const Tokenizer& tokenizer = services.model.tokenizer();
  const NamedTokens& named = tokenizer.named();
  const auto or_null = [](const std::optional<std::string>& text) {
    return text ? Json(*text) : Json();
  };
  Json eos = or_null(named.eos);
  if (eos.is_null() && !services.model.engine().info().eos.empty())
    eos = services.model.token_text(services.model.engine().info().eos.front());
  const ChatTemplate* chat = services.model.chat_template();
  return json_response({{"tokenizer_class", "counterbeam"},
                        {"eos_token", std::move(eos)},
                        {"bos_token", or_null(named.bos)},
                        {"pad_token", or_null(named.pad)},
                        {"unk_token", or_null(named.unk)},
                        {"chat_template", chat ? Json(chat->source()) : Json()},
                        {"vocab_size", tokenizer.id_limit()},
                        {"model_max_length", services.model.engine().info().max_length}});
}

}  // namespace counterbeam::serve
