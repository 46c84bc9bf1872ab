// The time to map and validate a 1 GB safetensors file of 2,000 tensors. The file is sparse, which
// makes no difference because validation does not read the data.
#include "tensor/safetensors.h"

#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

// A file of `count` BF16 matrices with `bytes` in total, named like the layers of a model.
fs::path sparse_file(std::int64_t count, std::int64_t bytes) {
  const std::int64_t columns = 1024, rows = bytes / count / columns / 2;
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}";
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t end = at + rows * columns * 2;
    header +=
        fmt::format(R"(,"model.layers.{}.mlp.up_proj.{}.weight":{{"dtype":"BF16","shape":[{},{}],)"
                    R"("data_offsets":[{},{}]}})",
                    i / 10, i, rows, columns, at, end);
    at = end;
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();
  std::string start(8, '\0');
  std::memcpy(start.data(), &length, 8);
  const fs::path path =
      fs::temp_directory_path() / fmt::format("counterbeam-bench-{}.safetensors", ::getpid());
  write_file(path, start + header);
  fs::resize_file(path, 8 + length + static_cast<std::uint64_t>(at));
  return path;
}

void map_and_validate(benchmark::State& state) {
  const fs::path path = sparse_file(state.range(0), std::int64_t{1} << 30);
  for (auto step : state) {
    const SafetensorsFile file(path);
    benchmark::DoNotOptimize(file.tensors().data());
  }
  state.counters["tensors"] = static_cast<double>(state.range(0));
  state.counters["file MB"] = static_cast<double>(fs::file_size(path)) / 1e6;
  fs::remove(path);
}
BENCHMARK(map_and_validate)->Arg(300)->Arg(2000)->Arg(20000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace counterbeam

BENCHMARK_MAIN();
