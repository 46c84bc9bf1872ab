// POST /inference/v1/generate: token ids in, token ids out, as vLLM has it. No template, no text
// and no search: a draw from the model, the log-probabilities of the prompt's tokens, or both.
// Beside vLLM's fields it takes a draw_key, so that a search elsewhere draws as one in this process
// does, and prompt_logprob_start, so that the rows before it are neither computed nor sent.
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "serve/api.h"
#include "serve/fields.h"
#include "serve/generation_request.h"

namespace counterbeam::serve {
namespace {

struct TokenRequest {
  std::string model;
  std::vector<TokenId> tokens;
  int max_tokens = 16;
  Sampling sampling{};
  DrawKey key{};
  bool keyed = false;
  std::vector<TokenId> stop{};
  std::optional<int> logprobs{}, prompt_logprobs{};
  std::size_t from = 1;  // prompt tokens from here on are scored
};

DrawKey read_draw_key(const Fields& fields) {
  constexpr std::int64_t kMost = 0xffffffff;
  const auto part = [&](const char* name, std::int64_t most) {
    return static_cast<std::uint32_t>(fields.whole(name, 0, most).value_or(0));
  };
  DrawKey key{.question = part("question", kMost),
              .block = part("block", kMost),
              .beam = part("beam", kMostBeams - 1),
              .position = part("position", kMost)};
  // All 64 bits are a seed.
  if (const Json* seed = fields.find("seed")) {
    if (!seed->is_number_unsigned())
      invalid(fields.full("seed"), "{}: {} is not a whole number from 0 on", fields.full("seed"),
              shown_value(*seed));
    key.seed = seed->get<std::uint64_t>();
  }
  return key;
}

void read_sampling_params(const Fields& fields, const EngineInfo& info, TokenRequest& request) {
  constexpr int kMostTop = 20;
  if (fields.has("allowed_token_ids"))
    invalid("sampling_params.allowed_token_ids",
            "sampling_params.allowed_token_ids: is not supported; leave it out");
  request.max_tokens = static_cast<int>(fields.whole("max_tokens", 0, 1 << 20).value_or(16));
  request.sampling.temperature =
      static_cast<float>(fields.number("temperature", 0, 100).value_or(1));
  request.sampling.top_p = static_cast<float>(fields.number("top_p", 0, 1).value_or(1));
  if (!(request.sampling.top_p > 0))
    invalid("sampling_params.top_p", "sampling_params.top_p: 0 keeps no token; give more");
  request.sampling.top_k =
      static_cast<int>(std::max<std::int64_t>(0, fields.whole("top_k", -1, 1 << 30).value_or(0)));
  request.sampling.min_p = static_cast<float>(fields.number("min_p", 0, 1).value_or(0));
  request.key.seed = static_cast<std::uint64_t>(fields.whole("seed", 0, INT64_MAX).value_or(0));
  if (const auto key = fields.object("draw_key")) {
    request.key = read_draw_key(*key);
    request.keyed = true;
  }
  if (const Json* stop = fields.find("stop_token_ids"))
    request.stop = token_ids(*stop, "sampling_params.stop_token_ids", info.vocab_size);
  if (!fields.flag("ignore_eos").value_or(false))
    request.stop.insert(request.stop.end(), info.eos.begin(), info.eos.end());
  if (const auto top = fields.whole("logprobs", 0, kMostTop))
    request.logprobs = static_cast<int>(*top);
  if (const auto top = fields.whole("prompt_logprobs", 0, kMostTop))
    request.prompt_logprobs = static_cast<int>(*top);
  const auto last = static_cast<std::int64_t>(request.tokens.size()) - 2;
  if (const auto start = fields.whole("prompt_logprob_start", 0, std::max<std::int64_t>(0, last)))
    request.from = static_cast<std::size_t>(*start) + 1;
  if (request.max_tokens == 0 && !request.prompt_logprobs)
    invalid("sampling_params.max_tokens",
            "sampling_params.max_tokens: 0 is allowed with prompt_logprobs only");
}

TokenRequest read_token_request(const Json& body, const Services& services) {
  const Fields fields(body);
  const EngineInfo& info = services.model.engine().info();
  TokenRequest request;
  request.model = fields.text("model").value_or(services.names.name());
  services.names.at(request.model);  // 404 where there is none
  if (fields.flag("stream").value_or(false))
    invalid("stream", "stream: tokens are not streamed here; leave it out");
  const Json* ids = fields.find("token_ids");
  if (!ids) invalid("token_ids", "token_ids: is missing");
  request.tokens = token_ids(*ids, "token_ids", info.vocab_size);
  if (request.tokens.empty()) invalid("token_ids", "token_ids: is empty");
  const auto sampling = fields.object("sampling_params");
  if (!sampling) invalid("sampling_params", "sampling_params: is missing");
  read_sampling_params(*sampling, info, request);
  const auto length = static_cast<std::int64_t>(request.tokens.size());
  if (length + (request.max_tokens > 0 ? 1 : 0) > info.max_length)
    throw ApiError(400, "invalid_request_error", "token_ids", "context_length_exceeded",
                   fmt::format("token_ids: {} tokens, and the model reads at most {}, its answer "
                               "included; shorten it",
                               length, info.max_length));
  return request;
}

Json top_object(const TopTokens& top) {
  Json list = Json::array();
  for (const TokenLogprob& one : top)
    list.push_back({{"token", fmt::format("token_id:{}", one.token)}, {"logprob", one.logprob}});
  return list;
}

// One request on its way, from the queue to its answer.
class TokenGeneration : public std::enable_shared_from_this<TokenGeneration> {
 public:
  TokenGeneration(Services& services, const Call& call, TokenRequest request)
      : services_(services), call_(call), request_(std::move(request)) {}

