// The engine over a model in this process: a checkpoint or random weights, one back end, one
// scheduler. Sequences may outlive it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/scheduler.h"

namespace counterbeam {

// How followers read the tokens that their sequence draws; the numbers are the same.
enum class FollowerMode {
  Auto,      // by cost
  Lockstep,  // ride along in every step: right where a few rows more cost nothing
  Block,     // read all tokens of the request in one pass when they are drawn
  Pieces,    // some followers a few tokens in every step that has room, the rest when all are drawn
};

struct LocalOptions {
  std::string device = "cpu";            // cpu, cuda, or auto: cuda where there is one
  std::optional<Precision> precision{};  // of the weights; none: choose_back_end() decides
  int threads = 0;                       // 0: all cores
  std::string isa{};                     // of the CPU back end; "reference": plain loops
  std::int64_t cache_bytes = 0;          // for keys, values and states; 0: a share of what is free
  CacheNeed cache_size{};                // pages and states outright, where > 0
  FollowerMode followers = FollowerMode::Auto;
  int step_rows = 0;               // at most, in one step; 0: what suits the back end
  int rows_beside_draws = 0;       // of prompts and scoring, while others draw; 0: likewise
  std::size_t kept_prefixes = 16;  // prompts whose cache outlives them; 0: none
  int vocab_limit = 0;  // > 0: ids from here on are never drawn (padding of the vocabulary)
  std::optional<TokenId> tokenizer_eos{};  // joins EngineInfo::eos
  bool show_progress = false;              // a bar on the terminal while weights are read
};

class LocalEngine : public Engine {
 public:
  // A Hugging Face folder.
  static std::unique_ptr<LocalEngine> load(const std::filesystem::path& folder,
                                           const LocalOptions& options = {});
  // A model of this shape with random weights.
  static std::unique_ptr<LocalEngine> random(const ModelConfig& config,
                                             const LocalOptions& options = {},
                                             std::uint64_t seed = 1);
  ~LocalEngine() override;

  const EngineInfo& info() const override { return info_; }
  Opened open(std::span<const std::vector<TokenId>> prompts,
              const Cancellation* cancellation = nullptr) override;
  std::vector<Extension> extend(std::span<const ExtendRequest> requests,
                                const Cancellation* cancellation = nullptr) override;
  std::vector<std::vector<float>> score(std::span<const ScoreRequest> requests,
                                        const Cancellation* cancellation = nullptr) override;

  std::int64_t tokens_drawn() const override { return scheduler_->tokens_drawn(); }

  // The logits after every one of the ids, in order, row by row; float32 [vocab].
  void logits(std::span<const TokenId> ids, const LogitsRow& row,
              const Cancellation* cancellation = nullptr);

  const ModelConfig& config() const { return sequences_->model->config(); }
  // Names of tensors in the checkpoint that the model has no use for.
  const std::vector<std::string>& unexpected_tensors() const { return unexpected_; }

  Precision precision() const { return precision_; }  // in which the weights are held

  // Reading the weights of a checkpoint; zero where they were made up.
  struct Loading {
    std::int64_t bytes = 0;
    double seconds = 0;
  };
  Loading loading() const { return loading_; }

  EngineCounters counters() const { return scheduler_->counters(); }
  struct Memory {
    CacheNeed size, used, peak;
    CacheCounters counters;
    std::int64_t page_bytes = 0, state_bytes = 0;
    int state_passes = 0;  // BackendCosts::state_passes
  };
  Memory memory() const;
  // Bytes a second of the memory that the weights are in. REQUIRES nothing to be under way.
  double memory_bandwidth() const { return sequences_->ops->memory_bandwidth(); }

 private:
  LocalEngine(std::unique_ptr<Ops> ops, std::unique_ptr<Model> model, const LocalOptions& options);
  std::size_t lockstep_rows() const;
  int piece_rows() const;

  LocalOptions options_;
  EngineInfo info_;
  Precision precision_ = Precision::F32;
  std::vector<std::string> unexpected_;
  Loading loading_;
  std::shared_ptr<Sequences> sequences_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace counterbeam
