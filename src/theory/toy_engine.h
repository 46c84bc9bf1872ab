// A toy model as an Engine, so that every search runs on it unchanged. It draws tokens by the code
// of the reference back end (backend/draw.h). A prompt is a single token that selects the context:
// vocab + 0 (base), + 1 (positive), + 2 (negative). Answers end at an end-of-sequence token, if the
// toy model has one, or at the horizon.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "search/prompts.h"
#include "theory/toy_model.h"

namespace counterbeam {

class ToyEngine : public Engine {
 public:
  ToyEngine(ToyModel model, std::vector<TokenId> eos);

  const EngineInfo& info() const override { return info_; }
  Opened open(std::span<const std::vector<TokenId>> prompts,
              const Cancellation* cancellation) override;
  std::vector<Extension> extend(std::span<const ExtendRequest> requests,
                                const Cancellation* cancellation) override;
  std::vector<std::vector<float>> score(std::span<const ScoreRequest> requests,
                                        const Cancellation* cancellation) override;
  std::int64_t tokens_drawn() const override { return tokens_drawn_; }

  // The prompts of the three contexts; without contrast only that of the base context.
  Prompts prompts(bool contrast) const;

 private:
  Extension extend(const ExtendRequest& request);

  ToyModel model_;
  EngineInfo info_;
  std::atomic<std::int64_t> tokens_drawn_ = 0;
};

}  // namespace counterbeam
