#include "eval/samples.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_fields.h"

namespace counterbeam {

std::string to_line(const Sample& sample) {
  Json json = {{"task", sample.task},
               {"id", sample.id},
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
  if (!sample.state.empty()) json["state"] = sample.state;
  if (!sample.trace.empty()) json["trace"] = sample.trace;
  if (!sample.permutation.empty()) json["permutation"] = sample.permutation;
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
  sample.answer = text("answer");
  sample.extracted = fields.string("extracted").value_or("");
  const auto correct = fields.boolean("correct");
  if (!correct) fields.missing("correct", "true or false");
  sample.correct = *correct;
  sample.correct_strict = fields.boolean("correct_strict").value_or(*correct);
  sample.state = fields.string("state").value_or("");
  sample.trace = fields.string("trace").value_or("");
  sample.score = fields.number("score", -1e300, 1e300).value_or(0);
  sample.truncated = fields.boolean("truncated").value_or(false);
  sample.answer_tokens = count("answer_tokens");
  sample.generated_tokens = count("generated_tokens");
  sample.scored_tokens = count("scored_tokens");
  sample.prompt_tokens = count("prompt_tokens");
  sample.cached_tokens = count("cached_tokens");
  sample.seconds = fields.number("seconds", -1, 1e300).value_or(0);
  if (const Json* permutation = fields.array("permutation"))
    for (const Json& place_of : *permutation)
      sample.permutation.push_back(place_of.is_number_integer() ? place_of.get<int>() : 0);
  return sample;
}

std::vector<Sample> read_samples(const std::filesystem::path& path) {
  const std::string content = read_file(path);
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
  if (std::filesystem::exists(path)) {
    const std::string content = read_file(path);
    const std::size_t whole = content.rfind('\n') + 1;  // 0 when there is none
    if (whole != content.size()) std::filesystem::resize_file(path, whole);
  }
  file_ = std::fopen(path.c_str(), "ab");
  if (!file_) failed("{}: cannot be written: {}", path.string(), std::strerror(errno));
}

SampleFile::~SampleFile() {
  std::fclose(file_);
}

void SampleFile::append(const Sample& sample) {
  const std::string line = to_line(sample) + "\n";
  const std::lock_guard lock(mutex_);
  const bool written =
      std::fwrite(line.data(), 1, line.size(), file_) == line.size() && std::fflush(file_) == 0;
  if (!written) failed("{}: cannot be written: {}", path_.string(), std::strerror(errno));
}

}  // namespace counterbeam
