#include "eval/problem_texts.h"

#include <set>

#include "base/file.h"
#include "base/json.h"
#include "eval/data_file.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

fs::path path_in(const fs::path& folder) {
  return folder / "problems.jsonl";
}

void write(const fs::path& out, const std::vector<ProblemText>& problems) {
  std::string content;
  for (const ProblemText& problem : problems) {
    Json row = {{"task", problem.task}, {"id", problem.id}};
    if (!problem.question.empty()) row["question"] = problem.question;
    row["gold"] = problem.gold;
    content += to_line(row) + "\n";
  }
  write_file(path_in(out), content);
}

}  // namespace

void write_problem_texts(const fs::path& out, const std::vector<TaskData>& tasks) {
  std::set<std::string> names;
  for (const TaskData& task : tasks) names.insert(task.name);
  std::vector<ProblemText> problems = read_problem_texts(out);
  std::erase_if(problems, [&](const ProblemText& p) { return names.contains(p.task); });
  for (const TaskData& task : tasks)
    for (const Problem& problem : task.problems)
      problems.push_back({task.name, problem.id, task.withheld ? "" : problem.question.text,
                          task.judging == Judging::Code ? problem.code.test : problem.gold});
  write(out, problems);
}

std::vector<ProblemText> read_problem_texts(const fs::path& out) {
  std::vector<ProblemText> problems;
  if (!fs::exists(path_in(out))) return problems;
  for (const DataRow& row : read_json_lines(path_in(out))) {
    const DataRow::Field* question = row.find("question");
    problems.push_back(
        {row.text("task"), row.text("id"), question ? row.text("question") : "", row.text("gold")});
  }
  return problems;
}

void merge_problem_texts(const std::vector<fs::path>& shards, const fs::path& out) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<ProblemText> problems;
  for (const fs::path& shard : shards)
    for (ProblemText& problem : read_problem_texts(shard))
      if (seen.emplace(problem.task, problem.id).second) problems.push_back(std::move(problem));
  if (!problems.empty()) write(out, problems);
}

}  // namespace counterbeam
