// Engine: the interface that searches are written against. Sequences are opened from prompts,
// extended by sampling, scored on given tokens, forked and dropped; batching is the engine's
// business. Any thread may make any call. A call blocks until it is done; its result does not
// depend on what else runs. A call that throws leaves its sequences as they were before it.
//
// A sequence is a list of tokens. All but the last are in the KV cache: the last one is fed
// together with the next request, so opening, extending, scoring and forking compose freely.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/sampling.h"
#include "backend/top_tokens.h"
#include "base/ids.h"
#include "base/random.h"
#include "counterbeam/cancellation.h"
#include "counterbeam/error.h"
#include "engine/served_model.h"

namespace counterbeam {

// The engine's side of a sequence.
class SequenceState {
 public:
  virtual ~SequenceState() = default;
  virtual std::unique_ptr<SequenceState> fork() const = 0;
  virtual std::int64_t length() const = 0;
};

// A handle to one forkable sequence; dropping it frees its memory.
class Sequence {
 public:
  Sequence() = default;
  explicit Sequence(std::unique_ptr<SequenceState> state) : state_(std::move(state)) {}
  Sequence fork() const { return Sequence(state_->fork()); }
  std::int64_t length() const { return state_->length(); }  // tokens, prompt included
  explicit operator bool() const { return state_ != nullptr; }
  SequenceState* state() const { return state_.get(); }

 private:
  std::unique_ptr<SequenceState> state_;
};

// Tokens beside those that a call is about. An engine that keeps its sequences has read them
// before, and leaves this at zero; a server that keeps none is sent them again.
struct ReadTokens {
  std::int64_t computed = 0;    // went through the model again, or for the first time
  std::int64_t cached = 0;      // found in the server's prefix cache
  std::int64_t remembered = 0;  // tokens to score whose log-probabilities were known already

