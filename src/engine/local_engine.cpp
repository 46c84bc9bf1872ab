#include "engine/local_engine.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include "backend/cache_codes.h"
#include "base/error.h"
#include "base/progress.h"
#include "engine/back_end.h"
#include "engine/memory.h"
#include "engine/validate.h"
#include "model/dry_load.h"
#include "model/random_codes.h"

namespace counterbeam {
namespace {

CacheNeed size_of_cache(const LocalOptions& options, const StoreOps& ops, const CacheShape& shape,
                        const ModelConfig& config) {
  CacheNeed size = options.cache_size;
  if (size.pages == 0 && size.states == 0) {
    size = cache_size_within(options.cache_bytes, ops, shape, config.max_positions);
  }
  return size;
}

std::string describe(const ModelConfig& config, const Ops& ops, CacheType cache) {
  const double millions = static_cast<double>(parameter_count(config)) / 1e6;
  std::string text =
      fmt::format("{}, {} layers, {:.1f} M parameters, on {}", name_of(config.architecture),
                  config.layer_count(), millions, ops.name());
  if (cache != CacheType::Plain) text += fmt::format(", {} KV cache", name_of(cache));
  return text;
}

}  // namespace

std::unique_ptr<LocalEngine> LocalEngine::load(const ModelSource& source,
                                               const LocalOptions& options) {
  const ModelConfig config = source.config();
  const std::vector<TokenId> eos = options.eos ? *options.eos : source.eos(config, std::nullopt);
  constexpr std::int64_t kMebibyte = 1 << 20;
  std::optional<Progress> bar;
  std::int64_t bytes_read = 0;
  const auto weights = source.weights(config, [&](std::int64_t bytes) {
    bytes_read = bytes;
    bar->set(bytes / kMebibyte);
  });
  const BackEndChoice choice =
      choose_back_end(options, config.dtype.value_or(weights->dtype()), weights->quantised());
  auto ops = make_back_end(choice, options);
  if (!weights->quantised()) ops->expect_weights(parameter_count(config));
  bar.emplace("reading weights, MiB", weights->extent().bytes / kMebibyte, !options.show_progress);
  const auto start = std::chrono::steady_clock::now();
  auto model = load_model(config, *ops, *weights);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::unique_ptr<LocalEngine> engine(new LocalEngine(std::move(ops), std::move(model), options));
  engine->set_choice(choice);
  engine->info_.eos = eos;
  engine->unexpected_ = weights->unexpected();
  engine->state_->non_finite_weight = weights->non_finite();
  engine->loading_ = {bytes_read, elapsed.count()};
  return engine;
}

std::unique_ptr<LocalEngine> LocalEngine::random(const ModelConfig& config,
                                                 const LocalOptions& options, std::uint64_t seed,
                                                 std::optional<CodeKind> codes) {
  const DType dtype = config.dtype.value_or(DType::BF16);
  const BackEndChoice choice = choose_back_end(options, dtype);
  auto ops = make_back_end(choice, options);
  if (!codes) ops->expect_weights(parameter_count(config));
  const auto tables = choice.cuda ? RandomCodes::Tables::Plain : RandomCodes::Tables::Codes;
  const std::unique_ptr<RandomWeights> weights =
      codes ? std::make_unique<RandomCodes>(dtype, *codes, tables, seed)
            : std::make_unique<RandomWeights>(dtype, seed);
  auto model = load_model(config, *ops, *weights);
  std::unique_ptr<LocalEngine> engine(new LocalEngine(std::move(ops), std::move(model), options));
  engine->set_choice(choice);
  engine->info_.eos = config.eos;
  return engine;
}

void LocalEngine::set_choice(const BackEndChoice& choice) {
  precision_ = choice.precision;
  info_.device = choice.cuda ? "cuda" : "cpu";
  info_.dtype = choice.precision == Precision::F32 ? "f32" : "bf16";
  info_.activations = options_.activations == Activations::Int8 ? "int8" : "";
}

LocalEngine::LocalEngine(std::unique_ptr<Ops> ops, std::unique_ptr<Model> model,
                         const LocalOptions& options)
    : options_(options) {
  const CacheShape shape = cache_shape(model->config(), options.cache_type);
  const CacheNeed size = size_of_cache(options, *ops, shape, model->config());
  info_.description = describe(model->config(), *ops, shape.kv.type);
  info_.cache_dtype = name_of(shape.kv.type);
  info_.vocab_size = model->config().vocab;
  info_.max_length =
      std::min<std::int64_t>(model->config().max_positions, longest_sequence(size, shape));
  info_.model_length = model->config().max_positions;
  state_ = std::make_shared<EngineState>(std::move(ops), std::move(model), shape, size);
  Scheduler::Options scheduling;
  const BackendCosts& costs = state_->ops->costs();
  scheduling.planner = {
      options.step_rows > 0 ? options.step_rows : costs.step_rows,
      options.rows_beside_draws > 0 ? options.rows_beside_draws : costs.rows_beside_draws,
      piece_rows(), options.vocab_limit};
  scheduling.lockstep_rows = lockstep_rows();
  scheduling.kept_prefixes = options.kept_prefixes;
  if (shape.has_state()) {
    const auto states = static_cast<std::size_t>(size.states);
    scheduling.kept_prefixes = std::min(options.kept_prefixes, states / 8);
  }
  scheduler_ = std::make_unique<Scheduler>(*state_, scheduling);
}

LocalEngine::~LocalEngine() {
  scheduler_.reset();
  forget_prompts();
}

void LocalEngine::forget_prompts() {
  const std::lock_guard lock(state_->mutex);
  while (state_->drop_oldest_kept()) {
  }
}

Opened LocalEngine::open(std::span<const std::vector<TokenId>> prompts,
                         const Cancellation* cancellation) {
  if (prompts.empty()) return {};
  for (std::size_t i = 0; i < prompts.size(); ++i) validate_prompt(prompts[i], info_, i);
  Opened opened;
  EngineCall call;
  call.cancellation = cancellation;
  std::int64_t prompt_tokens = 0;
  const std::uint64_t birth = state_->tick();
  for (const std::vector<TokenId>& prompt : prompts) {
    auto sequence = std::make_unique<LocalSequence>(state_, prompt, birth);
    prompt_tokens += sequence->length() - 1;
    EngineRequest request;
    request.kind = RequestKind::Prompt;
    request.records = {&sequence->record()};
    call.requests.push_back(std::move(request));
    opened.sequences.emplace_back(std::move(sequence));
  }
  scheduler_->run(call);
  opened.computed_tokens = std::min(prompt_tokens, call.computed_tokens);
  opened.cached_tokens = prompt_tokens - opened.computed_tokens;
  return opened;
}

// Lockstep pays as long as extra rows cost nothing. Recurrent layers move their whole state with
// every row, so for them it never does.
std::size_t LocalEngine::lockstep_rows() const {
  if (options_.followers == FollowerMode::Lockstep) return std::numeric_limits<std::size_t>::max();
  if (options_.followers != FollowerMode::Auto || config().delta_layers() > 0) return 0;
  return static_cast<std::size_t>(state_->ops->costs().cheap_rows);
}

// Chunks pay for recurrent layers too: a chunk moves the state once for several tokens.
int LocalEngine::piece_rows() const {
  const BackendCosts& costs = state_->ops->costs();
  if (options_.followers == FollowerMode::Pieces) return std::max(costs.cheap_rows, 16);
  return options_.followers == FollowerMode::Auto && costs.takes_pieces ? costs.cheap_rows : 0;
}

std::vector<Extension> LocalEngine::extend(std::span<const ExtendRequest> requests,
                                           const Cancellation* cancellation) {
  if (requests.empty()) return {};
  EngineCall call;
  call.cancellation = cancellation;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ExtendRequest& ask = requests[i];
    validate_extension(ask, i);
    EngineRequest request;
    request.kind = RequestKind::Extend;
    request.ask = &ask;
    request.records = {&record_of(ask.sequence, *state_, "sequence", i)};
    std::int64_t longest = ask.sequence->length();
    for (const Sequence* follower : ask.followers) {
      request.records.push_back(&record_of(follower, *state_, "follower", i));
      longest = std::max(longest, follower->length());
    }
    if (longest >= info_.max_length) {
      check_cache_holds(longest + 1, info_,
                        fmt::format("request {}: the answer, with its prompt,", i));
      bad_input("request {}: the sequence or a follower has {} tokens, which is all that fit ({})",
                i, longest, info_.max_length);
    }
    request.max_tokens =
        static_cast<int>(std::min<std::int64_t>(ask.max_tokens, info_.max_length - longest));
    call.requests.push_back(std::move(request));
  }
  scheduler_->run(call);
  const bool cache_is_shorter = info_.max_length < info_.model_length;
  for (const EngineRequest& request : call.requests)
    if (cache_is_shorter && request.extension.full) refuse_cut_answer(info_);
  std::vector<Extension> extensions;
  for (EngineRequest& request : call.requests) extensions.push_back(std::move(request.extension));
  return extensions;
}

