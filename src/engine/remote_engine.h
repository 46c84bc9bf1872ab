// The engine over HTTP: sequences are lists of tokens, and a running server computes. A call takes
// at most three rounds of requests: draws; scorings of the drawn tokens, each only once; and tokens
// whose log-probabilities a prefix cache made unreadable. Log-probabilities are right or the call
// fails, but their bits may differ from those of another engine.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/remote_fleet.h"

namespace counterbeam {

// What this side knows about the model.
struct RemoteModel {
  std::string name{};
  int vocab_size = 0;
  std::int64_t max_length = 0;  // where the servers do not say; 0: not known here either
  std::vector<TokenId> eos{};
};

class RemoteEngine : public Engine {
 public:
  // Probes the servers. Throws Failed or BadInput if none of them can be used.
  RemoteEngine(RemoteOptions options, RemoteModel model);
  ~RemoteEngine() override;

  const EngineInfo& info() const override { return info_; }
  // Sends nothing: prompts are read with the first call that needs them.
  Opened open(std::span<const std::vector<TokenId>> prompts,
              const Cancellation* cancellation = nullptr) override;
  std::vector<Extension> extend(std::span<const ExtendRequest> requests,
                                const Cancellation* cancellation = nullptr) override;
  std::vector<std::vector<float>> score(std::span<const ScoreRequest> requests,
                                        const Cancellation* cancellation = nullptr) override;
  std::int64_t tokens_drawn() const override { return tokens_drawn_; }
  EngineStatus status() const override;

  RemoteFleet& fleet() const { return *fleet_; }
  // Whether a request with this token is understood: false where the server's vocabulary ends
  // before it.
  bool knows_token(TokenId token) const;
  // What a user should know about the servers, one line each.
  std::vector<std::string> warnings() const;

 private:
  std::shared_ptr<RemoteFleet> fleet_;
  EngineInfo info_;
  std::atomic<std::int64_t> tokens_drawn_ = 0;
};

}  // namespace counterbeam
