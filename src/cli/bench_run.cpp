#include "cli/bench_run.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

#include "base/parallel_for.h"
#include "base/random.h"
#include "engine/back_end.h"
#include "model/dry_load.h"

namespace counterbeam::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Work per token and per step, from the shape of the model.
struct Cost {
  double step_bytes = 0;          // weights that every step reads
  double token_operations = 0;    // of the products, per row
  double head_operations = 0;     // of the head, per row that needs it
  double context_bytes = 0;       // keys and values, per row and token of context
  double context_operations = 0;  // attention, per row and token of context
  double state_bytes = 0;         // recurrent states, what is read and written for a token

  explicit Cost(const LocalEngine& engine) {
    const ModelConfig& config = engine.config();
    const double table = double(config.vocab) * config.hidden;
    const double parameters = static_cast<double>(parameter_count(config));
    const double inner = parameters - table * (config.tied ? 1 : 2);
    const auto number_bytes = static_cast<double>(bytes_of(engine.precision()));
    step_bytes = (inner + table) * number_bytes;
    // Quantised weights take less.
    const LocalEngine::Memory memory = engine.memory();
    if (memory.matrix_bytes > 0)
      step_bytes = static_cast<double>(memory.matrix_bytes - memory.lookup_bytes);
    token_operations = 2 * inner;
    head_operations = 2 * table;
    context_bytes = static_cast<double>(memory.page_bytes) / kPageTokens;
    context_operations = 4.0 * config.attention_layers() * config.heads * config.head_dim;
    state_bytes = double(memory.state_passes) * static_cast<double>(memory.state_bytes);
  }
};

class Bench {
 public:
  Bench(LocalEngine& engine, const BenchSettings& settings)
      : engine_(engine), settings_(settings), cost_(engine) {}

  // Prompts differ from their first token on but for `shared` tokens, so that nothing else is
  // shared.
  std::vector<TokenId> prompt(int tokens, int shared = 0) {
    std::vector<TokenId> ids;
    const auto vocab = static_cast<std::uint64_t>(engine_.info().vocab_size);
    ++prompts_;
    for (int i = 0; i < tokens; ++i) {
      const DrawKey key{.question = i < shared ? 0 : prompts_,
                        .position = static_cast<std::uint32_t>(i),
                        .use = DrawUse::BenchPrompts};
      ids.push_back(static_cast<TokenId>(uniform_below(key, vocab)));
    }
    return ids;
  }

  // The first `count` of the sequences that figures fork from; read once, in the first round.
  std::span<Sequence> opened(int count) {
    std::vector<std::vector<TokenId>> prompts;
    for (std::size_t i = opened_.size(); i < static_cast<std::size_t>(count); ++i)
      prompts.push_back(prompt(settings_.context, settings_.shared));
    if (!prompts.empty()) {
      for (Sequence& sequence : engine_.open(prompts).sequences)
        opened_.push_back(std::move(sequence));
    }
    return std::span(opened_).first(static_cast<std::size_t>(count));
  }

  // A block of `rows` sequences whose followers read along, forked from `parents` sequences per
  // context.
  class Block {
   public:
    Block(std::span<Sequence> parents, int rows, int contexts, int tokens) {
      const std::size_t per_context = parents.size() / static_cast<std::size_t>(1 + contexts);
      sequences_.reserve(static_cast<std::size_t>(rows * (1 + contexts)));
      for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
        ExtendRequest request;
        for (std::size_t c = 0; c <= static_cast<std::size_t>(contexts); ++c) {
          sequences_.push_back(parents[c * per_context + i % per_context].fork());
          if (c > 0) request.followers.push_back(&sequences_.back());
        }
        request.sequence = &sequences_[i * static_cast<std::size_t>(1 + contexts)];
        request.max_tokens = tokens;
        request.key.beam = static_cast<std::uint32_t>(i);
        requests_.push_back(request);
      }
    }
    void run(Engine& engine) { engine.extend(requests_); }

