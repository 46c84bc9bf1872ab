// One graded answer, and the file they are kept in: samples.jsonl, a line each, appended and
// flushed as each is done. A line that a killed run left half-written is dropped when the file is
// opened again; nothing before it is touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace counterbeam {

struct Sample {
  std::string task, id, method;  // method: the string the user gave
  int question = 0;              // place of the problem in its task's file
  int sample = 0;
  std::string error;  // why there is no answer: the problem cannot be run; counts as wrong
  std::string answer, extracted;
  bool correct = false;
  bool correct_strict = false;  // math: as prm800k's grader says; otherwise the same
  std::string state;            // code: pass, fail, error, timeout, memory, killed
  double score = 0;
  bool truncated = false;
  std::int64_t answer_tokens = 0;
  std::int64_t generated_tokens = 0, scored_tokens = 0, prompt_tokens = 0, cached_tokens = 0;
  double seconds = 0;
  std::string trace;             // file of the search's trace page, where kept
  std::vector<int> permutation;  // choice: which of the file's choices stood at A, B, C, D
};

std::string to_line(const Sample& sample);
// `place` ("FILE: line 3") opens the error.
Sample parse_sample(const std::string& line, const std::string& place);

// All complete lines of a file. A last line without its line end is not one.
std::vector<Sample> read_samples(const std::filesystem::path& path);

// Names one sample of a run.
using SampleKey = std::tuple<std::string, std::string, std::string, int>;
inline SampleKey key_of(const Sample& sample) {
  return {sample.task, sample.id, sample.method, sample.sample};
}

// The one writer of a samples file. After a failed write nothing is left of that line.
class SampleFile {
 public:
  // Opens for appending; a torn last line is cut off first.
  explicit SampleFile(const std::filesystem::path& path);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  // With the kernel when it returns, so a killed program loses nothing. Safe from many threads.
  void append(const Sample& sample);

 private:
  std::filesystem::path path_;
  int file_;
  std::int64_t size_;
  std::mutex mutex_;
};

// Writes the file again by task, problem, method and sample; tasks and methods in the order given,
// further ones behind them as they appear. Error when a sample occurs twice.
void sort_samples(const std::filesystem::path& path, const std::vector<std::string>& tasks,
                  const std::vector<std::string>& methods);

}  // namespace counterbeam