  void start() {
    const auto self = shared_from_this();
    Admission::Work work;
    work.searches.push_back([self] { self->run(); });
    work.refused = [self](const ApiError& error) { self->answer(error.response(), error.what()); };
    work.started = [self](double seconds) { self->services_.metrics.started(seconds); };
    const auto entry = services_.admission.submit(call_.client, std::move(work));
    call_.responder->on_gone([weak = weak_from_this(), entry, &services = services_] {
      services.admission.withdraw(entry);
      if (const auto still = weak.lock()) still->cancellation_.cancel();
    });
  }

 private:
  void run() {
    try {
      Json reply = compute();
      answer({.body = to_line(reply)}, "");
    } catch (const ApiError& error) {
      answer(error.response(), error.what());
    } catch (const Cancelled&) {
      answer(ApiError(503, "unavailable_error", "", "cancelled", "the request was cancelled")
                 .response(),
             "cancelled");
    } catch (const BadInput& error) {
      answer(ApiError(400, "invalid_request_error", "", "", error.what()).response(), error.what());
    } catch (const std::exception& error) {
      answer(ApiError(500, "server_error", "", "internal_error",
                      "the server failed to answer this request; its log says why")
                 .response(),
             error.what());
    }
  }

  void answer(HttpResponse response, const std::string& note) {
    services_.metrics.request(response.status);
    services_.log.add({.id = call_.request->id,
                       .client = call_.request->peer,
                       .method = call_.request->method,
                       .path = call_.request->path,
                       .model = request_.model,
                       .status = response.status,
                       .note = note});
    call_.responder->send(std::move(response));
  }

  Json compute() {
    Engine& engine = services_.model.engine();
    const std::size_t read = request_.prompt_logprobs ? request_.from : request_.tokens.size();
    const std::vector<std::vector<TokenId>> prompt = {
        {request_.tokens.begin(), request_.tokens.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                read, request_.tokens.size()))}};
    Opened opened = engine.open(prompt, &cancellation_);
    Json reply = {{"request_id", call_.request->id}, {"model", request_.model}};
    reply["choices"] = Json::array();
    if (request_.prompt_logprobs) reply["prompt_logprobs"] = score(opened.sequences[0]);
    std::int64_t drawn = 0;
    if (request_.max_tokens > 0) {
      reply["choices"].push_back(draw(opened.sequences[0], drawn));
      if (request_.keyed) reply["keyed"] = services_.model.engine().info().abilities.keyed_draws;
    }
    const auto prompt_tokens = static_cast<std::int64_t>(request_.tokens.size());
    reply["usage"] = {{"prompt_tokens", prompt_tokens},
                      {"completion_tokens", drawn},
                      {"total_tokens", prompt_tokens + drawn},
                      {"prompt_tokens_details", {{"cached_tokens", opened.cached_tokens}}}};
    return reply;
  }

  // The rows asked for. Without a start the first entry is null, since nothing predicts it.
  Json score(Sequence& sequence) {
    Json rows = Json::array();
    if (request_.from == 1) rows.push_back(nullptr);
    const std::span tokens = std::span(request_.tokens).subspan(request_.from);
    if (tokens.empty()) return rows;
    const int top = *request_.prompt_logprobs;
    std::vector<TopTokens> alternatives;
    const ScoreRequest scoring{.sequence = &sequence,
                               .tokens = tokens,
                               .top = top,
                               .top_tokens = &alternatives,
                               .keep = true};
    const std::vector<float> logprobs =
        services_.model.engine().score({&scoring, 1}, &cancellation_)[0];
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      Json row = {{std::to_string(tokens[i]), {{"logprob", logprobs[i]}}}};
      if (top > 0)
        for (const TokenLogprob& one : alternatives[i])
          if (one.token != tokens[i]) row[std::to_string(one.token)] = {{"logprob", one.logprob}};
      rows.push_back(std::move(row));
    }
    return rows;
  }

  Json draw(Sequence& sequence, std::int64_t& drawn) {
    ExtendRequest request;
    request.sequence = &sequence;
    request.max_tokens = request_.max_tokens;
    request.sampling = request_.sampling;
    request.key = request_.key;
    request.stop = request_.stop;
    request.top = request_.logprobs.value_or(0);
    Engine& engine = services_.model.engine();
    const Extension fresh = engine.extend({&request, 1}, &cancellation_)[0];
    drawn = static_cast<std::int64_t>(fresh.tokens.size());
    Json content = Json::array();
    for (std::size_t i = 0; i < fresh.tokens.size(); ++i) {
      Json one = {{"token", fmt::format("token_id:{}", fresh.tokens[i])},
                  {"token_id", fresh.tokens[i]},
                  {"logprob", fresh.logprobs[i]}};
      if (engine.info().abilities.drawn_logprobs) one["drawn_logprob"] = fresh.drawn_logprobs[i];
      one["top_logprobs"] = request.top > 0 ? top_object(fresh.top[i]) : Json::array();
      content.push_back(std::move(one));
    }
    return {{"index", 0},
            {"token_ids", fresh.tokens},
            {"logprobs", request_.logprobs ? Json{{"content", std::move(content)}} : Json()},
            {"finish_reason", fresh.stopped ? "stop" : "length"}};
  }

  Services& services_;
  const Call call_;
  const TokenRequest request_;
  Cancellation cancellation_;
};

}  // namespace

void generate_tokens(Services& services, const Call& call) {
  TokenRequest request = read_token_request(parse_body(call.request->body), services);
  std::make_shared<TokenGeneration>(services, call, std::move(request))->start();
}

}  // namespace counterbeam::serve
