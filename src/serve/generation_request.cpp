#include "serve/generation_request.h"

#include <algorithm>
#include <random>

#include "base/error.h"
#include "base/quote.h"
#include "search/stops.h"
#include "serve/api_error.h"

namespace counterbeam::serve {
namespace {

constexpr std::int64_t kMostTokens = 1 << 20;
constexpr std::string_view kIdLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

// A field of the request as a setting of the method. What the search object or the model name gives
// comes first; a method without the setting does not use the field.
void give_field(GivenMethod& method, std::string_view setting, const std::string& value,
                std::string_view field) {
  if (method.method().find(setting) && !method.gives(setting))
    method.give(setting, value, std::string(field));
}

void give_sampling(GivenMethod& method, const Fields& fields) {
  for (const auto& [field, setting, least, most] :
       {std::tuple{"temperature", "temperature", 0.0, 100.0},
        {"top_p", "top-p", 0.0, 1.0},
        {"min_p", "min-p", 0.0, 1.0}}) {
    auto value = fields.number(field, least, most);
    if (!value) continue;
    if (std::string_view(field) == "top_p") value = std::max(*value, 1e-6);
    give_field(method, setting, to_line(Json(*value)), field);
  }
  if (const auto top_k = fields.whole("top_k", -1, 1 << 20))
    give_field(method, "top-k", std::to_string(std::max<std::int64_t>(*top_k, 0)), "top_k");
}

// max_completion_tokens is the newer name of max_tokens.
std::optional<std::int64_t> most_tokens(const Fields& fields) {
  const auto newer = fields.whole("max_completion_tokens", 0, INT64_MAX);
  const auto older = fields.whole("max_tokens", 0, INT64_MAX);
  return newer ? newer : older;
}

std::string setting_value(const Json& value, const std::string& name) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return to_line(value);
  invalid(name, "{}: {} is not a string, a number, true or false", name, shown_value(value));
}

std::string search_id(const Fields& search) {
  const auto id = search.text("id");
  if (!id) return "";
  if (id->empty() || id->size() > 64 || id->find_first_not_of(kIdLetters) != id->npos)
    invalid("search.id", "search.id: {} is not an id; use 1 to 64 letters, digits, -, _ and .",
            in_quotes(printable(*id, 80)));
  return *id;
}

// The method of the search object in place of the model's, and its settings over those.
void read_search(const Fields& search, const Json& object, NamedMethod& named,
                 GenerationRequest& request) {
  request.search_id = search_id(search);
  request.trace = search.flag("trace").value_or(false);
  if (const auto method = search.text("method")) {
    try {
      named = {GivenMethod(*method), false};
    } catch (const Error& error) {
      invalid("search.method", "search.method: {}", error.what());
    }
  }
  for (const auto& [key, value] : object.items()) {
    if (key == "id" || key == "trace" || key == "method" || value.is_null()) continue;
    const std::string name = "search." + key;
    std::string setting = key;
    std::replace(setting.begin(), setting.end(), '_', '-');
    const std::string given = setting_value(value, name);
    try {
      if (named.method.gives(setting)) named.method.take_back(setting);
      named.method.give(setting, given, name);
    } catch (const Error& error) {
      invalid(name, "{}: {}{}", name, error.what(),
              named.plain ? "; name a method, as in \"search\": {\"method\": \"cbs\"}" : "");
    }
    named.plain = false;
  }
}

void read_returned(const Fields& fields, const RequestLimits& limits, GenerationRequest& request) {
  request.n = static_cast<int>(fields.whole("n", 1, limits.choices).value_or(1));
  request.stream = fields.flag("stream").value_or(false);
  if (const auto options = fields.object("stream_options"))
    request.include_usage = options->flag("include_usage").value_or(false);
  request.include_stop = fields.flag("include_stop_str_in_output").value_or(false);
  request.return_token_ids = fields.flag("return_token_ids").value_or(false);
  if (const auto top = fields.whole("prompt_logprobs", 0, limits.top_logprobs))
    request.prompt_logprobs = static_cast<int>(*top);
  if (request.stream && request.prompt_logprobs)
    invalid("prompt_logprobs", "prompt_logprobs: is not given in a stream; leave out stream");
  const auto seed = fields.whole("seed", INT64_MIN, INT64_MAX);
  std::random_device device;
  request.seed = seed ? static_cast<std::uint64_t>(*seed)
                      : (std::uint64_t{device()} << 32 | std::uint64_t{device()});
}

void read_stops(const Fields& fields, const RequestContext& context, GenerationRequest& request) {
  request.stop = fields.texts("stop", context.limits.stops);
  for (const std::string& text : request.stop) {
    if (text.empty()) invalid("stop", "stop: an empty text would end every answer at once");
    if (text.size() > 1000) invalid("stop", "stop: a text of {} bytes is too long", text.size());
  }
  if (const Json* ids = fields.find("stop_token_ids")) {
    request.stop_ids = token_ids(*ids, "stop_token_ids", context.model.engine().info().vocab_size);
    if (request.stop_ids.size() > 1000)
      invalid("stop_token_ids", "stop_token_ids: {} ids; at most 1000 are allowed",
              request.stop_ids.size());
  }
}

// ApiError 400 that names the first field of the request that is not supported.
void refuse_unsupported(const Fields& fields, bool ignore_tools) {
  const auto refuse = [&](std::string_view name, std::string_view what) {
    invalid(fields.full(name), "{}: {} not supported by this server; leave it out",
            fields.full(name), what);
  };
  const auto empty = [](const Json& value) {
    return value.empty() || value == Json("") || value == Json(false);
  };
  for (const std::string_view name : {"tools", "functions", "logit_bias", "suffix", "audio"}) {
    const Json* value = fields.find(name);
    const bool ignored = ignore_tools && (name == "tools" || name == "functions");
    if (value && !ignored && !empty(*value)) refuse(name, "is");
  }
  for (const char* name : {"frequency_penalty", "presence_penalty"})
    if (fields.number(name, -2, 2).value_or(0) != 0) refuse(name, "a penalty other than 0 is");
  if (fields.number("repetition_penalty", 0, 100).value_or(1) != 1)
    refuse("repetition_penalty", "a penalty other than 1 is");
  if (const Json* format = fields.find("response_format")) {
    const bool text = format->is_object() && format->value("type", Json()) == Json("text");
    if (!text) refuse("response_format", "a format other than text is");
  }
  if (const Json* modalities = fields.find("modalities");
      modalities && *modalities != Json(Json::array({"text"})))
    refuse("modalities", "a modality other than text is");
}

}  // namespace

