// Replies of remote servers, of every kind: the first byte chooses the API and the way of scoring,
// the rest is the body. A reply is read or refused by a BadReply; what was read fits what was asked
// for.
#include <cmath>
#include <cstdlib>

#include "engine/remote_apis.h"
#include "engine/remote_protocol.h"

using namespace counterbeam;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr ScoreWay kWays[] = {ScoreWay::Whole, ScoreWay::Rows, ScoreWay::Start, ScoreWay::Cached,
                                ScoreWay::Prompt};
  RemoteKind kind;
  kind.api = static_cast<RemoteApi>(data[0] % 3);
  kind.score = kWays[data[0] / 3 % 5];
  kind.echo = data[0] & 64;
  const int top = data[0] & 128 ? 2 : 0;
  const auto check = [](bool holds) {
    if (!holds) std::abort();
  };
  try {
    const DrawCall call{.tokens = {1, 2, 3}, .max_tokens = 4, .stop = {7}, .top = top};
    const DrawReply reply = read_draw(kind, call, body);
    check(reply.tokens.size() <= 4 && reply.logprobs.size() == reply.tokens.size());
    for (const TokenId token : reply.tokens) check(token >= 0);
    for (const float logprob : reply.logprobs) check(std::isfinite(logprob) && logprob <= 0);
  } catch (const BadReply&) {
  }
  try {
    const ScoreCall call{.tokens = {1, 2, 3, 4, 5}, .from = 2, .top = top};
    const ScoreReply reply = read_score(kind, call, body);
    check(reply.logprobs.size() == 3);
    for (const auto& logprob : reply.logprobs)
      check(!logprob || (std::isfinite(*logprob) && *logprob <= 0));
  } catch (const BadReply&) {
  }
  try {
    check(npy_values(body, 3).size() == 3);
  } catch (const BadReply&) {
  }
  error_text(body);
  return 0;
}
