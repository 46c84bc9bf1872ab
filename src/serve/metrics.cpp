#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace counterbeam::serve {
namespace {

constexpr double kBuckets[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                               1,     2.5,    5,     10,   30,    60,   120, 300,  600};

std::string label_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

class Page {
 public:
  explicit Page(const std::string& model)
      : labels_(fmt::format("model_name=\"{}\"", label_text(model))) {}

  void gauge(std::string_view name, std::string_view help, double value) {
    head(name, help, "gauge");
    out += fmt::format("{}{{{}}} {}\n", name, labels_, value);
  }
  void counter(std::string_view name, std::string_view help, double value,
               std::string_view more = "") {
    if (name != last_) head(name, help, "counter");
    out += fmt::format("{}{{{}{}}} {}\n", name, labels_, more, value);
  }
  const std::string& labels() const { return labels_; }

  std::string out;

 private:
  void head(std::string_view name, std::string_view help, std::string_view type) {
    last_ = name;
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }

  std::string labels_, last_;
};

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

void Metrics::Histogram::add(double value) {
  counts.resize(std::size(kBuckets), 0);
  for (std::size_t i = 0; i < std::size(kBuckets); ++i) counts[i] += value <= kBuckets[i];
  ++total;
  sum += value;
}

void Metrics::Histogram::print(std::string& out, std::string_view name, std::string_view help,
                               std::string_view labels) const {
  out += fmt::format("# HELP {} {}\n# TYPE {} histogram\n", name, help, name);
  for (std::size_t i = 0; i < std::size(kBuckets); ++i)
    out += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, kBuckets[i],
                       counts.empty() ? 0 : counts[i]);
  out += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name,
                     labels, total, name, labels, sum, name, labels, total);
}

void Metrics::request(int status) {
  const std::lock_guard lock(mutex_);
  ++by_status_[status];
}

void Metrics::started(double queue_seconds) {
  const std::lock_guard lock(mutex_);
  queue_.add(queue_seconds);
}

void Metrics::cancelled() {
  const std::lock_guard lock(mutex_);
  ++cancelled_;
}

void Metrics::failed() {
  const std::lock_guard lock(mutex_);
  ++failed_;
}

void Metrics::done(const RequestCost& cost) {
  const std::lock_guard lock(mutex_);
  ++(cost.ended ? stopped_ : cut_);
  ++by_method_[cost.method];
  sums_.prompt_tokens += cost.prompt_tokens;
  sums_.completion_tokens += cost.completion_tokens;
  sums_.generated_tokens += cost.generated_tokens;
  sums_.scored_tokens += cost.scored_tokens;
  sums_.computed_prompt_tokens += cost.computed_prompt_tokens;
  sums_.cached_tokens += cost.cached_tokens;
  sums_.blocks += cost.blocks;
  sums_.beams_kept += cost.beams_kept;
  sums_.agreed_tokens += cost.agreed_tokens;
  sums_.first_token_seconds += cost.first_token_seconds;
  sums_.seconds += cost.seconds;
  whole_.add(cost.seconds);
  if (cost.first_token_seconds <= 0) return;
  first_token_.add(cost.first_token_seconds);
  if (cost.completion_tokens > 1)
    between_tokens_.add((cost.seconds - cost.first_token_seconds) /
                        static_cast<double>(cost.completion_tokens - 1));
}

