#include "eval/samples.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/line_reader.h"
#include "base/output_file.h"

namespace counterbeam {
namespace {

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

// The bytes up to the last line end, found from the end of the file.
std::int64_t complete_bytes(const std::filesystem::path& path) {
  const OpenFile file = open_regular_file(path);
  const std::uint64_t size = size_of(file, path);
  std::vector<char> piece(1 << 16);
  for (std::uint64_t end = size; end > 0;) {
    if (size - end > kMostSampleBytes)
      bad_input("{}: its last line is longer than {} bytes; is the file damaged?", path.string(),
                kMostSampleBytes);
    const std::uint64_t start = end - std::min<std::uint64_t>(end, piece.size());
    const auto count = static_cast<std::size_t>(end - start);
    if (::fseeko(file.get(), static_cast<off_t>(start), SEEK_SET) != 0 ||
        std::fread(piece.data(), 1, count, file.get()) != count)
      failed("{}: cannot be read: {}", path.string(), std::strerror(errno));
    const std::size_t found = std::string_view(piece.data(), count).rfind('\n');
    if (found != std::string_view::npos) return static_cast<std::int64_t>(start + found + 1);
    end = start;
  }
  return 0;
}

// The place of every sample in a sorted file. The id follows the index: files written by hand have
// no indexes, but their problems still group.
using SamplePlace = std::tuple<std::size_t, int, std::string_view, std::size_t, int>;

std::vector<SamplePlace> places_of(const std::vector<Sample>& samples,
                                   const std::vector<std::string>& tasks,
                                   const std::vector<std::string>& methods) {
  std::map<std::string_view, std::size_t> task_ranks, method_ranks;
  for (const std::string& task : tasks) task_ranks.emplace(task, task_ranks.size());
  for (const std::string& method : methods) method_ranks.emplace(method, method_ranks.size());
  std::vector<SamplePlace> places;
  for (const Sample& sample : samples)
    places.emplace_back(task_ranks.emplace(sample.task, task_ranks.size()).first->second,
                        sample.question, sample.id,
                        method_ranks.emplace(sample.method, method_ranks.size()).first->second,
                        sample.sample);
  return places;
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
  if (json.contains("score") && json["score"].is_null())
    fields.wrong("score", "is how NaN and infinity are written; remove the line");
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

std::size_t visit_samples(const std::filesystem::path& path,
                          const std::function<void(Sample)>& visit) {
  LineReader lines(path, kMostSampleBytes);
  std::string line;
  while (lines.next(line)) visit(parse_sample(line, lines.place()));
  return lines.rest();
}

std::vector<Sample> read_samples(const std::filesystem::path& path) {
  std::vector<Sample> samples;
  visit_samples(path, [&](Sample sample) { samples.push_back(std::move(sample)); });
  return samples;
}

SampleFile::SampleFile(const std::filesystem::path& path)
    : path_(path), size_(std::filesystem::exists(path) ? complete_bytes(path) : 0) {
  file_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0 || ::ftruncate(file_, size_) != 0)
    failed("{}: cannot be written: {}", path.string(), std::strerror(errno));
}

SampleFile::~SampleFile() {
  ::close(file_);
}

void SampleFile::append(const Sample& sample) {
  const std::string line = to_line(sample) + "\n";
  if (line.size() > kMostSampleBytes)
    failed("{}: sample {} of {} by {} has {} bytes; at most {} are written", path_.string(),
           sample.sample, sample.id, sample.method, line.size(), kMostSampleBytes);
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

void write_samples(const std::vector<Sample>& samples, const std::filesystem::path& path,
                   const std::vector<std::string>& tasks, const std::vector<std::string>& methods) {
  const std::vector<SamplePlace> places = places_of(samples, tasks, methods);
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (const Sample& sample = samples[order[i]]; places[order[i]] == places[order[i - 1]])
      bad_input("{}: sample {} of {} by {} occurs twice", path.string(), sample.sample, sample.id,
                sample.method);
  OutputFile file(path);
  for (const std::size_t i : order) {
    const std::string line = to_line(samples[i]) + "\n";
    file.write(line.data(), line.size());
  }
  file.finish();
}

void sort_samples(const std::filesystem::path& path, const std::vector<std::string>& tasks,
                  const std::vector<std::string>& methods) {
  write_samples(read_samples(path), path, tasks, methods);
}

}  // namespace counterbeam
