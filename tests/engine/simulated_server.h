// A simulated model server for the remote engine: the APIs of vLLM (V1 and V2 runners), SGLang and
// plain OpenAI servers over a toy distribution, with a prefix cache that is reused as theirs are.
// V1 returns garbage for rows that came from the cache, and now and then a NaN, which makes the
// whole reply a 400; V2 leaves those rows out.
#pragma once

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "base/json.h"
#include "engine/remote_engine.h"
#include "support/http_listener.h"

namespace counterbeam::testing {

// Next-token log-probabilities that depend on every token before.
class ToyDistribution {
 public:
  // Another `weights` is another model. `rounding`: how far logits may be off, as in another dtype.
  explicit ToyDistribution(int vocab, std::uint64_t weights = 0, double rounding = 0)
      : vocab_(vocab), weights_(weights), rounding_(rounding) {}
  int vocab() const { return vocab_; }

  std::vector<float> after(std::span<const TokenId> tokens) const {
    std::uint64_t state = 88172645463325252ull + weights_;
    for (const TokenId token : tokens) state = mixed(state ^ std::uint64_t(token + 1));
    std::vector<double> logits;
    double sum = 0;
    for (int v = 0; v < vocab_; ++v) {
      logits.push_back(4.0 * share(mixed(state + std::uint64_t(v))) +
                       rounding_ * (2 * share(mixed(state + std::uint64_t(v + vocab_))) - 1));
      sum += std::exp(logits.back());
    }
    std::vector<float> logs;
    for (const double logit : logits) logs.push_back(float(logit - std::log(sum)));
    return logs;
  }
  float logprob(std::span<const TokenId> before, TokenId token) const {
    return after(before)[std::size_t(token)];
  }

 private:
  static std::uint64_t mixed(std::uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
  }
  static double share(std::uint64_t x) { return double(x >> 11) / double(1ull << 53); }

  int vocab_;
  std::uint64_t weights_;
  double rounding_;
};

struct SimulatedOptions {
  enum class Kind { VllmV1, VllmV2, Completions, Echo, SGLang, DrawsOnly, StepsOnly };
  Kind kind = Kind::VllmV1;
  int vocab = 40;
  std::uint64_t weights = 0;  // of the model, and how they are rounded
  double rounding = 0;
  int length = 400;
  int block_size = 16;
  bool scale_out = true;      // /inference/v1/generate
  bool token_details = true;  // cached tokens are told
  bool processed = false;     // log-probs of draws after temperature
  bool token_ids = true;      // completions understand return_token_ids
  bool nan = true;            // V1: now and then a cached row is a NaN
  int ranks = 1;
  std::vector<std::string> models = {"toy"};
  std::string key{};
  // A reply of the test's own in place of the simulated one, by the number of the request.
  std::function<std::optional<SpokenReply>(const HeardRequest&)> fault{};
  std::chrono::microseconds delay{0};
  int port = 0;
};

class SimulatedServer {
 public:
  explicit SimulatedServer(SimulatedOptions options = {})
      : options_(std::move(options)),
        toy_(options_.vocab, options_.weights, options_.rounding),
        listener_([this](const HeardRequest& request) { return answer(request); }, options_.port) {}

  std::string url() const { return listener_.url(); }
  int port() const { return listener_.port(); }
  void stop() { listener_.stop(); }
  const ToyDistribution& toy() const { return toy_; }
  int requests(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(path);
    return found == counts_.end() ? 0 : found->second;
  }
  std::int64_t computed_tokens() const { return computed_; }
  std::int64_t garbage_rows() const { return garbage_; }
  std::set<std::string> ranks_heard() const {
    const std::lock_guard lock(mutex_);
    return ranks_;
  }

 private:
  using Kind = SimulatedOptions::Kind;

  static SpokenReply error(int status, const std::string& message) {
    return {status, to_line(Json{{"error", {{"message", message}, {"code", status}}}})};
  }

