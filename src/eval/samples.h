// A graded answer, and samples.jsonl, which stores one per line. Lines are appended and flushed as
// samples finish. A partial last line, left by a killed run, is dropped when the file is opened
// again; the lines before it are kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace counterbeam {

struct Sample {
  std::string task, id, method;  // method: as given by the user
  int question = 0;              // index of the problem in its task's file
  int sample = 0;
  std::string error;  // why the problem could not be run or judged; such a sample is not graded
  std::string answer, extracted;
  bool correct = false;
  bool correct_strict = false;  // math: by prm800k's grader; otherwise the same as correct
  std::string state;            // code: pass, fail, error, timeout, memory, killed
  double score = 0;
  std::optional<double> separation{};  // of right from wrong candidates (eval/separation.h)
  bool truncated = false;
  std::int64_t answer_tokens = 0;
  std::int64_t generated_tokens = 0, scored_tokens = 0, prompt_tokens = 0, cached_tokens = 0;
  double seconds = 0;
  bool alone = false;            // no other search ran, caches of prompts were cold
  std::string trace;             // file of the search's trace page, if kept
  std::vector<int> permutation;  // choice: which of the file's choices was shown as A, B, C, D
  // Per token of the answer, if the method contrasts contexts: the bytes of `answer` that it
  // writes, and its reward in hundredths.
  std::vector<int> token_bytes, token_rewards;
};

std::string to_line(const Sample& sample);
// Errors start with `place` ("FILE: line 3").
Sample parse_sample(const std::string& line, const std::string& place);

// The longest line that is written and read.
inline constexpr std::size_t kMostSampleBytes = std::size_t{16} << 20;

// Reads the complete lines one by one. Returns the bytes of a last line without a line end, which
// is not visited. Throws an Error that names the file and the line.
std::size_t visit_samples(const std::filesystem::path& path,
                          const std::function<void(Sample)>& visit);

// Reads all complete lines. A last line without a line end is ignored.
std::vector<Sample> read_samples(const std::filesystem::path& path);

// Identifies one sample of a run.
using SampleKey = std::tuple<std::string, std::string, std::string, int>;
inline SampleKey key_of(const Sample& sample) {
  return {sample.task, sample.id, sample.method, sample.sample};
}

// The only writer of a samples file. A write that fails leaves no partial line.
class SampleFile {
 public:
  // Opens the file for appending, after removing a partial last line.
  explicit SampleFile(const std::filesystem::path& path);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  // The sample has been passed to the kernel on return, so it survives if the program is killed.
  // Throws an Error if its line would be too long to be read. Thread-safe.
  void append(const Sample& sample);

 private:
  std::filesystem::path path_;
  int file_;
  std::int64_t size_;
  std::mutex mutex_;
};

// Replaces the file by these samples, sorted by task, problem, method and sample. Tasks and methods
// are in the order given; others follow in order of appearance. Throws Error if a sample occurs
// twice.
void write_samples(const std::vector<Sample>& samples, const std::filesystem::path& path,
                   const std::vector<std::string>& tasks, const std::vector<std::string>& methods);

// The same for the samples of the file.
void sort_samples(const std::filesystem::path& path, const std::vector<std::string>& tasks,
                  const std::vector<std::string>& methods);

}  // namespace counterbeam
