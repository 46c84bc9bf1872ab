// The engine over a model in this process: a checkpoint or random weights, one back end, one
// scheduler. EngineState may outlive it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/scheduler.h"
#include "model/model_source.h"

namespace counterbeam {

struct BackEndChoice;
struct OperationProfile;

// How followers read the tokens that their sequence draws. The results are the same.
enum class FollowerMode {
  Auto,      // by cost
  Lockstep,  // one row in every step: best where a few more rows cost nothing
  Block,     // all tokens of the request in one pass after the last one is drawn
  Pieces,    // chunks of a few tokens in steps that have room, the rest after the last draw
};

struct LocalOptions {
  std::string device = "cpu";                    // cpu, cuda, or auto: cuda where there is one
  std::optional<Precision> precision{};          // of the weights; none: choose_back_end() decides
  Activations activations = Activations::Float;  // Int8: on the CPU (backend/int8_rows.h)
  int threads = 0;                               // 0: all cores
  std::string isa{};                             // of the CPU back end; "reference": plain loops
  std::int64_t cache_bytes = 0;  // for keys, values and states; 0: default of the back end
  CacheNeed cache_size{};        // if not 0: exact numbers of pages and states
  CacheType cache_type = CacheType::Plain;  // of keys and values
  FollowerMode followers = FollowerMode::Auto;
  int step_rows = 0;               // the most rows of a step; 0: default of the back end
  int rows_beside_draws = 0;       // the most prefill rows of a step that also draws; 0: default
  std::size_t kept_prefixes = 16;  // recent prompts whose cache is kept for others to share
  int vocab_limit = 0;  // > 0: ids from here on are never drawn (padding of the vocabulary)
  std::optional<std::vector<TokenId>> eos{};  // EngineInfo::eos; none: what the source says
  OperationProfile* profile = nullptr;        // times operations (CPU); outlives the engine
  bool show_progress = false;                 // a bar on the terminal while weights are read
};

class LocalEngine : public Engine {
 public:
  static std::unique_ptr<LocalEngine> load(const ModelSource& source,
                                           const LocalOptions& options = {});
  // A model of this shape with random weights.
  static std::unique_ptr<LocalEngine> random(const ModelConfig& config,
                                             const LocalOptions& options = {},
                                             std::uint64_t seed = 1,
                                             std::optional<CodeKind> codes = {});
  ~LocalEngine() override;

  const EngineInfo& info() const override { return info_; }
  Opened open(std::span<const std::vector<TokenId>> prompts,
              const Cancellation* cancellation = nullptr) override;
  // Throws Failed if a sequence has to end because the cache, not the model, holds no more of it.
  std::vector<Extension> extend(std::span<const ExtendRequest> requests,
                                const Cancellation* cancellation = nullptr) override;
  std::vector<std::vector<float>> score(std::span<const ScoreRequest> requests,
                                        const Cancellation* cancellation = nullptr) override;

  void forget_prompts() override;

  std::int64_t tokens_drawn() const override { return scheduler_->tokens_drawn(); }
  EngineStatus status() const override;

  void logits(std::span<const TokenId> ids, const LogitsRow& row,
              const Cancellation* cancellation = nullptr) override;

  const ModelConfig& config() const { return state_->model->config(); }
  // Names of the tensors in the checkpoint that the model does not use.
  const std::vector<std::string>& unexpected_tensors() const { return unexpected_; }
  // StoredWeights::non_finite().
  const std::string& non_finite_weight() const { return state_->non_finite_weight; }

  Precision precision() const { return precision_; }  // in which the weights are held

  // What reading the checkpoint's weights took; zero for random weights.
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
    std::int64_t matrix_bytes = 0;  // WeightOps::matrix_bytes
    std::int64_t lookup_bytes = 0;  // Model::lookup_bytes
    int state_passes = 0;           // BackendCosts::state_passes
  };
  Memory memory() const;
  // Bytes a second of the memory that the weights are in. REQUIRES no call to be in flight.
  double memory_bandwidth() const { return state_->ops->memory_bandwidth(); }

 private:
  LocalEngine(std::unique_ptr<Ops> ops, std::unique_ptr<Model> model, const LocalOptions& options);
  void set_choice(const BackEndChoice& choice);
  std::size_t lockstep_rows() const;
  int piece_rows() const;

  LocalOptions options_;
  EngineInfo info_;
  Precision precision_ = Precision::F32;
  std::vector<std::string> unexpected_;
  Loading loading_;
  std::shared_ptr<EngineState> state_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace counterbeam
