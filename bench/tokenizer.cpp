// Speed of the tokenizer with a real vocabulary: loading, encoding prose and code, decoding, and
// worst cases that must stay near linear. Texts are long and not repetitive, so the cache of recent
// pieces helps as much as in real use.
//
// The vocabulary and the prose are reference data outside of the repository (COUNTERBEAM_SHARED, or
// ../shared); without them the benchmarks are skipped with a message.
#include "text/tokenizer.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

fs::path repository() {
  return fs::path(__FILE__).parent_path().parent_path();
}

fs::path shared() {
  const char* named = std::getenv("COUNTERBEAM_SHARED");
  return named ? fs::path(named) : repository() / ".." / "shared";
}

fs::path folder(const char* name) {
  return shared() / "fixtures" / "tokenizers" / name;
}

// The tokenizer; empty if the data is absent, and then the benchmark is marked as skipped.
const Tokenizer* tokenizer(benchmark::State& state, const char* name) {
  static std::map<std::string, Tokenizer> loaded;
  if (!fs::exists(folder(name))) {
    state.SkipWithError("reference data absent: set COUNTERBEAM_SHARED");
    return nullptr;
  }
  const auto found = loaded.find(name);
  if (found != loaded.end()) return &found->second;
  return &loaded.emplace(name, Tokenizer::load(folder(name))).first->second;
}

// Questions and worked solutions in English.
std::string prose() {
  std::string text;
  const std::string lines = read_file(shared() / "data" / "gsm8k" / "test.jsonl");
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    const Json row = parse_json(std::string_view(lines).substr(at, end - at), "gsm8k");
    text += row["question"].get<std::string>() + "\n" + row["answer"].get<std::string>() + "\n\n";
    at = end + 1;
  }
  return text;
}

// The sources of this program.
std::string code() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(repository() / "src"))
    if (entry.path().extension() == ".cpp" && entry.path().filename() != "unicode_data.cpp")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string text;
  for (const fs::path& file : files) text += read_file(file);
  return text;
}

void encode(benchmark::State& state, const char* name, const std::string& text) {
  const Tokenizer* own = tokenizer(state, name);
  if (!own) return;
  std::size_t tokens = 0;
  for (auto _ : state) tokens = own->encode(text).size();
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
  state.counters["bytes"] = static_cast<double>(text.size());
  state.counters["tokens"] = static_cast<double>(tokens);
}

void load(benchmark::State& state, const char* name) {
  if (!tokenizer(state, name)) return;
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::load(folder(name)));
}

void decode(benchmark::State& state) {
  const Tokenizer* own = tokenizer(state, "qwen2");
  if (!own) return;
  const std::string text = prose();
  const std::vector<TokenId> ids = own->encode(text);
  for (auto _ : state) benchmark::DoNotOptimize(own->decode(ids));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

std::string repeated(std::string_view unit, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

BENCHMARK_CAPTURE(load, qwen2, "qwen2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load, deepseek, "deepseek-llm")->Unit(benchmark::kMillisecond);
BENCHMARK(decode)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace counterbeam

int main(int argc, char** argv) {
  using namespace counterbeam;
  benchmark::Initialize(&argc, argv);
  const std::string code_text = code();
  const bool has_prose = fs::exists(shared() / "data" / "gsm8k" / "test.jsonl");
  const std::string prose_text = has_prose ? prose() : "";
  const std::size_t megabyte = 1 << 20;
  for (const char* name : {"qwen2", "deepseek-llm"}) {
    const auto add = [&](const std::string& what, std::string text) {
      benchmark::RegisterBenchmark(
          ("encode/" + std::string(name) + "/" + what).c_str(),
          [name, text = std::move(text)](benchmark::State& state) { encode(state, name, text); })
          ->Unit(benchmark::kMillisecond);
    };
    if (has_prose) add("prose", prose_text);
    add("code", code_text);
    add("1MB_of_a", repeated("a", megabyte));
    add("1MB_of_spaces", repeated(" ", megabyte) + "x");
    add("1MB_of_chinese", repeated("天地玄黄宇宙洪荒", megabyte));
    add("1MB_of_marks", "a" + repeated("\u0301\u0316", megabyte));
  }
  benchmark::RunSpecifiedBenchmarks();
}