  void add(const ReadTokens& other) {
    computed += other.computed;
    cached += other.cached;
    remembered += other.remembered;
  }
};

struct Opened {
  std::vector<Sequence> sequences;  // one per prompt
  // Prompt tokens that went through the model (counted once, even if they had to be recomputed
  // after a preemption), and those shared with another prompt or found in the cache.
  std::int64_t computed_tokens = 0, cached_tokens = 0;
  // Nothing was read yet: the calls that follow count what they read (ReadTokens).
  bool counted_later = false;
};

// A token at the moment it is drawn.
struct DrawnToken {
  TokenId token = -1;
  float logprob = 0;               // under the sequence, temperature 1
  const TopTokens* top = nullptr;  // where ExtendRequest::top asks for them
};

struct ExtendRequest {
  Sequence* sequence = nullptr;        // sampled from; grows by the drawn tokens
  std::vector<Sequence*> followers{};  // read the same tokens under other prompts; grow by them too
  int max_tokens = 0;
  Sampling sampling{};
  DrawKey key{};                // token i of the request is drawn at key.position + i
  std::vector<TokenId> stop{};  // drawing one of these ends the request; it is kept
  // Token-level mixtures: draw from the sum of mix[i] * log-probs, where 0 is the sequence and 1..
  // are the followers. Empty: from the sequence alone. Tokens whose probability under the sequence
  // is below plausibility * its maximum are not drawn.
  std::vector<float> mix{};
  float plausibility = 0;
  int top = 0;  // likeliest tokens to return per token
  // Called for every token as soon as it is drawn, on the engine's own thread: it must return at
  // once and must not call the engine.
  std::function<void(const DrawnToken&)> on_token{};
};

struct Extension {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;        // under the sequence, temperature 1
  std::vector<float> drawn_logprobs;  // under the distribution the tokens were drawn from
  std::vector<std::vector<float>> follower_logprobs;  // [followers][tokens], temperature 1
  std::vector<TopTokens> top;                         // [tokens], under the sequence
  bool stopped = false;                               // the last token is a stop token
  bool full = false;  // ended early: the sequence or a follower reached max_length
  ReadTokens read{};
};

struct ScoreRequest {
  Sequence* sequence = nullptr;  // grows by the tokens
  std::span<const TokenId> tokens{};
  int top = 0;  // likeliest tokens per position, which go to `top_tokens`
  std::vector<TopTokens>* top_tokens = nullptr;  // [tokens]; REQUIRED where top > 0
  // The sequence is a prompt: what is cached of it is kept for later prompts to share, as open()
  // keeps it.
  bool keep = false;
  ReadTokens* read = nullptr;  // where given: what the call read for this request is added
};

// What a search may assume of an engine beyond the calls themselves. An engine over a remote server
// sets false what that server cannot do; a search that needs it then refuses with an error or takes
// another way. LocalEngine and ToyEngine can do all of it.
struct EngineAbilities {
  // The same distribution and the same DrawKey give the same token, whatever else runs. False:
  // the key is at most a seed, so a run cannot be repeated exactly.
  bool keyed_draws = true;
  // fork() shares the cached prefix and costs microseconds. False: a fork is a copy of the tokens,
  // and its prefix may have to be computed again.
  bool cheap_forks = true;
  // Log-probabilities of given tokens: followers and score(). False: only tokens that the engine
  // has drawn itself have log-probabilities, so there is no contrast and no reranking.
  bool given_logprobs = true;
  // Extension::drawn_logprobs are those of the distribution after temperature, top-k, top-p and
  // min-p. False: they are only known where nothing was reshaped, and equal Extension::logprobs.
  bool drawn_logprobs = true;
  // ExtendRequest::mix, and plausibility with it.
  bool mixtures = true;
};

struct EngineInfo {
  std::string description;    // model and back end, for people
  std::string device{};       // cpu or cuda
  std::string dtype{};        // of the weights as they are computed with: f32 or bf16
  std::string cache_dtype{};  // of keys and values where they are codes, fp8 or int8; else empty
  std::string activations{};  // int8 where it was asked for; empty: as `dtype`
  int vocab_size = 0;
  std::int64_t max_length = 0;  // prompt and answer together
  // What the model itself could read; more than max_length if the cache is the limit. 0: the same.
  std::int64_t model_length = 0;
  std::vector<TokenId> eos;  // ends an answer
  EngineAbilities abilities;
  std::optional<ServedModel> served{};  // of a remote engine
};

// How an engine is used at the moment, for monitoring.
struct EngineStatus {
  std::int64_t pages = 0, pages_used = 0;    // of the KV cache; used: by living sequences
  std::int64_t states = 0, states_used = 0;  // recurrent states
  std::int64_t sequences = 0;                // living ones
  std::int64_t steps = 0, rows = 0;          // so far
  std::int64_t preemptions = 0;
  int page_tokens = 0;  // tokens of a page
};

using LogitsRow = std::function<void(int position, std::span<const float> logits)>;

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const EngineInfo& info() const = 0;

  // Prefills the prompts; a shared prefix is computed once. Throws an Error that names the prompt
  // if one is empty, has max_length tokens or more, or has an id outside the vocabulary.
  virtual Opened open(std::span<const std::vector<TokenId>> prompts,
                      const Cancellation* cancellation = nullptr) = 0;

  // Extends all requests together, batched in every step. The results are in the order of the
  // requests.
  virtual std::vector<Extension> extend(std::span<const ExtendRequest> requests,
                                        const Cancellation* cancellation = nullptr) = 0;

  // Log-probabilities (temperature 1) of the given tokens, [request][token].
  virtual std::vector<std::vector<float>> score(std::span<const ScoreRequest> requests,
                                                const Cancellation* cancellation = nullptr) = 0;

  // Calls `row` with the logits (float32 [vocab]) after each of the ids, in order. Throws Failed if
  // the engine does not have them.
  virtual void logits(std::span<const TokenId>, const LogitsRow&, const Cancellation* = nullptr) {
    throw Failed("this engine gives no logits; load the model in this process");
  }

  // Drops the prompts that are kept for later ones to share, so that the next open() computes its
  // prompts in full, for measurements of time. Sequences in use are not affected.
  virtual void forget_prompts() {}

  // Tokens drawn by extend() so far, over all calls, those in flight included. Never falls, even
  // where a call fails. Any thread may ask at any time: it is for live views, and does not block.
  virtual std::int64_t tokens_drawn() const = 0;

  // Any thread may ask at any time.
  virtual EngineStatus status() const { return {}; }
};

}  // namespace counterbeam
