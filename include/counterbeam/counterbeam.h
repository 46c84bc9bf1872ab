// Counterbeam's public interface: load a model, ask it, score an answer.
//
//     auto model = counterbeam::LanguageModel::load("models/tiny-dense");
//     std::cout << model.ask("Compute 12 + 3 * 7.").text << "\n";
//
// Bad input and failed I/O throw std::runtime_error with a message that says what is wrong, where,
// and what to do. A model may be asked from many threads at once; the engine batches what they ask.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace counterbeam {

struct LoadOptions {
  std::string device = "auto";  // auto, cpu, cuda
  std::string dtype = "auto";   // auto, f32, bf16
  int threads = 0;              // 0: all cores
  bool progress = false;        // a bar on the terminal while loading
  // Memory for keys, values and recurrent states; 0: a share of what is free.
  std::int64_t cache_bytes = 0;
};

// Told after every block of a search.
struct AskProgress {
  int block = 0;             // counted from 1
  int blocks = 0;            // at most
  std::size_t alive = 0;     // beams that go on
  std::size_t finished = 0;  // answers found
  double best = 0;           // score
  std::string agreed;        // the beginning of the answer that all living beams share
};

struct AskOptions {
  std::string method = "cbs";  // with settings, as on the command line: "cbs:steer=0.7:block=16"
  std::string system;          // system message; empty: none
  bool raw = false;            // continue the question itself, without a chat template
  std::uint64_t seed = 0;      // same seed, same answer
  std::uint32_t question = 0;  // number of the question in a series; part of the randomness
  std::function<void(const AskProgress&)> on_block;
};

struct Answer {
  std::string text;
  std::vector<std::int32_t> tokens;
  double score = 0;
  bool finished = false;              // it ended by itself; otherwise it was cut at the token limit
  std::int64_t generated_tokens = 0;  // over every candidate
  std::int64_t scored_tokens = 0;     // read under the other prompts
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  double seconds = 0;
};

// One token of an answer. Log-probabilities at temperature 1.
struct TokenScore {
  std::int32_t token = 0;
  std::string text;
  float base = 0;
  float positive = 0;
  float negative = 0;
  float reward() const { return positive - negative; }
};

struct ScoreOptions {
  std::string contexts = "reasoning";  // a named pair
  std::string positive, negative;      // or your own; both or neither
  std::string system;
  bool raw = false;
};

class LanguageModel {
 public:
  // A Hugging Face folder, or ORG/NAME in the local hub cache.
  static LanguageModel load(const std::string& name, const LoadOptions& options = {});
  ~LanguageModel();
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;

  Answer ask(const std::string& question, const AskOptions& options = {}) const;
  std::vector<TokenScore> score(const std::string& question, const std::string& answer,
                                const ScoreOptions& options = {}) const;

 private:
  struct Parts;
  explicit LanguageModel(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace counterbeam
