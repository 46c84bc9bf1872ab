// Merges two shards whose samples and run.json are any bytes, separated by zero bytes: refused, or
// merged into as many samples as the two hold together, of which none occurs twice.
#include "eval/merge.h"

#include <cstdint>
#include <set>

#include "eval/samples.h"
#include "scratch_file.h"

using namespace counterbeam;

namespace {

void merge(std::string_view input, bool partial) {
  static const ScratchFolder kFirst, kSecond, kOut;
  for (const ScratchFolder* shard : {&kFirst, &kSecond}) {
    shard->write("samples.jsonl", next_part(input));
    shard->write("run.json", next_part(input));
  }
  std::filesystem::remove(kOut.path() / "samples.jsonl");  // merge_runs would refuse to replace it
  merge_runs({kFirst.path(), kSecond.path()}, kOut.path(), partial);
  const auto merged = read_samples(kOut.path() / "samples.jsonl");
  std::set<SampleKey> keys;
  for (const Sample& sample : merged) CB_CHECK(keys.insert(key_of(sample)).second);
  CB_CHECK(merged.size() == read_samples(kFirst.path() / "samples.jsonl").size() +
                                read_samples(kSecond.path() / "samples.jsonl").size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    merge({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0] % 2 == 1);
  } catch (const Error&) {
  }
  return 0;
}
