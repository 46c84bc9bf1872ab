// counterbeam grade: judges answers against references, one pair or a line of JSON each.
#include "grade/grade.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/line_filter.h"
#include "eval/code_judge.h"
#include "eval/grade_regex.h"
#include "eval/own_tasks.h"
#include "grade/extract.h"

namespace counterbeam::cli {
namespace {

struct GradeOptions {
  std::string task;
  std::string extract = "strict";
  std::optional<std::string> gold, pred;
  bool jsonl = false;
};

// A string field; some may be null, as a prediction where a model gave nothing.
std::string field(const Json& row, const std::string& line, const char* name, bool may_be_null) {
  const auto found = row.find(name);
  if (found == row.end()) bad_input("{}: field \"{}\" is missing; give it as a string", line, name);
  if (found->is_null() && may_be_null) return "";
  if (!found->is_string())
    bad_input("{}: field \"{}\" is {}; give it as a string", line, name,
              printable(to_line(*found)));
  return found->get<std::string>();
}

Json extracted(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

class Grader {
 public:
  explicit Grader(const GradeOptions& options)
      : task_(grader_named(options.task)), extraction_(extraction_named(options.extract)) {}

  Json grade(const Json& row, const std::string& line) {
    if (!row.is_object())
      bad_input("{}: expected an object, found {}", line, printable(to_line(row)));
    if (task_ == Judging::Code) return code(row, line);
    const std::string gold = field(row, line, "gold", false);
    if (task_ == Judging::Regex) check_pattern(gold, fmt::format("{}: field \"gold\"", line));
    return pair(gold, field(row, line, "pred", true));
  }

  Json pair(const std::string& gold, const std::string& pred) const {
    const Verdict verdict = task_ == Judging::Choice  ? grade_choice(gold, pred, extraction_)
                            : task_ == Judging::Exact ? grade_exact(gold, pred, extraction_)
                            : task_ == Judging::Regex ? grade_regex(gold, pred, extraction_)
                                                      : grade_math(gold, pred, extraction_);
    return {{"equal", verdict.equal},
            {"extracted", extracted(verdict.extracted)},
            {"strict", verdict.strict}};
  }

 private:
  Json code(const Json& row, const std::string& line) {
    const CodeProblem problem{field(row, line, "prompt", true), field(row, line, "test", true),
                              field(row, line, "entry_point", true)};
    const std::string program = extract_code(field(row, line, "pred", true), problem.prompt,
                                             problem.entry_point, extraction_);
    if (problem.test.empty() || problem.entry_point.empty())
      return {{"equal", nullptr}, {"extracted", extracted(program)}, {"state", nullptr}};
    make_judge();
    const CodeVerdict verdict = judged(problem, program, line);
    return {{"equal", verdict.state == CodeState::Pass},
            {"extracted", extracted(program)},
            {"state", to_string(verdict.state)},
            {"detail", verdict.detail}};
  }

  // Not std::call_once: an exception on its way through it needs memory.
  void make_judge() {
    const std::lock_guard lock(judge_making_);
    if (!judge_) judge_.emplace();
  }

  CodeVerdict judged(const CodeProblem& problem, const std::string& program,
                     const std::string& line) const {
    try {
      return judge_->judge(problem, program);
    } catch (const Error& error) {
      throw_error(error.kind(), fmt::format("{}: {}", line, error.what()));
    }
  }

  Judging task_;
  Extraction extraction_;
  std::mutex judge_making_;
  std::optional<CodeJudge> judge_;  // made when the first program comes
};

void run_grade(const GradeOptions& options, const Globals& globals) {
  const bool given = options.gold && options.pred;
  if (options.jsonl == given || (!given && options.gold))
    bad_input("grade: give a reference and an answer, or --jsonl, one of the two");
  Grader grader(options);
  // A program waits more than it computes; the other tasks are done before a thread would start.
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int threads = globals.threads > 0 ? globals.threads : cores;
  if (options.jsonl)
    return filter_lines(options.task == "code" ? threads : 1,
                        [&](const std::string& line, const std::string& name) {
                          return to_line(grader.grade(parse_json(line, name), name));
                        });
  if (options.task == "code") bad_input("grade: code is judged from lines; give --jsonl");
  const Json verdict = grader.pair(*options.gold, *options.pred);
  if (globals.json) return print_result("{}\n", to_line(verdict));
  print_result(
      "{}; strict: {}; the answer read: {}\n", verdict["equal"].get<bool>() ? "equal" : "not equal",
      verdict["strict"].get<bool>() ? "equal" : "not equal",
      verdict["extracted"].is_null() ? "none found" : verdict["extracted"].get<std::string>());
}

}  // namespace

Command grade_command(const Globals& globals) {
  const auto options = std::make_shared<GradeOptions>();
  return {
      .name = "grade",
      .summary = "Judge answers against references, without a model",
      .description =
          "An answer may be bare (\"\\frac12\") or a whole completion; the answer in it is found "
          "first. \"equal\" compares by value, \"strict\" as prm800k's grader does. "
          "docs/grading.md "
          "says what counts as equal.",
      .arguments = {{.name = "GOLD", .value = text(options->gold), .help = "The reference answer"},
                    {.name = "PRED", .value = text(options->pred), .help = "The answer to judge"}},
      .options = {{.name = "--task",
                   .value = one_of(options->task, {"math", "choice", "code", "exact", "regex"}),
                   .help = "What the answers are; exact: the same text, regex: the reference is a "
                           "pattern that must match",
                   .required = true},
                  {.name = "--extract",
                   .value = one_of(options->extract, {"strict", "lenient"}),
                   .help = "Whether an answer is looked for in a <think> block that is never "
                           "closed: strict does not, lenient does"},
                  {.name = "--jsonl",
                   .value = flag(options->jsonl),
                   .help =
                       "Read lines {\"gold\", \"pred\"} from standard input, print {\"equal\", "
                       "\"extracted\", \"strict\"}; for code read {\"prompt\", \"test\", "
                       "\"entry_point\", \"pred\"}, print {\"equal\", \"extracted\", "
                       "\"state\", \"detail\"} (a null test or entry_point: extraction alone)"}},
      .examples = {"counterbeam grade --task math '\\frac{1}{2}' 'So it is $\\boxed{0.5}$.'",
                   "counterbeam grade --task math --jsonl < pairs.jsonl > verdicts.jsonl"},
      .run = [options, &globals] { run_grade(*options, globals); }};
}

}  // namespace counterbeam::cli
