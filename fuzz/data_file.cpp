// Reads any bytes as a data file, plain or gzip: as JSON Lines and CSV, and as problems of every
// grader. Rows have distinct fields; problems have distinct ids.
#include "eval/data_file.h"

#include <cstdint>
#include <set>

#include "attempt.h"
#include "eval/own_tasks.h"
#include "scratch_file.h"

using namespace counterbeam;

namespace {

void check_rows(const std::vector<DataRow>& rows) {
  CB_CHECK(!rows.empty());
  for (const DataRow& row : rows) {
    std::set<std::string> names;
    for (const DataRow::Field& field : row.fields) CB_CHECK(names.insert(field.name).second);
  }
}

void check_problems(const std::filesystem::path& path, std::string_view grader) {
  TaskOptions options;
  options.grader = grader;
  for (const TaskData& task : load_own_tasks(path, options)) {
    std::set<std::string> ids;
    for (const Problem& problem : task.problems) CB_CHECK(ids.insert(problem.id).second);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const ScratchFolder kFolder;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto path = kFolder.write(data[0] % 2 ? "mine.csv" : "mine.jsonl", content);
  attempt([&] { check_rows(data[0] % 2 ? read_csv(path) : read_json_lines(path)); });
  for (const std::string_view grader : grader_names())
    attempt([&] { check_problems(path, grader); });
  return 0;
}