std::string Metrics::text(const std::string& model, const Now& now, const EngineStatus& engine,
                          std::int64_t tokens_drawn, const PromptScores::Counts& echoed) const {
  const std::lock_guard lock(mutex_);
  Page page(model);
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  page.gauge("vllm:num_requests_running", "Searches that run.", now.running);
  page.gauge("vllm:num_requests_waiting", "Requests that wait for their first search.",
             now.waiting);
  page.gauge(
      "vllm:kv_cache_usage_perc", "Share of the KV cache that living sequences use, 0 to 1.",
      share(number(engine.pages_used + engine.states_used), number(engine.pages + engine.states)));
  page.counter("vllm:prefix_cache_queries_total", "Prompt tokens that were looked up.",
               number(sums_.computed_prompt_tokens + sums_.cached_tokens + echoed.tokens));
  page.counter("vllm:prefix_cache_hits_total", "Prompt tokens that were not computed again.",
               number(sums_.cached_tokens + echoed.remembered));
  page.counter("vllm:prompt_tokens_total", "Prompt tokens of answered requests.",
               number(sums_.prompt_tokens));
  page.counter("vllm:generation_tokens_total", "Tokens of the answers that were returned.",
               number(sums_.completion_tokens));
  page.counter("vllm:request_success_total", "Answered requests by how the answer ended.",
               number(stopped_), ",finished_reason=\"stop\"");
  page.counter("vllm:request_success_total", "", number(cut_), ",finished_reason=\"length\"");
  page.counter("vllm:request_success_total", "", number(cancelled_), ",finished_reason=\"abort\"");
  page.counter("vllm:num_preemptions_total", "Sequences that had to give up their memory.",
               number(engine.preemptions));
  first_token_.print(page.out, "vllm:time_to_first_token_seconds",
                     "From the request to the first token that was sent, or known.", page.labels());
  between_tokens_.print(page.out, "vllm:inter_token_latency_seconds",
                        "Mean time between the tokens of an answer.", page.labels());
  whole_.print(page.out, "vllm:e2e_request_latency_seconds", "From the request to its answer.",
               page.labels());
  page.counter("llamacpp:prompt_tokens_total", "Prompt tokens that were computed.",
               number(sums_.computed_prompt_tokens));
  page.counter("llamacpp:prompt_seconds_total", "Time to the first tokens.",
               sums_.first_token_seconds);
  page.counter("llamacpp:tokens_predicted_total", "Tokens that were drawn, all candidates.",
               number(tokens_drawn));
  page.counter("llamacpp:tokens_predicted_seconds_total", "Time of answered requests.",
               sums_.seconds);
  page.gauge("llamacpp:prompt_tokens_seconds", "Prompt tokens per second.",
             share(number(sums_.computed_prompt_tokens), sums_.first_token_seconds));
  page.gauge("llamacpp:predicted_tokens_seconds", "Drawn tokens per second of answered requests.",
             share(number(sums_.generated_tokens), sums_.seconds));
  page.gauge("llamacpp:requests_processing", "Searches that run.", now.running);
  page.gauge("llamacpp:requests_deferred", "Requests that wait.", now.waiting);
  page.counter("llamacpp:n_decode_total", "Steps of the engine.", number(engine.steps));
  page.gauge("llamacpp:n_busy_slots_per_decode", "Rows of a step, on average.",
             share(number(engine.rows), number(engine.steps)));
  page.gauge("llamacpp:n_tokens_max", "Tokens that the cache holds.",
             number(engine.pages * engine.page_tokens));
  queue_.print(page.out, "counterbeam:queue_wait_seconds",
               "From the request to the beginning of its first search.", page.labels());
  page.counter("counterbeam:generated_tokens_total", "Tokens drawn by searches, all candidates.",
               number(sums_.generated_tokens));
  page.counter("counterbeam:scored_tokens_total", "Tokens read under contexts or read again.",
               number(sums_.scored_tokens));
  page.counter("counterbeam:blocks_total", "Blocks of searches.", number(sums_.blocks));
  page.counter("counterbeam:beams_kept_total", "Beams that survived a block, over all blocks.",
               number(sums_.beams_kept));
  page.gauge("counterbeam:agreed_prefix_share",
             "Share of the answers' tokens that were certain before their search had ended.",
             share(number(sums_.agreed_tokens), number(sums_.completion_tokens)));
  for (const auto& [method, count] : by_method_)
    page.counter("counterbeam:requests_total", "Answered requests by method.", number(count),
                 fmt::format(",method=\"{}\"", label_text(method)));
  page.counter("counterbeam:requests_failed_total", "Requests that failed while they ran.",
               number(failed_));
  page.counter("counterbeam:requests_cancelled_total",
               "Requests whose client went away, or that were cancelled.", number(cancelled_));
  for (const auto& [status, count] : by_status_)
    page.counter("counterbeam:http_responses_total", "HTTP answers by status.", number(count),
                 fmt::format(",status=\"{}\"", status));
  page.gauge("counterbeam:connections", "Open connections.", now.connections);
  page.gauge("counterbeam:cache_pages", "Pages of the KV cache.", number(engine.pages));
  page.gauge("counterbeam:cache_pages_used", "Pages that living sequences use.",
             number(engine.pages_used));
  page.gauge("counterbeam:sequences", "Living sequences.", number(engine.sequences));
  page.gauge("counterbeam:searches_max", "Searches that may run at once.", now.searches);
  page.gauge("counterbeam:queue_max", "Requests that may wait.", now.queue);
  page.gauge("counterbeam:ready", "1 while requests are taken.", now.state == "ready" ? 1 : 0);
  return std::move(page.out);
}

}  // namespace counterbeam::serve
