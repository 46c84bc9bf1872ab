// One extend() of the remote engine: the draws of all requests go out together, then the scorings
// of what was drawn. Sequences grow at the end, so that a call that throws leaves them as they
// were.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/remote_fleet.h"

namespace counterbeam {

class RemoteExtend {
 public:
  // All of them must outlive this. `tokens_drawn` is counted up. BadInput names a bad request.
  RemoteExtend(RemoteFleet& fleet, const EngineInfo& info, std::span<const ExtendRequest> requests,
               std::atomic<std::int64_t>& tokens_drawn);
  std::vector<Extension> run(const Cancellation* cancellation);

 private:
  // Tokens to draw for one request, over one or more calls where a server ends early.
  struct Draw {
    std::size_t request = 0;
    RemoteSearch* search = nullptr;
    DrawCall call{};  // `tokens` grow by what was drawn
    int wanted = 0;
    bool done = false;
  };

  void plan(std::size_t index);
  void draw(const Cancellation* cancellation);
  void take(Draw& one, const RemoteKind& kind, const std::string& body);
  void copy_draws();
  void score(const Cancellation* cancellation);
  void grow();

  RemoteFleet& fleet_;
  const EngineInfo& info_;
  const std::span<const ExtendRequest> requests_;
  std::atomic<std::int64_t>& tokens_drawn_;
  std::vector<Draw> draws_{};
  std::vector<std::size_t> drawn_by_{};  // which request draws for this one
  std::vector<char> raw_{};              // log-probabilities of its draws are the model's own
  std::vector<Extension> results_{};
};

}  // namespace counterbeam