std::vector<std::vector<float>> LocalEngine::score(std::span<const ScoreRequest> requests,
                                                   const Cancellation* cancellation) {
  if (requests.empty()) return {};
  EngineCall call;
  call.cancellation = cancellation;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ScoreRequest& ask = requests[i];
    EngineRequest request;
    request.kind = RequestKind::Score;
    request.records = {&record_of(ask.sequence, *state_, "sequence", i)};
    request.given = ask.tokens;
    request.scoring = &ask;
    const std::int64_t length =
        ask.sequence->length() + static_cast<std::int64_t>(ask.tokens.size());
    if (length > info_.max_length) {
      check_cache_holds(length, info_, fmt::format("request {}: the sequence", i));
      bad_input("request {}: the sequence would have {} tokens; at most {} fit", i, length,
                info_.max_length);
    }
    validate_ids(ask.tokens, info_, fmt::format("request {}", i));
    call.requests.push_back(std::move(request));
  }
  scheduler_->run(call);
  std::vector<std::vector<float>> scores;
  for (EngineRequest& request : call.requests) scores.push_back(std::move(request.scores));
  return scores;
}

void LocalEngine::logits(std::span<const TokenId> ids, const LogitsRow& row,
                         const Cancellation* cancellation) {
  if (ids.empty()) bad_input("no ids: at least one is needed");
  if (static_cast<std::int64_t>(ids.size()) > info_.max_length) {
    check_cache_holds(static_cast<std::int64_t>(ids.size()), info_, "the sequence of ids");
    bad_input("{} ids; at most {} fit", ids.size(), info_.max_length);
  }
  validate_ids(ids, info_, "ids");
  EngineCall call;
  call.cancellation = cancellation;
  call.on_logits = row;
  LocalSequence sequence(state_, {ids.begin(), ids.end()}, state_->tick());
  EngineRequest request;
  request.kind = RequestKind::Logits;
  request.records = {&sequence.record()};
  call.requests.push_back(std::move(request));
  scheduler_->run(call);
}