  SpokenReply answer(const HeardRequest& request) {
    {
      const std::lock_guard lock(mutex_);
      ++counts_[request.path];
      if (const auto at = request.head.find("X-data-parallel-rank: "); at != request.head.npos)
        ranks_.insert(request.head.substr(at + 22, request.head.find("\r", at) - at - 22));
    }
    if (options_.fault)
      if (auto reply = options_.fault(request)) return *reply;
    if (!options_.key.empty() &&
        request.head.find("Authorization: Bearer " + options_.key + "\r") == request.head.npos)
      return error(401, "Unauthorized");
    if (options_.delay.count() > 0) std::this_thread::sleep_for(options_.delay);
    if (request.path == "/v1/models") return models();
    if (request.path == "/metrics") return metrics();
    const bool vllm = options_.kind == Kind::VllmV1 || options_.kind == Kind::VllmV2 ||
                      options_.kind == Kind::StepsOnly;
    if (request.path == "/inference/v1/generate" && vllm) {
      if (!options_.scale_out) return error(403, "start with --enable-scale-out");
      return tokens(parse_json(request.body, "request"));
    }
    if (request.path == "/generate" && options_.kind == Kind::SGLang)
      return sglang(parse_json(request.body, "request"));
    if (request.path == "/v1/completions" && options_.kind != Kind::SGLang)
      return completions(parse_json(request.body, "request"));
    return error(404, "Not Found");
  }

  SpokenReply models() const {
    Json data = Json::array();
    for (const std::string& model : options_.models)
      data.push_back({{"id", model}, {"root", model}, {"max_model_len", options_.length}});
    return {200, to_line(Json{{"object", "list"}, {"data", data}})};
  }

  SpokenReply metrics() const {
    if (options_.kind == Kind::SGLang || options_.kind == Kind::Echo) return error(404, "none");
    std::string text = "# HELP x\nvllm:cache_config_info{block_size=\"" +
                       std::to_string(options_.block_size) + "\",engine=\"0\"} 1.0\n";
    for (int rank = 0; rank < options_.ranks; ++rank)
      text += "vllm:num_requests_running{engine=\"" + std::to_string(rank) + "\"} 0.0\n";
    return {200, text};
  }

  // The tokens of the longest cached prefix, whole blocks, never all of the prompt.
  std::size_t cached_of(const std::vector<TokenId>& tokens, const std::string& salt) {
    const std::lock_guard lock(mutex_);
    const auto block = std::size_t(options_.block_size);
    std::size_t cached = 0;
    while (
        cached + block < tokens.size() &&
        cache_.contains({salt, {tokens.begin(), tokens.begin() + std::ptrdiff_t(cached + block)}}))
      cached += block;
    return cached;
  }
  void keep(const std::vector<TokenId>& tokens, const std::string& salt) {
    const std::lock_guard lock(mutex_);
    for (std::size_t end = std::size_t(options_.block_size); end <= tokens.size();
         end += std::size_t(options_.block_size))
      cache_.insert({salt, {tokens.begin(), tokens.begin() + std::ptrdiff_t(end)}});
  }

  struct Drawn {
    std::vector<TokenId> tokens;
    std::vector<float> logprobs;
    std::vector<std::vector<float>> rows;  // raw
    bool stopped = false;
  };

  Drawn draw(std::vector<TokenId> tokens, int most, double temperature, std::uint64_t seed,
             const std::vector<TokenId>& stop, std::optional<TokenId> only) {
    Drawn drawn;
    std::mt19937_64 numbers(seed);
    while (int(drawn.tokens.size()) < most && int(tokens.size()) < options_.length &&
           !drawn.stopped) {
      const std::vector<float> row = toy_.after(tokens);
      std::vector<double> weights;
      for (int v = 0; v < toy_.vocab(); ++v)
        weights.push_back(only && v != *only ? 0
                          : temperature == 0 ? double(row[std::size_t(v)] ==
                                                      *std::max_element(row.begin(), row.end()))
                                             : std::exp(row[std::size_t(v)] / temperature));
      const auto token =
          TokenId(std::discrete_distribution<int>(weights.begin(), weights.end())(numbers));
      double sum = 0;
      for (const double weight : weights) sum += weight;
      drawn.tokens.push_back(token);
      drawn.rows.push_back(row);
      drawn.logprobs.push_back(options_.processed
                                   ? float(std::log(weights[std::size_t(token)] / sum))
                                   : row[std::size_t(token)]);
      tokens.push_back(token);
      drawn.stopped = std::find(stop.begin(), stop.end(), token) != stop.end();
    }
    computed_ += std::int64_t(drawn.tokens.size());
    return drawn;
  }

