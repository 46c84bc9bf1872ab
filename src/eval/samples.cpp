#include "eval/samples.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_fields.h"

namespace counterbeam {
namespace {

constexpr std::uint64_t kMostSampleBytes = std::uint64_t{64} << 30;

std::vector<int> integers(const JsonFields& fields, const char* key, const std::string& place) {
  std::vector<int> values;
  if (const Json* list = fields.array(key))
    for (const Json& value : *list) {
      const bool fits = value.is_number_integer() &&
                        (value.is_number_unsigned()
                             ? value.get<std::uint64_t>() <= std::numeric_limits<int>::max()
                             : value.get<std::int64_t>() >= std::numeric_limits<int>::min());
      if (!fits) bad_input("{}: \"{}\" must hold integers of 32 bits", place, key);
      values.push_back(value.get<int>());
    }
  return values;
}

void check_tokens(const Sample& sample, const std::string& place) {
  std::size_t bytes = 0;
  for (const int count : sample.token_bytes) {
    if (count < 0) bad_input("{}: \"token_bytes\" must not hold negative numbers", place);
    bytes += static_cast<std::size_t>(count);
  }
  if (sample.token_bytes.size() != sample.token_rewards.size() ||
      (!sample.token_bytes.empty() && bytes != sample.answer.size()))
    bad_input(
        "{}: \"token_bytes\" and \"token_rewards\" must have one number per token and cover "
        "\"answer\"; leave both out if they are not known",
        place);
}

}  // namespace

std::string to_line(const Sample& sample) {
  Json json = {{"task", sample.task},
               {"id", sample.id},
               {"question", sample.question},
               {"method", sample.method},
               {"sample", sample.sample},
               {"answer", sample.answer},
               {"extracted", sample.extracted},
               {"correct", sample.correct},
               {"correct_strict", sample.correct_strict},
               {"score", sample.score},
               {"truncated", sample.truncated},
               {"answer_tokens", sample.answer_tokens},
               {"generated_tokens", sample.generated_tokens},
               {"scored_tokens", sample.scored_tokens},
               {"prompt_tokens", sample.prompt_tokens},
               {"cached_tokens", sample.cached_tokens},
               {"seconds", sample.seconds}};
  if (sample.separation) json["separation"] = *sample.separation;
  if (sample.alone) json["alone"] = true;
  if (!sample.error.empty()) json["error"] = sample.error;
  if (!sample.state.empty()) json["state"] = sample.state;
  if (!sample.trace.empty()) json["trace"] = sample.trace;
  if (!sample.permutation.empty()) json["permutation"] = sample.permutation;
  if (!sample.token_bytes.empty()) {
    json["token_bytes"] = sample.token_bytes;
    json["token_rewards"] = sample.token_rewards;
  }
  return to_line(json);
}

Sample parse_sample(const std::string& line, const std::string& place) {
  const Json json = parse_json(line, place);
  if (!json.is_object()) bad_input("{}: a JSON object is needed", place);
  const JsonFields fields(json, place);
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  const auto text = [&](const char* key) {
    auto value = fields.string(key);
    if (!value) fields.missing(key, "a text");
    return *std::move(value);
  };
  const auto count = [&](const char* key) { return fields.integer(key, 0, kMost).value_or(0); };
  Sample sample;
  sample.task = text("task");
  sample.id = text("id");
  sample.method = text("method");
  sample.sample = static_cast<int>(fields.integer("sample", 0, 1 << 30).value_or(0));
  sample.question = static_cast<int>(fields.integer("question", 0, 1 << 30).value_or(0));
  sample.error = fields.string("error").value_or("");
  sample.answer = text("answer");
  sample.extracted = fields.string("extracted").value_or("");
  const auto correct = fields.boolean("correct");
  if (!correct) fields.missing("correct", "true or false");
  sample.correct = *correct;
  sample.correct_strict = fields.boolean("correct_strict").value_or(*correct);
  sample.state = fields.string("state").value_or("");
  sample.trace = fields.string("trace").value_or("");
  sample.score = fields.number("score", -1e300, 1e300).value_or(0);
  sample.separation = fields.number("separation", -1, 1);
  sample.truncated = fields.boolean("truncated").value_or(false);
  sample.answer_tokens = count("answer_tokens");
  sample.generated_tokens = count("generated_tokens");
  sample.scored_tokens = count("scored_tokens");
  sample.prompt_tokens = count("prompt_tokens");
  sample.cached_tokens = count("cached_tokens");
  sample.seconds = fields.number("seconds", -1, 1e300).value_or(0);
  sample.alone = fields.boolean("alone").value_or(false);
  sample.permutation = integers(fields, "permutation", place);
  sample.token_bytes = integers(fields, "token_bytes", place);
  sample.token_rewards = integers(fields, "token_rewards", place);
  check_tokens(sample, place);
  return sample;
}

std::vector<Sample> read_samples(const std::filesystem::path& path) {
  const std::string content = read_file(path, kMostSampleBytes);
  std::vector<Sample> samples;
  std::size_t start = 0;
  for (int number = 1;; ++number) {
    const std::size_t end = content.find('\n', start);
    if (end == content.npos) return samples;
    samples.push_back(parse_sample(content.substr(start, end - start),
                                   fmt::format("{}: line {}", path.string(), number)));
    start = end + 1;
  }
}

SampleFile::SampleFile(const std::filesystem::path& path) : path_(path) {
  const std::string content =
      std::filesystem::exists(path) ? read_file(path, kMostSampleBytes) : "";
  size_ = static_cast<std::int64_t>(content.rfind('\n') + 1);  // 0 if there is no complete line
  file_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0 || ::ftruncate(file_, size_) != 0)
    failed("{}: cannot be written: {}", path.string(), std::strerror(errno));
}

SampleFile::~SampleFile() {
  ::close(file_);
}

void SampleFile::append(const Sample& sample) {
  const std::string line = to_line(sample) + "\n";
  const std::lock_guard lock(mutex_);
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t wrote = ::write(file_, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const std::string reason = std::strerror(errno);
      const bool cut = ::ftruncate(file_, size_) == 0;
      failed("{}: cannot be written: {}{}", path_.string(), reason,
             cut ? "" : "; its last line is incomplete, --resume removes it");
    }
    done += static_cast<std::size_t>(wrote);
  }
  size_ += static_cast<std::int64_t>(line.size());
}

void sort_samples(const std::filesystem::path& path, const std::vector<std::string>& tasks,
                  const std::vector<std::string>& methods) {
  std::map<std::string, std::size_t> task_ranks, method_ranks;
  for (const std::string& task : tasks) task_ranks.emplace(task, task_ranks.size());
  for (const std::string& method : methods) method_ranks.emplace(method, method_ranks.size());
  // The id follows the index: files written by hand have no indexes, but their problems still
  // group.
  std::map<std::tuple<std::size_t, int, std::string, std::size_t, int>, std::string> lines;
  for (const Sample& sample : read_samples(path)) {
    const std::size_t task = task_ranks.emplace(sample.task, task_ranks.size()).first->second;
    const std::size_t method =
        method_ranks.emplace(sample.method, method_ranks.size()).first->second;
    if (!lines
             .try_emplace({task, sample.question, sample.id, method, sample.sample},
                          to_line(sample) + "\n")
             .second)
      bad_input("{}: sample {} of {} by {} occurs twice", path.string(), sample.sample, sample.id,
                sample.method);
  }
  std::string content;
  for (const auto& [key, line] : lines) content += line;
  write_file(path, content);
}

}  // namespace counterbeam
