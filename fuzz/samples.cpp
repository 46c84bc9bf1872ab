// Reads any bytes as a samples.jsonl. A file that is read must give the same samples again after it
// was written, and one cut anywhere in its last line must give all samples but that one.
#include "eval/samples.h"

#include <cstdint>

#include "base/error.h"
#include "scratch_file.h"

using namespace counterbeam;

namespace {

void read(std::string_view content) {
  static const ScratchFolder kFolder;
  const auto path = kFolder.write("samples.jsonl", content);
  const std::vector<Sample> samples = read_samples(path);
  std::string lines;
  for (const Sample& sample : samples) lines += to_line(sample) + "\n";
  const std::vector<Sample> again = read_samples(kFolder.write("samples.jsonl", lines));
  CB_CHECK(again.size() == samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i)
    CB_CHECK(to_line(again[i]) == to_line(samples[i]));
  if (lines.empty()) return;
  const std::size_t last = lines.rfind('\n', lines.size() - 2) + 1;
  const std::size_t cut = last + content.size() % (lines.size() - last);
  kFolder.write("samples.jsonl", std::string_view(lines).substr(0, cut));
  SampleFile(path).append(samples.back());
  CB_CHECK(read_samples(path).size() == samples.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    read({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
  }
  return 0;
}
