#include "engine/remote_probe.h"

#include <algorithm>
#include <cmath>

#include "engine/remote_discovery.h"
#include "engine/remote_identity.h"
#include "engine/remote_json.h"

namespace counterbeam {

namespace rj = remote_json;

namespace {

constexpr int kDrawn = 6;
// Tells raw log-probabilities from those after temperature; vLLM takes no more than 2.
constexpr float kHot = 2;
// Log-probabilities of one token by two ways differ by rounding, which is largest in bfloat16; a
// wrong row or a temperature differs by more.
constexpr double kSame = 0.15;

class Prober {
 public:
  Prober(RemoteHttp& http, const std::string& url, const RemoteProbe& probe,
         const Cancellation* cancellation)
      : http_(http), url_(url), probe_(probe), cancellation_(cancellation) {}

  RemoteFinding find() {
    finding_.kind = discover_server(http_, url_, probe_.model, cancellation_);
    make_prompt();
    find_api();
    find_scoring();
    finding_.served = read_known_text(http_, url_, finding_.kind, probe_, cancellation_);
    return std::move(finding_);
  }

 private:
  RemoteReply send(const RemoteRequest& request) {
    return ask_server(http_, {url_ + request.path, request.body, request.headers}, url_,
                      cancellation_);
  }

  // Longer than two blocks of the cache, so that the cache is exercised.
  void make_prompt() {
    const std::int64_t length = finding_.kind.max_length;
    std::size_t wanted = finding_.kind.block_size > 0 ? 2 * finding_.kind.block_size + 8 : 72;
    if (length > 0)
      wanted = std::min<std::size_t>(wanted, std::size_t(std::max<std::int64_t>(1, length / 2)));
    while (prompt_.size() < wanted)
      prompt_.push_back(probe_.tokens[prompt_.size() % probe_.tokens.size()]);
  }

  DrawCall draw_call(float temperature) const {
    DrawCall call{.tokens = prompt_, .max_tokens = kDrawn};
    call.sampling.temperature = temperature;
    call.key.seed = 11;
    return call;
  }

  // A draw by this kind of API; none where the server does not know it. `refusal`: why.
  std::optional<DrawReply> try_draw(const RemoteKind& kind, const DrawCall& call,
                                    std::string& refusal) {
    const RemoteReply reply = send(draw_request(kind, call));
    if (reply.status != 200) {
      refusal = fmt::format("{} {}", reply.status, error_text(reply.body));
      last_status_ = reply.status;
      return std::nullopt;
    }
    try {
      DrawReply drawn = read_draw(kind, call, reply.body);
      if (drawn.tokens.empty()) rj::bad_reply("no token was drawn");
      return drawn;
    } catch (const BadReply& bad) {
      refusal = bad.what();
      return std::nullopt;
    }
  }

  void find_api() {
    std::string refusals;
    for (const RemoteApi api : {RemoteApi::Tokens, RemoteApi::SGLang, RemoteApi::Completions}) {
      RemoteKind kind = finding_.kind;
      kind.api = api;
      std::string refusal;
      auto drawn = try_draw(kind, draw_call(kHot), refusal);
      if (drawn) {
        finding_.kind = kind;
        drawn_ = std::move(*drawn);
        break;
      }
      if (api == RemoteApi::Tokens && last_status_ == 403)
        finding_.advice.push_back(
            "vllm serve --enable-scale-out: token ids in and out, and scoring by the prefix cache");
      refusals += fmt::format("{}{}: {}", refusals.empty() ? "" : "; ",
                              draw_request(kind, draw_call(kHot)).path, refusal);
    }
    if (drawn_.tokens.empty())
      failed("{}: offers no known way to draw tokens with their ids ({})", url_, refusals);
    finding_.kind.counts_cached = drawn_.cached_tokens.has_value();
    if (finding_.kind.api != RemoteApi::Tokens) return;
    RemoteKind keyed = finding_.kind;
    keyed.keyed = true;
    std::string refusal;
    const auto again = try_draw(keyed, draw_call(kHot), refusal);
    if (again && again->keyed) {
      finding_.kind = keyed;
      drawn_ = *again;
    }
  }

  std::vector<TokenId> scored_tokens() const {
    std::vector<TokenId> tokens = prompt_;
    tokens.insert(tokens.end(), drawn_.tokens.begin(), drawn_.tokens.end());
    return tokens;
  }

  std::optional<ScoreReply> try_score(const RemoteKind& kind, const std::string& salt = "") {
    const ScoreCall call{.tokens = scored_tokens(), .from = prompt_.size(), .salt = salt};
    const RemoteReply reply = send(score_request(kind, call));
    if (reply.status != 200) return std::nullopt;
    try {
      return read_score(kind, call, reply.body);
    } catch (const BadReply&) {
      return std::nullopt;
    }
  }

  static bool complete(const ScoreReply& reply) {
    return std::all_of(reply.logprobs.begin(), reply.logprobs.end(),
                       [](const auto& one) { return one.has_value(); });
  }

  // The largest distance of the values that can be read from those given.
  template <typename Values>
  static double distance(const ScoreReply& reply, const Values& others) {
    double most = 0;
    for (std::size_t i = 0; i < reply.logprobs.size(); ++i)
      if (reply.logprobs[i])
        most = std::max<double>(most, std::abs(*reply.logprobs[i] - others[i]));
    return most;
  }

