// One graded answer, and the file they are kept in: samples.jsonl, a line each, appended and
// flushed as each is done. A line that a killed run left half-written is dropped when the file is
// opened again; nothing before it is touched.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace counterbeam {

struct Sample {
  std::string task, id, method;  // method: the string the user gave
  int sample = 0;
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

class SampleFile {
 public:
  // Opens for appending; a torn last line is cut off first.
  explicit SampleFile(const std::filesystem::path& path);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  // Written and flushed when it returns. Safe from many threads.
  void append(const Sample& sample);

 private:
  std::filesystem::path path_;
  std::FILE* file_;
  std::mutex mutex_;
};

}  // namespace counterbeam
