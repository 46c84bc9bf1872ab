#include "engine/remote_identity.h"

#include <algorithm>

#include "base/error.h"
#include "engine/remote_discovery.h"
#include "engine/remote_json.h"

namespace counterbeam {
namespace {

class KnownTextReader {
 public:
  KnownTextReader(RemoteHttp& http, const std::string& url, const RemoteKind& kind,
                  const RemoteProbe& probe, const Cancellation* cancellation)
      : http_(http), url_(url), kind_(kind), tokens_(probe.tokens), cancellation_(cancellation) {
    // A token is drawn beside scoring.
    if (kind.max_length > 0 && std::int64_t(tokens_.size()) >= kind.max_length)
      tokens_.resize(std::size_t(std::max<std::int64_t>(1, kind.max_length - 1)));
  }

  // Empty where a token has none that can be read.
  std::vector<float> read() {
    if (tokens_.size() < 2 || kind_.score == ScoreWay::None) return {};
    try {
      return kind_.score == ScoreWay::Steps ? by_steps() : by_scoring();
    } catch (const BadReply&) {
      return {};
    }
  }

 private:
  // The body of a 200; none where the server refuses.
  std::optional<std::string> answer(const RemoteRequest& request) {
    RemoteReply reply = ask_server(http_, {url_ + request.path, request.body, request.headers},
                                   url_, cancellation_);
    if (reply.status == 200) return std::move(reply.body);
    if (reply.status >= 500 || reply.status == 408 || reply.status == 429)
      failed("{}: {} {}", url_, reply.status, error_text(reply.body));
    return std::nullopt;
  }

  std::vector<float> by_scoring() {
    const ScoreCall call{.tokens = tokens_, .from = 1, .use_cache = false};
    const auto body = answer(score_request(kind_, call));
    if (!body) return {};
    std::vector<float> logprobs;
    for (const auto& one : read_score(kind_, call, *body).logprobs) {
      if (!one) return {};
      logprobs.push_back(*one);
    }
    return logprobs;
  }

  std::vector<float> by_steps() {
    std::vector<float> logprobs;
    for (std::size_t i = 1; i < tokens_.size(); ++i) {
      const DrawCall call{.tokens = {tokens_.begin(), tokens_.begin() + std::ptrdiff_t(i)},
                          .only = tokens_[i]};
      const auto body = answer(draw_request(kind_, call));
      if (!body) return {};
      const DrawReply drawn = read_draw(kind_, call, *body);
      if (drawn.tokens.size() != 1 || drawn.tokens[0] != tokens_[i]) return {};
      logprobs.push_back(drawn.logprobs[0]);
    }
    return logprobs;
  }

  RemoteHttp& http_;
  const std::string& url_;
  const RemoteKind& kind_;
  std::vector<TokenId> tokens_;
  const Cancellation* cancellation_;
};

}  // namespace

ServedModel read_known_text(RemoteHttp& http, const std::string& url, const RemoteKind& kind,
                            const RemoteProbe& probe, const Cancellation* cancellation) {
  return {.id = kind.model,
          .root = kind.root,
          .max_length = kind.max_length,
          .logprobs = KnownTextReader(http, url, kind, probe, cancellation).read()};
}

ServedModel identify_again(RemoteHttp& http, const std::string& url, const RemoteKind& kind,
                           const RemoteProbe& probe, const Cancellation* cancellation) {
  const RemoteKind now = discover_server(http, url, probe.model, cancellation);
  RemoteKind asked = kind;
  asked.model = now.model;
  asked.root = now.root;
  asked.max_length = now.max_length;
  return read_known_text(http, url, asked, probe, cancellation);
}

}  // namespace counterbeam
