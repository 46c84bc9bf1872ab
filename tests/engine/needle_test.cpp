// One request among others in the same step: whatever their number, order and lengths, it has the
// bits that it has alone.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <random>
#include <thread>

#include "backend/cpu_support.h"
#include "base/error.h"
#include "engine/tiny.h"

namespace counterbeam {
namespace {

using namespace testing;

ExtendRequest needle_of(Sequence& sequence, Sequence& follower) {
  return {.sequence = &sequence,
          .followers = {&follower},
          .max_tokens = 5,
          .key = {.seed = 11, .question = 4}};
}

Extension needle_alone(Engine& engine, const std::vector<TokenId>& prompt,
                       const std::vector<TokenId>& context) {
  Sequence sequence = open_one(engine, prompt), follower = open_one(engine, context);
  return extend_one(engine, needle_of(sequence, follower));
}

// Among `count` requests altogether.
Extension needle_among(Engine& engine, const std::vector<TokenId>& prompt,
                       const std::vector<TokenId>& context, std::size_t count,
                       std::mt19937& random) {
  const std::size_t place = random() % count;
  std::vector<std::vector<TokenId>> prompts;
  for (std::size_t i = 0; i < count; ++i)
    prompts.push_back(some_tokens(1 + static_cast<int>(random() % 20), std::uint32_t(random())));
  prompts[place] = prompt;
  prompts.push_back(context);
  std::vector<Sequence> sequences = std::move(engine.open(prompts).sequences);
  std::vector<ExtendRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == place) {
      requests.push_back(needle_of(sequences[i], sequences[count]));
    } else {
      requests.push_back({.sequence = &sequences[i],
                          .max_tokens = 1 + static_cast<int>(random() % 6),
                          .key = {.seed = random()}});
    }
  }
  return engine.extend(requests)[place];
}

// Opens prompts of random lengths until it ends, so that steps which draw hold prefill rows too. On
// a GPU such steps are launched call by call; others replay a graph.
class OtherPrompts {
 public:
  explicit OtherPrompts(Engine& engine) : thread_([this, &engine] { open_prompts(engine); }) {}
  ~OtherPrompts() {
    ending_ = true;
    thread_.join();
  }

 private:
  void open_prompts(Engine& engine) {
    std::mt19937 random(17);
    while (!ending_) {
      try {
        open_one(engine, some_tokens(1 + static_cast<int>(random() % 90), std::uint32_t(random())));
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
        return;
      }
    }
  }
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

void find_needles(const ModelConfig& config, const LocalOptions& options, int trials,
                  bool beside_prompts = false) {
  auto engine = tiny_engine(config, options);
  const auto prompt = some_tokens(23, 1), context = some_tokens(31, 2);
  const Extension alone = needle_alone(*engine, prompt, context);
  std::optional<OtherPrompts> others;
  if (beside_prompts) others.emplace(*engine);
  std::mt19937 random(3);
  for (int t = 0; t < trials; ++t) {
    const std::size_t count = t % 2 ? 1 + random() % 128 : std::size_t{1} << (t / 2 % 8);
    EXPECT_TRUE(same(needle_among(*engine, prompt, context, count, random), alone))
        << "among " << count << ", trial " << t;
  }
}

void ask_a_thousand_times(const LocalOptions& options) {
  auto engine = tiny_engine(tiny_recurrent(), options);
  const Sequence prompt = open_one(*engine, some_tokens(40, 1));
  std::vector<Sequence> sequences;
  std::vector<ExtendRequest> requests;
  for (int i = 0; i < 1000; ++i) sequences.push_back(prompt.fork());
  for (Sequence& sequence : sequences)
    requests.push_back({.sequence = &sequence, .max_tokens = 8, .key = {.seed = 5}});
  const auto extensions = engine->extend(requests);
  for (const Extension& extension : extensions) EXPECT_TRUE(same(extension, extensions[0]));
}

TEST(Needle, HasTheSameBitsAmongUpTo128) {
  const LocalOptions reference{.threads = 1, .isa = "reference"};
  const LocalOptions bf16{
      .precision = Precision::Bf16, .threads = 2, .isa = std::string(name_of(choose_isa("")))};
  const LocalOptions small_steps{
      .precision = Precision::F32, .threads = 2, .isa = bf16.isa, .step_rows = 7};
  for (const ModelConfig& config : {tiny_attention(), tiny_recurrent(), tiny_windows()})
    for (const LocalOptions& options : {reference, bf16, small_steps})
      find_needles(config, options, 112);  // 1,008 trials altogether
}

TEST(Needle, HasTheSameBitsOnTheGpu) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  const LocalOptions whole_steps{.device = "cuda"};
  const LocalOptions small_steps{.device = "cuda", .step_rows = 7};
  for (const ModelConfig& config : {tiny_attention(), tiny_recurrent(), tiny_windows()})
    for (const LocalOptions& options : {whole_steps, small_steps})
      for (const bool beside_prompts : {false, true})
        find_needles(config, options, 84, beside_prompts);  // 1,008 trials altogether
}

TEST(Needle, AThousandEqualRequestsHaveOneAnswer) {
  const std::string isa(name_of(choose_isa("")));
  ask_a_thousand_times({.precision = Precision::Bf16, .threads = 2, .isa = isa});
}

TEST(Needle, AThousandEqualRequestsHaveOneAnswerOnTheGpu) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  ask_a_thousand_times({.device = "cuda"});
}

}  // namespace
}  // namespace counterbeam
