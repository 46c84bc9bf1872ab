// Random scripts of opens, extensions, scores, forks, drops and cancelled calls. They run alone
// first, then concurrently on engines with all settings and with memory for a fraction of their
// sequences.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "base/error.h"
#include "engine/tiny.h"

namespace counterbeam::testing {

// All results of a script, token ids and log-probabilities.
using Trace = std::vector<float>;

class Script {
 public:
  Script(Engine& engine, std::uint32_t number) : engine_(engine), random_(number) {}

  Trace run() {
    open();
    const int steps = 3 + below(4);
    for (int i = 0; i < steps; ++i) {
      switch (below(6)) {
        case 0:
        case 1:
          extend(false);
          break;
        case 2:
          extend(true);
          break;
        case 3:
          score();
          break;
        case 4:
          fork_and_drop();
          break;
        default:
          cancelled_call();
      }
    }
    extend(false);
    return trace_;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void open() {
    // Few distinct prefixes, so that scripts share them.
    std::vector<std::vector<TokenId>> prompts(2 + static_cast<std::size_t>(below(2)));
    const auto common = some_tokens(1 + below(45), static_cast<std::uint32_t>(below(3)));
    for (auto& prompt : prompts) {
      prompt = common;
      const auto tail = some_tokens(below(12), static_cast<std::uint32_t>(below(1000)));
      prompt.insert(prompt.end(), tail.begin(), tail.end());
    }
    sequences_ = std::move(engine_.open(prompts).sequences);
  }

  // Every sequence but the first is a follower of the first, or draws itself.
  std::vector<ExtendRequest> requests(bool mixed) {
    std::vector<ExtendRequest> out;
    ExtendRequest first{.sequence = &sequences_[0], .max_tokens = 1 + below(12)};
    first.sampling.temperature = below(3) == 0 ? 0.0f : 1.0f;
    first.sampling.top_k = below(2) == 0 ? 0 : 10;
    first.sampling.min_p = below(2) == 0 ? 0.0f : 0.02f;
    first.key = {.seed = static_cast<std::uint64_t>(below(100))};
    first.stop = {static_cast<TokenId>(below(50))};
    const bool together = mixed || below(2) == 0;
    for (std::size_t i = 1; i < sequences_.size(); ++i) {
      if (together) {
        first.followers.push_back(&sequences_[i]);
      } else {
        ExtendRequest own{.sequence = &sequences_[i], .max_tokens = 1 + below(12)};
        own.key = {.seed = static_cast<std::uint64_t>(below(100)), .beam = 1};
        out.push_back(own);
      }
    }
    if (mixed) {
      first.mix.assign(first.followers.size() + 1, 0.5f);
      first.plausibility = 0.1f;
    }
    out.push_back(first);
    return out;
  }

  void extend(bool mixed) {
    const auto asked = requests(mixed);
    for (const Extension& extension : engine_.extend(asked)) {
      trace_.insert(trace_.end(), extension.tokens.begin(), extension.tokens.end());
      trace_.insert(trace_.end(), extension.logprobs.begin(), extension.logprobs.end());
      trace_.insert(trace_.end(), extension.drawn_logprobs.begin(), extension.drawn_logprobs.end());
      for (const auto& scores : extension.follower_logprobs) {
        trace_.insert(trace_.end(), scores.begin(), scores.end());
      }
      trace_.push_back(extension.stopped ? 1 : 0);
    }
  }

  void score() {
    const auto tokens = some_tokens(1 + below(20), static_cast<std::uint32_t>(below(5)));
    std::vector<ScoreRequest> asked;
    for (Sequence& sequence : sequences_) asked.push_back({&sequence, tokens});
    for (const auto& scores : engine_.score(asked)) {
      trace_.insert(trace_.end(), scores.begin(), scores.end());
    }
  }

  void fork_and_drop() {
    const std::size_t from = static_cast<std::size_t>(below(static_cast<int>(sequences_.size())));
    Sequence fork = sequences_[from].fork();
    sequences_[static_cast<std::size_t>(below(static_cast<int>(sequences_.size())))] =
        std::move(fork);
  }

  // Has no effect, whether the cancellation is in time or not.
  void cancelled_call() {
    const auto asked = requests(false);
    std::vector<Sequence> forks;
    for (const ExtendRequest& request : asked) forks.push_back(request.sequence->fork());
    std::vector<ExtendRequest> doomed;
    for (Sequence& fork : forks) doomed.push_back({.sequence = &fork, .max_tokens = 20});
    Cancellation later, at_once;
    at_once.cancel();
    EXPECT_THROW(engine_.extend(asked, &at_once), Error);
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      later.cancel();
    });
    try {
      engine_.extend(doomed, &later);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Cancelled) << error.what();
    }
    canceller.join();
  }

  Engine& engine_;
  std::mt19937 random_;
  std::vector<Sequence> sequences_;
  Trace trace_;
};

