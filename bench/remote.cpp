// The time that the client adds to a block over a remote engine: 16 beams of 32 tokens under two
// contexts, 48 requests in two rounds. The server, in this process, has canned replies and takes
// 1 ms for each, one after the other; the rest of a block's time is that of the client and of the
// network. Scoring replies hold every row of the prompt, as those of vLLM's V1 runner do.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "base/error.h"
#include "engine/remote_engine.h"
#include "support/http_listener.h"

namespace counterbeam {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBeams = 16;
constexpr int kTokens = 32, kVocab = 30000;

class CannedServer {
 public:
  explicit CannedServer(std::chrono::microseconds each)
      : each_(each),
        listener_([this](const testing::HeardRequest& heard) { return answer(heard); }) {}
  std::string url() const { return listener_.url(); }

 private:
  testing::SpokenReply answer(const testing::HeardRequest& heard) {
    if (heard.path == "/v1/models")
      return {200, R"({"data": [{"id": "canned", "max_model_len": 8192}]})"};
    if (heard.path == "/metrics") return {200, "vllm:cache_config_info{block_size=\"16\"} 1.0\n"};
    if (heard.path != "/inference/v1/generate" ||
        heard.body.find("prompt_logprob_token_ids") != heard.body.npos)
      return {404, "{}"};
    Clock::time_point end;
    {
      const std::lock_guard lock(mutex_);
      end = free_ = std::max(free_, Clock::now()) + each_;
    }
    testing::SpokenReply reply{200, made(heard.body)};
    std::this_thread::sleep_until(end);
    return reply;
  }

  std::string made(const std::string& body) {
    const auto number_after = [&](const char* name) {
      const std::size_t at = body.find(name);
      return at == body.npos ? 0 : std::stoi(body.substr(at + std::string_view(name).size()));
    };
    const int drawn = number_after("\"max_tokens\":");
    std::string ids, content;
    for (int i = 0; i < drawn; ++i) {
      const auto token = body.find("allowed_token_ids") != body.npos
                             ? number_after("\"allowed_token_ids\":[")
                             : 1 + static_cast<int>(next_++ % (kVocab - 1));
      ids += fmt::format("{}{}", i ? "," : "", token);
      content +=
          fmt::format("{}{{\"token\":\"token_id:{}\",\"logprob\":-1.25,\"top_logprobs\":[]}}",
                      i ? "," : "", token);
    }
    std::string rows;
    if (body.find("\"prompt_logprobs\"") != body.npos) {
      rows = ",\"prompt_logprobs\":[null";
      std::size_t at = body.find(',', body.find("\"token_ids\":["));
      for (const std::size_t end = body.find(']'); at < end; at = body.find_first_of(",]", at + 1))
        rows += fmt::format(",{{\"{}\":{{\"logprob\":-1.25,\"rank\":3,\"decoded_token\":null}}}}",
                            std::stoi(body.substr(at + 1, 9)));
      rows += "]";
    }
    return fmt::format(
        "{{\"request_id\":\"x\",\"choices\":[{{\"index\":0,\"token_ids\":[{}],\"logprobs\":{{"
        "\"content\":[{}]}},\"finish_reason\":\"length\"}}],\"usage\":{{\"prompt_tokens\":9,"
        "\"prompt_tokens_details\":{{\"cached_tokens\":0}}}}{}}}",
        ids, content, rows);
  }

  const std::chrono::microseconds each_;
  std::mutex mutex_;
  Clock::time_point free_{};  // when it has answered everything so far
  std::atomic<std::uint64_t> next_ = 0;
  testing::HttpListener listener_;
};

void block(benchmark::State& state) {
  CannedServer server{std::chrono::microseconds(state.range(1))};
  RemoteOptions options;
  options.urls = {server.url()};
  options.probe.tokens = {1, 2, 3, 4};
  RemoteEngine engine(options, {.name = "canned", .vocab_size = kVocab});
  std::vector<std::vector<TokenId>> prompts;
  for (TokenId p = 0; p < 3; ++p)
    prompts.emplace_back(static_cast<std::size_t>(state.range(0)), 100 + p);
  double seconds = 0;
  std::int64_t rounds = 0, requests = 0, blocks = 0;
  for (auto _ : state) {
    Opened opened = engine.open(prompts);
    std::vector<Sequence> sequences;
    std::vector<ExtendRequest> calls(kBeams);
    for (std::size_t i = 0; i < 3 * kBeams; ++i)
      sequences.push_back(opened.sequences[i % 3].fork());
    for (std::size_t b = 0; b < kBeams; ++b) {
      calls[b].sequence = &sequences[3 * b];
      calls[b].followers = {&sequences[3 * b + 1], &sequences[3 * b + 2]};
      calls[b].max_tokens = kTokens;
    }
    const std::int64_t rounds_before = engine.fleet().rounds(),
                       requests_before = engine.fleet().requests();
    const auto start = Clock::now();
    benchmark::DoNotOptimize(engine.extend(calls));
    seconds += std::chrono::duration<double>(Clock::now() - start).count();
    rounds += engine.fleet().rounds() - rounds_before;
    requests += engine.fleet().requests() - requests_before;
    ++blocks;
  }
  const auto n = static_cast<double>(blocks);
  const double busy = 1e-6 * static_cast<double>(state.range(1) * requests);
  state.counters["block_ms"] = 1e3 * seconds / n;
  state.counters["server_ms"] = 1e3 * busy / n;
  state.counters["client_ms"] = 1e3 * (seconds - busy) / n;
  state.counters["client_percent"] = 100 * (seconds - busy) / seconds;
  state.counters["rounds"] = static_cast<double>(rounds) / n;
  state.counters["requests"] = static_cast<double>(requests) / n;
}

// Tokens of the prompts, microseconds per request.
BENCHMARK(block)
    ->Args({128, 1000})
    ->Args({700, 1000})
    ->Args({700, 0})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(50);

}  // namespace
}  // namespace counterbeam

BENCHMARK_MAIN();
