// Reads any bytes as the report of the test's interpreter: a pass only for the exact word, and the
// same for the same bytes.
#include "eval/judge_report.h"

#include <cstdint>

#include "base/error.h"

using namespace counterbeam;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const JudgeReport report = read_report(text);
  const bool says_pass = text == "pass" || text.starts_with("pass\n");
  const bool verdict = report.kind == JudgeReport::Kind::Verdict;
  CB_CHECK((verdict && report.verdict.state == CodeState::Pass) == says_pass);
  CB_CHECK(report.verdict.detail.size() <= text.size() + 64);
  const JudgeReport again = read_report(text);
  CB_CHECK(again.kind == report.kind && again.verdict.state == report.verdict.state);
  return 0;
}