struct Tally {
  int schedules = 0;
  int wrong = 0;             // requests that gave other bits than alone
  std::int64_t dropped = 0;  // caches evicted because memory was short
};

inline LocalOptions random_options(std::mt19937& random, int engine) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  LocalOptions options;
  options.step_rows = 1 + below(60);
  options.rows_beside_draws = 1 + below(20);
  options.kept_prefixes = static_cast<std::size_t>(below(4));
  options.followers = static_cast<FollowerMode>(engine % 4);
  const bool tight = below(3) > 0;
  options.cache_size = tight ? CacheNeed{17 + below(8), 6 + below(4)} : CacheNeed{400, 60};
  return options;
}

// Counts the requests that give other bits than alone, and stops at the first engine that has some.
// `on` selects the back end.
inline Tally compare_schedules(const ModelConfig& config, int engines, int rounds,
                               const LocalOptions& on) {
  constexpr std::uint32_t kScripts = 24;
  const auto there = [&](LocalOptions options) {
    options.precision = on.precision;
    options.isa = on.isa;
    options.threads = on.threads;
    options.device = on.device;
    options.cache_type = on.cache_type;
    return options;
  };
  std::vector<Trace> alone;
  for (std::uint32_t i = 0; i < kScripts; ++i) {
    auto engine = tiny_engine(config, there({}));
    alone.push_back(Script(*engine, i).run());
  }
  Tally tally;
  std::mt19937 random(7);
  for (int e = 0; e < engines; ++e) {
    auto engine = tiny_engine(config, there(random_options(random, e)));
    for (int round = 0; round < rounds; ++round, ++tally.schedules) {
      std::vector<std::thread> clients;
      std::vector<std::uint32_t> numbers(2 + random() % 3);
      for (auto& number : numbers) number = static_cast<std::uint32_t>(random()) % kScripts;
      std::atomic<int> wrong = 0;
      for (const std::uint32_t number : numbers) {
        clients.emplace_back([&, number] {
          try {
            if (Script(*engine, number).run() != alone[number]) ++wrong;
          } catch (const Error& error) {
            ADD_FAILURE() << error.what();
          }
        });
      }
      for (std::thread& client : clients) client.join();
      tally.wrong += wrong;
    }
    const EngineCounters counters = engine->counters();
    tally.dropped += counters.evictions + counters.preemptions;
    if (tally.wrong > 0 || ::testing::Test::HasFailure()) break;
    const LocalEngine::Memory memory = engine->memory();
    EXPECT_LE(memory.peak.pages, memory.size.pages);
  }
  return tally;
}

// Checks that every request gives the same bits as alone.
inline Tally run_schedules(const ModelConfig& config, int engines, int rounds,
                           const LocalOptions& on) {
  const Tally tally = compare_schedules(config, engines, rounds, on);
  EXPECT_EQ(tally.wrong, 0) << "after " << tally.schedules << " schedules";
  return tally;
}

}  // namespace counterbeam::testing
