// The requests that the remote engine sends and the replies it reads, for every kind of server:
// pure functions between structs and JSON text. Replies are untrusted: anything wrong in one
// is a BadReply that says what it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "backend/sampling.h"
#include "backend/top_tokens.h"
#include "base/ids.h"
#include "base/json_fwd.h"
#include "base/random.h"

namespace counterbeam {

// A reply that is not what was asked for.
class BadReply : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// How a server takes and gives tokens.
enum class RemoteApi {
  Tokens,       // POST /inference/v1/generate, token ids in and out: vLLM, Counterbeam
  Completions,  // POST /v1/completions with prompts of ids: vLLM, and others that return ids
  SGLang,       // POST /generate
};

// How log-probabilities of given tokens are had, the cheapest first.
enum class ScoreWay {
  Whole,   // Counterbeam: the rows asked for, whatever was cached
  Rows,    // vLLM, V2 runner: prompt_logprob_token_ids, the rows asked for alone
  Start,   // SGLang: logprob_start_len, which keeps the prefix cache up to there
  Cached,  // vLLM: prompt_logprobs that read the prefix cache; cached rows are unreadable
  Prompt,  // prompt_logprobs or echo, the whole prompt computed again
  Steps,   // one request per token, with that token alone allowed
  None,
};

// What probing found out about a server.
struct RemoteKind {
  RemoteApi api = RemoteApi::Completions;
  ScoreWay score = ScoreWay::None;
  std::string model{};          // its name there
  std::string root{};           // what it is loaded from there; empty: not said
  std::int64_t max_length = 0;  // 0: not said
  int block_size = 0;           // tokens of a block of its prefix cache; 0: not said
  int ranks = 1;                // data-parallel ranks, each with a cache of its own
  bool raw_logprobs = true;     // of draws: at temperature 1; false: after temperature and filters
  bool keyed = false;           // takes a DrawKey and gives the log-probs of draws
  bool counts_cached = false;   // usage tells how many prompt tokens were cached
  bool steps = false;           // one-token requests give log-probs, too
  bool echo = false;            // Completions: echo with max_tokens 0 in place of prompt_logprobs
  bool tokens_as_ids = false;   // Completions: ids come as "token_id:N" in place of token_ids
};

struct DrawCall {
  std::vector<TokenId> tokens;
  int max_tokens = 1;
  Sampling sampling{};
  DrawKey key{};
  std::vector<TokenId> stop{};
  int top = 0;
  std::string salt{};
  int rank = -1;                  // data-parallel rank; -1: the server chooses
  std::optional<TokenId> only{};  // the one token that may be drawn
};

struct DrawReply {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;        // [tokens]
  std::vector<float> drawn_logprobs;  // [tokens], or empty where the server does not say
  std::vector<TopTokens> top;         // [tokens], or empty
  bool cut = false;                   // ended by the server before it was done: abort
  bool keyed = false;
  std::int64_t prompt_tokens = 0;
  std::optional<std::int64_t> cached_tokens{};
};

struct ScoreCall {
  std::vector<TokenId> tokens;  // the prompt and what is scored
  std::size_t from = 1;         // tokens[from..] are scored
  int top = 0;
  std::string salt{};
  int rank = -1;
  bool use_cache = true;  // false: rows must be computed (for ScoreWay::Cached and Rows)
};

struct ScoreReply {
  std::vector<std::optional<float>> logprobs;  // [tokens.size() - from]; none: unreadable
  std::vector<TopTokens> top;                  // the same size, or empty
  std::int64_t prompt_tokens = 0;
  std::optional<std::int64_t> cached_tokens{};
};

struct RemoteRequest {
  std::string path, body;
  std::vector<std::string> headers{};
};

RemoteRequest draw_request(const RemoteKind& kind, const DrawCall& call);
DrawReply read_draw(const RemoteKind& kind, const DrawCall& call, std::string_view body);

// REQUIRES a kind whose score way is neither Steps nor None, and 1 <= from < tokens.size().
RemoteRequest score_request(const RemoteKind& kind, const ScoreCall& call);
ScoreReply read_score(const RemoteKind& kind, const ScoreCall& call, std::string_view body);

// The message of an error reply, shortened to one line.
std::string error_text(std::string_view body);

// vLLM's answer where the cache left a NaN among the rows of prompt log-probabilities.
bool is_nan_refusal(int status, std::string_view body);

// A seed that depends on the whole key, below 2^63.
std::uint64_t seed_of(const DrawKey& key);

}  // namespace counterbeam