   private:
    std::vector<Sequence> sequences_;
    std::vector<ExtendRequest> requests_;
  };

  double decode(int rows) {
    Block block(opened(rows), rows, 0, settings_.tokens);
    return seconds_of([&] { block.run(engine_); });
  }

  double block(int contexts) {
    Block block(opened(settings_.survivors * (1 + contexts)), settings_.beams, contexts,
                settings_.block);
    return seconds_of([&] { block.run(engine_); });
  }

  double questions() {
    const int per_question = 3 * settings_.survivors;
    const std::span<Sequence> parents = opened(settings_.questions * per_question);
    std::vector<Block> blocks;
    for (int q = 0; q < settings_.questions; ++q) {
      blocks.emplace_back(parents.subspan(static_cast<std::size_t>(q * per_question),
                                          static_cast<std::size_t>(per_question)),
                          settings_.beams, 2, settings_.block);
    }
    return seconds_of([&] {
      parallel_for(blocks.size(), settings_.questions,
                   [&](std::size_t i) { blocks[i].run(engine_); });
    });
  }

  double prefill() {
    std::vector<std::vector<TokenId>> prompts;
    for (int i = 0; i < settings_.prompts; ++i) prompts.push_back(prompt(settings_.prefill + 1));
    return seconds_of([&] { engine_.open(prompts); });
  }

  double score() {
    Sequence sequence = opened(1)[0].fork();
    const std::vector<TokenId> given = prompt(settings_.prefill);
    const ScoreRequest request{&sequence, given};
    return seconds_of([&] { engine_.score({&request, 1}); });
  }

  BenchFigure decode_figure(int rows) const {
    const double steps = settings_.tokens, tokens = steps * rows;
    const double context = settings_.context + steps / 2;
    BenchFigure figure;
    figure.name = fmt::format("decode {} row{}", rows, rows == 1 ? "" : "s");
    figure.rows = rows;
    figure.tokens = tokens;
    figure.bytes =
        steps * cost_.step_bytes + tokens * (context * cost_.context_bytes + cost_.state_bytes);
    figure.operations = tokens * (cost_.token_operations + cost_.head_operations +
                                  context * cost_.context_operations);
    return figure;
  }

  BenchFigure reading_figure(const std::string& name, int prompts, int before,
                             bool with_head) const {
    const double tokens = double(settings_.prefill) * prompts;
    const double context = before + settings_.prefill / 2.0;
    BenchFigure figure;
    figure.name = name;
    figure.rows = settings_.prefill * prompts;
    figure.tokens = tokens;
    figure.bytes = cost_.step_bytes + tokens * cost_.context_bytes + prompts * cost_.state_bytes;
    figure.operations = tokens * (cost_.token_operations + (with_head ? cost_.head_operations : 0) +
                                  context * cost_.context_operations);
    return figure;
  }

  BenchFigure block_figure(int contexts, int questions) const {
    BenchFigure figure;
    figure.name = fmt::format("block of {} beams, {} tokens, {} contexts", settings_.beams,
                              settings_.block, contexts);
    if (questions > 1) figure.name = fmt::format("{} questions, {}", questions, figure.name);
    figure.rows = settings_.beams * questions;
    figure.tokens = double(figure.rows) * settings_.block;
    const double read = figure.tokens * contexts;
    const double context = settings_.context + settings_.block / 2.0;
    figure.bytes = settings_.block * cost_.step_bytes +
                   figure.tokens * (context * cost_.context_bytes + cost_.state_bytes) +
                   (contexts > 0 ? cost_.step_bytes : 0) +
                   contexts * figure.rows * cost_.state_bytes;
    figure.operations = (figure.tokens + read) * (cost_.token_operations + cost_.head_operations +
                                                  context * cost_.context_operations);
    return figure;
  }

 private:
  LocalEngine& engine_;
  BenchSettings settings_;
  Cost cost_;
  std::vector<Sequence> opened_;
  std::uint32_t prompts_ = 0;
};

}  // namespace

CacheNeed bench_cache(const BenchSettings& settings) {
  int parents = 3 * settings.survivors * settings.questions;
  int sequences = 3 * settings.beams * settings.questions;
  for (const int rows : settings.rows) {
    parents = std::max(parents, rows);
    sequences = std::max(sequences, rows);
  }
  const int grown = pages_for(std::max(settings.tokens, settings.block)) + 1;
  const int read = (settings.prompts + 1) * (pages_for(settings.context + settings.prefill) + 1);
  const int pages = parents * (pages_for(settings.context) + 1) + sequences * grown + read;
  return {pages, parents + sequences + settings.prompts + 4};
}

BenchReport run_bench(LocalEngine& engine, const BenchSettings& settings) {
  Bench bench(engine, settings);
  BenchReport report;
  std::vector<std::function<double()>> work;
  const auto add = [&](BenchFigure figure, std::function<double()> run) {
    report.figures.push_back(std::move(figure));
    work.push_back(std::move(run));
  };
  for (const int rows : settings.rows) {
    add(bench.decode_figure(rows), [&bench, rows] { return bench.decode(rows); });
  }
  const std::string prompts =
      settings.prompts > 1 ? fmt::format("{} prompts of ", settings.prompts) : "";
  add(bench.reading_figure(fmt::format("prefill {}{} tokens", prompts, settings.prefill),
                           settings.prompts, 0, false),
      [&] { return bench.prefill(); });
  add(bench.reading_figure(fmt::format("score {} tokens", settings.prefill), 1, settings.context,
                           true),
      [&] { return bench.score(); });
  if (settings.questions > 1) {
    add(bench.block_figure(2, settings.questions), [&] { return bench.questions(); });
  }
  for (const int contexts : {0, 2}) {
    add(bench.block_figure(contexts, 1), [&bench, contexts] { return bench.block(contexts); });
  }
  report.memory_gigabytes_per_second = engine.memory_bandwidth() / 1e9;
  for (const auto& run : work) run();  // touches the weights, opens the sequences
  std::vector<std::vector<double>> times(work.size());
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t i = 0; i < work.size(); ++i) {
      OperationProfile& own = report.figures[i].profile;
      if (settings.profile) own.threads = settings.profile->threads;
      if (settings.profile) std::swap(*settings.profile, own);
      times[i].push_back(work[i]());
      if (settings.profile) std::swap(*settings.profile, own);
      report.figures[i].profiled_seconds += times[i].back();
    }
  }
  for (std::size_t i = 0; i < work.size(); ++i) report.figures[i].seconds = median(times[i]);
  const std::size_t last = report.figures.size() - 1;
  report.block_ratio = report.figures[last].seconds / report.figures[last - 1].seconds;
  return report;
}

}  // namespace counterbeam::cli