  Json usage(std::size_t prompt, std::size_t cached, std::size_t drawn) const {
    Json usage = {{"prompt_tokens", prompt}, {"completion_tokens", drawn}};
    if (options_.token_details) usage["prompt_tokens_details"] = {{"cached_tokens", cached}};
    return usage;
  }

  bool bad_ids(const std::vector<TokenId>& tokens) const {
    return std::any_of(tokens.begin(), tokens.end(),
                       [&](TokenId token) { return token < 0 || token >= options_.vocab; });
  }

  static std::vector<TokenId> ids(const Json& object, const char* name) {
    return object.contains(name) ? object[name].get<std::vector<TokenId>>()
                                 : std::vector<TokenId>();
  }

  // Rows of the prompt's tokens; `cached` of them were not computed. Empty: a NaN.
  std::optional<Json> prompt_rows(const std::vector<TokenId>& tokens, std::size_t cached, int top) {
    Json rows = Json::array();
    const bool v2 = options_.kind == Kind::VllmV2;
    if (!v2 || cached == 0) rows.push_back(nullptr);
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (i - 1 < cached) {
        if (v2) continue;
        ++garbage_;
        const std::lock_guard lock(mutex_);
        if (options_.nan && noise_() % 200 == 0) return std::nullopt;
        rows.push_back({{std::to_string(tokens[i]),
                         {{"logprob", -double(noise_() % 1000) / 100}, {"rank", 1}}}});
        continue;
      }
      const std::vector<float> row = toy_.after(std::span(tokens).first(i));
      Json one = {{std::to_string(tokens[i]), {{"logprob", row[std::size_t(tokens[i])]}}}};
      for (const TokenLogprob& other : top_tokens(row, top, 0))
        one[std::to_string(other.token)] = {{"logprob", other.logprob}};
      rows.push_back(std::move(one));
    }
    return rows;
  }

