#include "cli/bench_run.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include "base/random.h"
#include "model/config_tensors.h"

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
  double state_bytes = 0;         // recurrent states, read and written

  Cost(const LocalEngine& engine, int weight_bytes) {
    const ModelConfig& config = engine.config();
    const double table = double(config.vocab) * config.hidden;
    const double parameters = static_cast<double>(parameter_count(config));
    const double inner = parameters - table * (config.tied ? 1 : 2);
    step_bytes = (inner + table) * weight_bytes;
    token_operations = 2 * inner;
    head_operations = 2 * table;
    const LocalEngine::Memory memory = engine.memory();
    context_bytes = static_cast<double>(memory.page_bytes) / kPageTokens;
    context_operations = 4.0 * config.attention_layers() * config.heads * config.head_dim;
    state_bytes = 2.0 * static_cast<double>(memory.state_bytes);
  }
};

class Bench {
 public:
  Bench(LocalEngine& engine, const BenchSettings& settings, int weight_bytes)
      : engine_(engine), settings_(settings), cost_(engine, weight_bytes) {}

  // Prompts differ from their first token on, so that nothing is shared.
  std::vector<TokenId> prompt(int tokens) {
    std::vector<TokenId> ids;
    const auto vocab = static_cast<std::uint64_t>(engine_.info().vocab_size);
    ++prompts_;
    for (int i = 0; i < tokens; ++i) {
      ids.push_back(static_cast<TokenId>(
          uniform_below({.question = prompts_, .position = static_cast<std::uint32_t>(i)}, vocab)));
    }
    return ids;
  }

  // Forks of sequences that are read once, in the first round.
  std::vector<Sequence> forks(int count) {
    const std::size_t wanted = static_cast<std::size_t>(count);
    std::vector<std::vector<TokenId>> prompts;
    for (std::size_t i = opened_.size(); i < wanted; ++i)
      prompts.push_back(prompt(settings_.context));
    for (Sequence& sequence : engine_.open(prompts).sequences) {
      opened_.push_back(std::move(sequence));
    }
    std::vector<Sequence> out;
    for (std::size_t i = 0; i < wanted; ++i) out.push_back(opened_[i].fork());
    return out;
  }

  double decode(int rows, int contexts, int tokens) {
    std::vector<Sequence> sequences = forks(rows * (1 + contexts));
    std::vector<ExtendRequest> requests;
    for (int i = 0; i < rows; ++i) {
      ExtendRequest request;
      request.sequence = &sequences[static_cast<std::size_t>(i)];
      for (int c = 1; c <= contexts; ++c) {
        request.followers.push_back(&sequences[static_cast<std::size_t>(c * rows + i)]);
      }
      request.max_tokens = tokens;
      request.key.beam = static_cast<std::uint32_t>(i);
      requests.push_back(request);
    }
    return seconds_of([&] { engine_.extend(requests); });
  }

  double prefill() {
    const std::vector<std::vector<TokenId>> prompts = {prompt(settings_.prefill + 1)};
    return seconds_of([&] { engine_.open(prompts); });
  }

  double score() {
    std::vector<Sequence> sequences = forks(1);
    const std::vector<TokenId> given = prompt(settings_.prefill);
    const ScoreRequest request{&sequences[0], given};
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

  BenchFigure reading_figure(const std::string& name, int before, bool with_head) const {
    const double tokens = settings_.prefill, context = before + tokens / 2;
    BenchFigure figure;
    figure.name = name;
    figure.rows = settings_.prefill;
    figure.tokens = tokens;
    figure.bytes = cost_.step_bytes + tokens * cost_.context_bytes + cost_.state_bytes;
    figure.operations = tokens * (cost_.token_operations + (with_head ? cost_.head_operations : 0) +
                                  context * cost_.context_operations);
    return figure;
  }

  BenchFigure block_figure(int contexts) const {
    BenchFigure figure;
    figure.name = fmt::format("block of {} beams, {} tokens, {} context{}", settings_.beams,
                              settings_.block, contexts, contexts == 1 ? "" : "s");
    figure.rows = settings_.beams;
    figure.tokens = double(settings_.beams) * settings_.block;
    const double read = figure.tokens * contexts;
    const double context = settings_.context + settings_.block / 2.0;
    figure.bytes = settings_.block * cost_.step_bytes +
                   figure.tokens * (context * cost_.context_bytes + cost_.state_bytes) +
                   (contexts > 0 ? cost_.step_bytes : 0) +
                   contexts * settings_.beams * cost_.state_bytes;
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
  int sequences = 3 * settings.beams;
  for (const int rows : settings.rows) sequences = std::max(sequences, rows);
  const int longest =
      settings.context + std::max({settings.tokens, settings.block, settings.prefill});
  const int pages = 2 * sequences * (pages_for(settings.context) + 1) +
                    sequences * pages_for(std::max(settings.tokens, settings.block)) +
                    2 * pages_for(longest);
  return {pages, 2 * sequences + 4};
}

double measure_memory_bandwidth(int threads) {
  constexpr std::size_t kWords = std::size_t{1} << 26;  // 512 MiB
  std::vector<std::uint64_t> buffer(kWords, 1);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads));
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    const double seconds = seconds_of([&] {
      std::vector<std::thread> workers;
      for (std::size_t t = 0; t < sums.size(); ++t) {
        workers.emplace_back([&, t] {
          const auto first = buffer.begin() + static_cast<std::ptrdiff_t>(kWords * t / sums.size());
          const auto last =
              buffer.begin() + static_cast<std::ptrdiff_t>(kWords * (t + 1) / sums.size());
          sums[t] += std::accumulate(first, last, std::uint64_t{0});
        });
      }
      for (std::thread& worker : workers) worker.join();
    });
    best = std::max(best, kWords * sizeof(std::uint64_t) / seconds / 1e9);
  }
  // The sums are looked at, so that nothing is optimised away.
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) > 0 ? best : 0;
}

BenchReport run_bench(LocalEngine& engine, const BenchSettings& settings, int weight_bytes,
                      int threads) {
  Bench bench(engine, settings, weight_bytes);
  BenchReport report;
  std::vector<std::function<double()>> work;
  const auto add = [&](BenchFigure figure, std::function<double()> run) {
    report.figures.push_back(std::move(figure));
    work.push_back(std::move(run));
  };
  for (const int rows : settings.rows) {
    add(bench.decode_figure(rows),
        [&bench, &settings, rows] { return bench.decode(rows, 0, settings.tokens); });
  }
  add(bench.reading_figure(fmt::format("prefill {} tokens", settings.prefill), 0, false),
      [&] { return bench.prefill(); });
  add(bench.reading_figure(fmt::format("score {} tokens", settings.prefill), settings.context,
                           true),
      [&] { return bench.score(); });
  for (const int contexts : {0, 2}) {
    add(bench.block_figure(contexts), [&bench, &settings, contexts] {
      return bench.decode(settings.beams, contexts, settings.block);
    });
  }
  report.memory_gigabytes_per_second = measure_memory_bandwidth(threads);
  bench.decode(1, 0, 2);  // touches the weights
  std::vector<std::vector<double>> times(work.size());
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t i = 0; i < work.size(); ++i) times[i].push_back(work[i]());
  }
  for (std::size_t i = 0; i < work.size(); ++i) report.figures[i].seconds = median(times[i]);
  const std::size_t last = report.figures.size() - 1;
  report.block_ratio = report.figures[last].seconds / report.figures[last - 1].seconds;
  return report;
}

}  // namespace counterbeam::cli
