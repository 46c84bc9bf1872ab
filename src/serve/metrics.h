// Counters and histograms of a server, printed in the text format of Prometheus. Names that start
// with vllm: and llamacpp: are those that dashboards for these servers read; counterbeam: has what
// only a search knows.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "serve/prompt_scores.h"

namespace counterbeam::serve {

// What one request has cost, when it is done.
struct RequestCost {
  std::string method{};
  std::int64_t prompt_tokens = 0, completion_tokens = 0;  // as usage counts them
  std::int64_t generated_tokens = 0, scored_tokens = 0;   // by the search, all candidates
  std::int64_t computed_prompt_tokens = 0, cached_tokens = 0;
  std::int64_t blocks = 0, beams_kept = 0;
  std::int64_t agreed_tokens = 0;  // of the answer, known before the search had ended
  double queue_seconds = 0, first_token_seconds = 0, seconds = 0;
  bool ended = true;  // by itself; false: at the limit
};

class Metrics {
 public:
  void request(int status);  // any answered request
  void started(double queue_seconds);
  void done(const RequestCost& cost);
  void cancelled();
  void failed();

  struct Now {
    int running = 0, waiting = 0, connections = 0, searches = 0, queue = 0;
    std::string_view state{};  // loading, ready, draining
  };
  std::string text(const std::string& model, const Now& now, const EngineStatus& engine,
                   std::int64_t tokens_drawn, const PromptScores::Counts& echoed) const;

 private:
  struct Histogram {
    std::vector<std::uint64_t> counts;
    std::uint64_t total = 0;
    double sum = 0;
    void add(double value);
    void print(std::string& out, std::string_view name, std::string_view help,
               std::string_view labels) const;
  };

  mutable std::mutex mutex_;
  std::map<int, std::int64_t> by_status_;
  std::map<std::string, std::int64_t> by_method_;
  std::int64_t stopped_ = 0, cut_ = 0, cancelled_ = 0, failed_ = 0;
  RequestCost sums_;
  Histogram first_token_, between_tokens_, whole_, queue_;
};

}  // namespace counterbeam::serve