GenerationRequest read_generation(const Fields& fields, const RequestContext& context,
                                  int default_tokens) {
  refuse_unsupported(fields, context.ignore_tools);
  GenerationRequest request;
  request.model = fields.text("model").value_or(context.names.name());
  NamedMethod named = context.names.at(request.model);
  if (const auto search = fields.object("search"))
    read_search(*search, *fields.find("search"), named, request);
  give_sampling(named.method, fields);
  const auto tokens = most_tokens(fields);
  if (tokens || default_tokens > 0) {
    const std::int64_t most =
        std::clamp<std::int64_t>(tokens.value_or(default_tokens), 1, kMostTokens);
    give_field(named.method, "max-tokens", std::to_string(most), "max_tokens");
  }
  try {
    request.settings = named.method.resolve(context.names.book());
  } catch (const Error& error) {
    const std::string_view what = error.what();
    const std::size_t colon = what.find(": ");
    const std::string field = std::string(what.substr(0, colon == what.npos ? 0 : colon));
    const bool is_field = !field.empty() && field.find_first_of(" -\"") == field.npos;
    invalid(is_field ? field : "search", "{}", what);
  }
  request.plain = named.plain;
  read_returned(fields, context.limits, request);
  read_stops(fields, context, request);
  return request;
}

}  // namespace counterbeam::serve