  static std::string base64(std::string_view bytes) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
      std::uint32_t held = 0;
      for (std::size_t k = 0; k < 3; ++k)
        held = held << 8 | (i + k < bytes.size() ? std::uint8_t(bytes[i + k]) : 0u);
      for (std::size_t k = 0; k < 4; ++k)
        text += i + k > bytes.size() ? '=' : kDigits[held >> (18 - 6 * k) & 63];
    }
    return text;
  }

  std::string npy(const std::vector<float>& values) const {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                         std::to_string(values.size()) + ", 1), }";
    header.resize(117, ' ');
    header += '\n';
    std::string file = "\x93NUMPY";
    file += '\x01';
    file += '\0';
    file += char(header.size());
    file += '\0';
    file += header;
    file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return base64(file);
  }

  SpokenReply tokens(const Json& body) {
    const auto prompt = ids(body, "token_ids");
    const Json& how = body["sampling_params"];
    const std::string salt = body.value("cache_salt", "");
    if (how.value("temperature", 1.0) > 2) return error(400, "temperature must be in [0, 2]");
    if (prompt.empty() || bad_ids(prompt)) return error(400, "a token id is out of the vocabulary");
    const bool rows = how.contains("prompt_logprobs"),
               by_ids = how.contains("prompt_logprob_token_ids");
    if (by_ids && options_.kind != Kind::VllmV2) return error(400, "V2 runner only");
    if (rows && options_.kind == Kind::StepsOnly) return error(400, "no prompt logprobs here");
    const bool skip = how.value("skip_reading_prefix_cache", rows);
    const std::size_t cached = skip ? 0 : cached_of(prompt, salt);
    computed_ += std::int64_t(prompt.size() - cached);
    const auto allowed = ids(how, "allowed_token_ids");
    const Drawn drawn = draw(prompt, how.value("max_tokens", 16), how.value("temperature", 1.0),
                             how.value("seed", std::uint64_t{0}), ids(how, "stop_token_ids"),
                             allowed.empty() ? std::nullopt : std::optional(allowed[0]));
    std::vector<TokenId> all = prompt;
    all.insert(all.end(), drawn.tokens.begin(), drawn.tokens.end());
    keep(all, salt);
    Json content = Json::array();
    const int top = how.value("logprobs", 0);
    for (std::size_t i = 0; i < drawn.tokens.size(); ++i) {
      Json others = Json::array();
      for (const TokenLogprob& one : top_tokens(drawn.rows[i], top, 0))
        others.push_back({{"token_id", one.token}, {"logprob", one.logprob}});
      content.push_back({{"token_id", drawn.tokens[i]},
                         {"logprob", drawn.logprobs[i]},
                         {"top_logprobs", others}});
    }
    Json reply = {{"request_id", "x"},
                  {"choices",
                   {{{"index", 0},
                     {"token_ids", drawn.tokens},
                     {"logprobs", {{"content", content}}},
                     {"finish_reason", drawn.stopped ? "stop" : "length"}}}},
                  {"usage", usage(prompt.size(), cached, drawn.tokens.size())}};
    if (rows) {
      auto values = prompt_rows(prompt, cached, how["prompt_logprobs"].get<int>());
      if (!values) return error(400, "Out of range float values are not JSON compliant: nan");
      reply["prompt_logprobs"] = std::move(*values);
    }
    if (by_ids) {
      std::vector<float> values;
      const auto start = how["prompt_logprob_start"].get<std::size_t>();
      for (std::size_t k = 0; k < how["prompt_logprob_token_ids"].size(); ++k)
        values.push_back(toy_.logprob(std::span(prompt).first(start + k + 1),
                                      how["prompt_logprob_token_ids"][k][0].get<TokenId>()));
      reply["prompt_token_id_logprobs"] = cached > start ? Json() : Json(npy(values));
    }
    return {200, to_line(reply)};
  }

  SpokenReply completions(const Json& body) {
    const auto prompt = ids(body, "prompt");
    if (prompt.empty() || bad_ids(prompt)) return error(400, "a token id is out of the vocabulary");
    if (body.value("temperature", 1.0) > 2) return error(400, "temperature must be in [0, 2]");
    const bool echo = body.value("echo", false), scores = body.contains("prompt_logprobs");
    const bool scores_known = options_.kind == Kind::Completions || options_.kind == Kind::VllmV1 ||
                              options_.kind == Kind::VllmV2;
    if (echo && options_.kind == Kind::DrawsOnly) return error(400, "echo is not supported");
    const auto allowed = ids(body, "allowed_token_ids");
    const bool steps = scores_known && !allowed.empty();
    computed_ += std::int64_t(prompt.size());
    const Drawn drawn = draw(prompt, body.value("max_tokens", 16), body.value("temperature", 1.0),
                             body.value("seed", std::uint64_t{0}), ids(body, "stop_token_ids"),
                             steps ? std::optional(allowed[0]) : std::nullopt);
    Json labels = Json::array(), values = Json::array(), tops = Json::array();
    const auto add = [&](TokenId token, Json value) {
      labels.push_back(options_.token_ids ? "token_id:" + std::to_string(token) : "text");
      values.push_back(std::move(value));
    };
    for (std::size_t i = 0; echo && i < prompt.size(); ++i)
      add(prompt[i], i == 0 ? Json() : Json(toy_.logprob(std::span(prompt).first(i), prompt[i])));
    for (std::size_t i = 0; i < drawn.tokens.size(); ++i) {
      add(drawn.tokens[i], drawn.logprobs[i]);
      Json top = Json::object();
      for (const TokenLogprob& one : top_tokens(drawn.rows[i], body.value("logprobs", 0), 0))
        top["token_id:" + std::to_string(one.token)] = one.logprob;
      tops.push_back(std::move(top));
    }
    Json choice = {
        {"index", 0},
        {"text", ""},
        {"logprobs", {{"tokens", labels}, {"token_logprobs", values}, {"top_logprobs", tops}}},
        {"finish_reason", drawn.stopped ? "stop" : "length"}};
    if (options_.token_ids && options_.kind != Kind::Echo) choice["token_ids"] = drawn.tokens;
    if (scores && scores_known)
      choice["prompt_logprobs"] = *prompt_rows(prompt, 0, body["prompt_logprobs"].get<int>());
    return {200, to_line(Json{{"choices", {choice}},
                              {"usage", usage(prompt.size(), 0, drawn.tokens.size())}})};
  }

  SpokenReply sglang(const Json& body) {
    const auto prompt = ids(body, "input_ids");
    const Json& how = body["sampling_params"];
    const std::string salt = body.value("extra_key", "");
    std::size_t cached = cached_of(prompt, salt);
    Json entries = Json::array(), tops = Json::array();
    if (const int start = body.value("logprob_start_len", -1); start >= 0) {
      cached = std::min(cached, std::size_t(start));
      for (std::size_t i = std::size_t(start); i < prompt.size(); ++i) {
        const std::vector<float> row = toy_.after(std::span(prompt).first(i));
        const bool first = i == std::size_t(start);
        entries.push_back({first ? Json() : Json(row[std::size_t(prompt[i])]), prompt[i], nullptr});
        Json top = Json::array();
        for (const TokenLogprob& one : top_tokens(row, body.value("top_logprobs_num", 0), 0))
          top.push_back({one.logprob, one.token, nullptr});
        tops.push_back(first ? Json() : top);
      }
    }
    computed_ += std::int64_t(prompt.size() - cached);
    const Drawn drawn = draw(prompt, how.value("max_new_tokens", 16), how.value("temperature", 1.0),
                             how.value("sampling_seed", std::uint64_t{0}),
                             ids(how, "stop_token_ids"), std::nullopt);
    std::vector<TokenId> all = prompt;
    all.insert(all.end(), drawn.tokens.begin(), drawn.tokens.end());
    keep(all, salt);
    Json outputs = Json::array(), output_tops = Json::array();
    for (std::size_t i = 0; i < drawn.tokens.size(); ++i) {
      outputs.push_back({drawn.logprobs[i], drawn.tokens[i], nullptr});
      Json top = Json::array();
      for (const TokenLogprob& one :
           top_tokens(drawn.rows[i], body.value("top_logprobs_num", 0), 0))
        top.push_back({one.logprob, one.token, nullptr});
      output_tops.push_back(top);
    }
    return {200, to_line(Json{{"text", ""},
                              {"output_ids", drawn.tokens},
                              {"meta_info",
                               {{"prompt_tokens", prompt.size()},
                                {"cached_tokens", cached},
                                {"finish_reason", {{"type", drawn.stopped ? "stop" : "length"}}},
                                {"input_token_logprobs", entries},
                                {"input_top_logprobs", tops},
                                {"output_token_logprobs", outputs},
                                {"output_top_logprobs", output_tops}}}})};
  }

  const SimulatedOptions options_;
  const ToyDistribution toy_;
  mutable std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::set<std::string> ranks_;
  std::set<std::pair<std::string, std::vector<TokenId>>> cache_;
  std::mt19937_64 noise_{5};
  std::atomic<std::int64_t> computed_ = 0, garbage_ = 0;
  HttpListener listener_;  // last: its threads use all of the above
};

// Options with short pauses, over these servers.
inline RemoteOptions simulated_options(std::vector<std::string> urls) {
  RemoteOptions options;
  options.urls = std::move(urls);
  options.probe.tokens = {3, 1, 4, 1, 5, 9, 2, 6};
  options.patience = std::chrono::milliseconds(2000);
  options.first_pause = std::chrono::milliseconds(2);
  options.longest_pause = std::chrono::milliseconds(20);
  options.revival = std::chrono::milliseconds(20);
  return options;
}

inline RemoteModel simulated_model() {
  return {.name = "toy", .vocab_size = 40, .max_length = 400, .eos = {0}};
}

}  // namespace counterbeam::testing
