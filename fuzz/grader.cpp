// Grades any two texts, split at the first zero byte, as reference and answer: by both verdicts, as
// mathematics, as a choice and as code, without a crash and within the time limit. A verdict must
// be reproducible, and a non-empty answer must equal itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "grade/extract.h"
#include "grade/grade.h"

using namespace counterbeam;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\0');
  const std::string_view gold = text.substr(0, cut);
  const std::string_view pred = cut == text.npos ? gold : text.substr(cut + 1);
  const Verdict first = grade_math(gold, pred), second = grade_math(gold, pred);
  CB_CHECK(first.equal == second.equal && first.strict == second.strict);
  CB_CHECK(!first.equal || !first.extracted.empty());
  grade_choice(gold, pred);
  extract_code(pred, gold, "f");
  return 0;
}