EngineStatus LocalEngine::status() const {
  const EngineCounters counters = scheduler_->counters();
  const std::lock_guard lock(state_->mutex);
  const CacheNeed size = state_->cache.size();
  std::set<PageId> pages;
  std::set<StateId> states;
  for (const SequenceRecord* record : state_->records) {
    pages.insert(record->cached.pages().begin(), record->cached.pages().end());
    if (size.states > 0 && record->cached.length() > 0) states.insert(record->cached.state());
  }
  return {.pages = size.pages,
          .pages_used = static_cast<std::int64_t>(pages.size()),
          .states = size.states,
          .states_used = static_cast<std::int64_t>(states.size()),
          .sequences = static_cast<std::int64_t>(state_->records.size()),
          .steps = counters.steps,
          .rows = counters.rows,
          .preemptions = counters.preemptions,
          .page_tokens = kPageTokens};
}

LocalEngine::Memory LocalEngine::memory() const {
  const std::lock_guard lock(state_->mutex);
  const Cache& cache = state_->cache;
  Memory memory{cache.size(), cache.used(), cache.peak(), cache.counters()};
  memory.matrix_bytes = state_->ops->matrix_bytes();
  memory.lookup_bytes = state_->model->lookup_bytes();
  if (cache.shape().has_kv()) memory.page_bytes = state_->ops->page_bytes(cache.shape().kv);
  if (cache.shape().has_state()) {
    memory.state_bytes = state_->ops->state_bytes(cache.shape().state);
    memory.state_passes = state_->ops->costs().state_passes;
  }
  return memory;
}

}  // namespace counterbeam