  // Scores the drawn tokens in a way that computes everything: what other ways are compared with.
  bool find_reference() {
    RemoteKind& kind = finding_.kind;
    std::vector<RemoteKind> ways;
    const auto add = [&](ScoreWay way, bool echo) {
      ways.push_back(kind);
      ways.back().score = way;
      ways.back().echo = echo;
    };
    if (kind.keyed) add(ScoreWay::Whole, false);
    if (kind.api == RemoteApi::SGLang) add(ScoreWay::Start, false);
    if (kind.api != RemoteApi::SGLang) add(ScoreWay::Prompt, false);
    if (kind.api == RemoteApi::Completions) add(ScoreWay::Prompt, true);
    for (const RemoteKind& way : ways) {
      const auto reply = try_score(way);
      if (!reply || !complete(*reply)) continue;
      kind = way;
      for (const auto& one : reply->logprobs) reference_.push_back(*one);
      return true;
    }
    return false;
  }

  void find_scoring() {
    RemoteKind& kind = finding_.kind;
    if (!find_reference()) {
      find_steps(drawn_.logprobs);
      if (kind.steps) kind.score = ScoreWay::Steps;
      return;
    }
    ScoreReply drawn;
    for (const float one : drawn_.logprobs) drawn.logprobs.push_back(one);
    kind.raw_logprobs = distance(drawn, reference_) <= kSame;
    if (!kind.raw_logprobs) check_reshaped();
    if (kind.api == RemoteApi::Tokens && !kind.keyed) find_cached_ways();
    if (kind.api != RemoteApi::SGLang && !kind.keyed) find_steps(reference_);
    if (kind.api == RemoteApi::Completions)
      finding_.advice.push_back(
          "a vLLM server scores cheaper with --enable-scale-out --enable-prompt-tokens-details");
  }

  // Log-probabilities of draws that are not the model's own must at least be so at temperature 1.
  void check_reshaped() {
    std::string refusal;
    const auto plain = try_draw(finding_.kind, draw_call(1), refusal);
    if (!plain) failed("{}: a draw at temperature 1 fails: {}", url_, refusal);
    drawn_ = *plain;
    const auto scored = try_score(finding_.kind);
    if (!scored || !complete(*scored) || distance(*scored, drawn_.logprobs) > kSame)
      failed(
          "{}: log-probabilities of drawn tokens and those of the same tokens when given differ; a "
          "vLLM server needs --logprobs-mode raw_logprobs",
          url_);
    reference_.clear();
    for (const auto& one : scored->logprobs) reference_.push_back(*one);
    finding_.advice.push_back(
        finding_.kind.api == RemoteApi::SGLang
            ? "SGLANG_RETURN_ORIGINAL_LOGPROB=1 saves one scoring request per "
              "beam and block at temperatures other than 1"
            : "vllm serve --logprobs-mode raw_logprobs saves one scoring "
              "request per beam and block at temperatures other than 1");
  }

  void find_cached_ways() {
    RemoteKind& kind = finding_.kind;
    RemoteKind rows = kind;
    rows.score = ScoreWay::Rows;
    if (const auto reply = try_score(rows);
        reply && complete(*reply) && distance(*reply, reference_) <= kSame) {
      kind = rows;
      return;
    }
    if (!kind.counts_cached) {
      finding_.advice.push_back(
          "vllm serve --enable-prompt-tokens-details: scoring can use the prefix cache, since "
          "cached rows are then known");
      return;
    }
    RemoteKind cached = kind;
    cached.score = ScoreWay::Cached;
    const std::string salt =
        fmt::format("probe-{}", std::chrono::steady_clock::now().time_since_epoch().count());
    // The first request fills the cache. The second reads it, up to a block's end before the
    // prompt's.
    const auto first = try_score(cached, salt);
    if (!first || distance(*first, reference_) > kSame) return;
    const auto second = try_score(cached, salt);
    if (second && distance(*second, reference_) > kSame) return;
    kind = cached;
    if (second && second->cached_tokens == 0)
      finding_.advice.push_back(
          "the prefix cache held nothing of a repeated prompt; vllm serve --enable-prefix-caching");
  }

  // A server that does not know allowed_token_ids may draw the token all the same, so another one
  // must be drawn, too. Processed log-probabilities of the only token allowed would be 0.
  template <typename Values>
  void find_steps(const Values& values) {
    const TokenId first = drawn_.tokens[0];
    const auto other = std::find_if(probe_.tokens.begin(), probe_.tokens.end(),
                                    [&](TokenId token) { return token != first; });
    if (!finding_.kind.raw_logprobs || other == probe_.tokens.end()) return;
    DrawCall call = draw_call(1);
    call.max_tokens = 1;
    std::string refusal;
    for (const TokenId token : {first, *other}) {
      call.only = token;
      const auto reply = try_draw(finding_.kind, call, refusal);
      if (!reply || reply->tokens[0] != token) return;
      if (token == first && std::abs(reply->logprobs[0] - values[0]) > kSame) return;
    }
    finding_.kind.steps = true;
  }

  RemoteHttp& http_;
  const std::string& url_;
  const RemoteProbe& probe_;
  const Cancellation* cancellation_;
  RemoteFinding finding_;
  std::vector<TokenId> prompt_;
  DrawReply drawn_;
  std::vector<float> reference_;
  int last_status_ = 0;
};

}  // namespace

RemoteFinding probe_server(RemoteHttp& http, const std::string& url, const RemoteProbe& probe,
                           const Cancellation* cancellation) {
  CB_CHECK(!probe.tokens.empty());
  return Prober(http, url, probe, cancellation).find();
}

}  // namespace counterbeam
