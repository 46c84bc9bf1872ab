#include "eval/tasks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/closest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/trim.h"
#include "eval/data_file.h"
#include "model/hub.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMathSystem =
    "You are a helpful AI Assistant that provides well-reasoned and detailed responses. You first "
    "think about the reasoning process as an internal monologue and then provide the user with the "
    "boxed answer. Respond in the following format: <think> ... </think> <answer> \\boxed{...} "
    "</answer>.";
constexpr std::string_view kCodeSystem =
    "Please reason step by step internally. Then output ONLY the final Python code that completes "
    "the task within triple backticks. Do not include explanations, markdown, or \\boxed{}.";
constexpr std::string_view kCodeUser = "Complete the following Python function:\n{prompt}";
constexpr std::string_view kChoiceSystem =
    "You are a helpful AI Assistant. Please reason step by step, and put your final answer within "
    "\\boxed{}.";
constexpr std::string_view kChoiceUser =
    "Answer the following multiple choice question. The last line of your response should be of "
    "the following format: '\\boxed{$LETTER}' (without quotes) where LETTER is one of ABCD (ex. "
    "'\\boxed{A}'). Think step by step before answering.\n\n{question}\n\n{choices}";

using Fill = std::map<std::string, std::string>;

struct Context {
  std::uint64_t seed = 0;
  TaskPrompts prompts;
};

struct TaskKind {
  std::string_view name;
  Judging judging;
  std::string_view file;    // its public name; for a shipped task, under tasks/
  std::string_view source;  // where to download it; empty for a shipped task
  std::string_view id_field;
  Problem (*read)(const DataRow& row, std::size_t index, const Context& context);
  bool withheld = false;
};

// Replaces {name} by its value and keeps other braces.
std::string filled(std::string_view pattern, const Fill& fill) {
  std::string text;
  while (!pattern.empty()) {
    const auto open = pattern.find('{');
    text += pattern.substr(0, open);
    if (open == pattern.npos) break;
    pattern.remove_prefix(open);
    const auto close = pattern.find('}');
    const auto found =
        close == pattern.npos ? fill.end() : fill.find(std::string(pattern.substr(1, close - 1)));
    if (found == fill.end()) {
      text += '{';
      pattern.remove_prefix(1);
    } else {
      text += found->second;
      pattern.remove_prefix(close + 1);
    }
  }
  return text;
}

Question question_of(const Context& context, std::string_view system, std::string_view user,
                     const Fill& fill) {
  Question question;
  question.system = context.prompts.system.value_or(std::string(system));
  question.text = filled(context.prompts.user.empty() ? user : context.prompts.user, fill);
  return question;
}

std::string identity(const DataRow& row, std::initializer_list<const char*> fields,
                     std::size_t index) {
  for (const char* field : fields)
    if (const DataRow::Field* found = row.find(field)) {
      const std::string& value = found->value;
      const bool number = value.find_first_not_of("0123456789") == value.npos;
      if (trim(value).empty() || (!found->is_text && !number))
        bad_input("{}: field \"{}\" is {}; give it as a text, or leave it out of every row",
                  row.place, field, value.empty() ? "empty" : value.substr(0, 60));
      return value;
    }
  return std::to_string(index);
}

std::string required(const DataRow& row, const char* field) {
  const std::string& value = row.text(field);
  if (trim(value).empty())
    bad_input("{}: field \"{}\" is empty; fill it in, or remove the row", row.place, field);
  return value;
}

Problem read_math(const DataRow& row, std::size_t index, const Context& context) {
  Problem problem;
  problem.id = identity(row, {"unique_id", "id"}, index);
  problem.question =
      question_of(context, kMathSystem, "{problem}", {{"problem", required(row, "problem")}});
  problem.gold = required(row, "answer");
  return problem;
}

Problem read_gsm8k(const DataRow& row, std::size_t index, const Context& context) {
  Problem problem;
  problem.id = identity(row, {"id"}, index);
  const std::string question = required(row, "question");
  problem.question = question_of(context, kMathSystem, "{problem}",
                                 {{"problem", question}, {"question", question}});
  const std::string answer = required(row, "answer");
  const auto mark = answer.rfind("####");
  if (mark == answer.npos)
    bad_input("{}: field \"answer\" has no \"#### N\" at its end; add it", row.place);
  problem.gold = trim(answer.substr(mark + 4));
  std::erase(problem.gold, ',');
  if (problem.gold.empty())
    bad_input("{}: field \"answer\" has nothing after \"####\"; add the number", row.place);
  return problem;
}

Problem read_code(const DataRow& row, std::size_t, const Context& context) {
  Problem problem;
  problem.id = required(row, "task_id");
  problem.code = {required(row, "prompt"), required(row, "test"), required(row, "entry_point")};
  problem.question =
      question_of(context, kCodeSystem, kCodeUser, {{"prompt", problem.code.prompt}});
  return problem;
}

// The permutation assigns the choices to A, B, C, D; gold is the letter of choice `right`.
Problem choice_problem(const DataRow& row, std::string id, const std::string& question,
                       const std::vector<std::string>& choices, int right,
                       std::vector<int> permutation, const Context& context) {
  if (choices.size() != 4)
    bad_input("{}: field \"choices\": four choices are needed, not {}", row.place, choices.size());
  Problem problem;
  problem.id = std::move(id);
  problem.permutation = std::move(permutation);
  std::string line;
  Fill fill = {{"question", question}};
  for (std::size_t place = 0; place < 4; ++place) {
    const std::string& choice = choices[static_cast<std::size_t>(problem.permutation[place])];
    const char letter = static_cast<char>('A' + place);
    line += fmt::format("{}{}) {}", place == 0 ? "" : "  ", letter, choice);
    fill[fmt::format("choice_{}", letter)] = choice;
    if (problem.permutation[place] == right) problem.gold = std::string(1, letter);
  }
  fill["choices"] = line;
  problem.question = question_of(context, kChoiceSystem, kChoiceUser, fill);
  return problem;
}

// A Fisher-Yates shuffle keyed by the question.
std::vector<int> shuffled(std::uint64_t seed, std::size_t question) {
  std::vector<int> order = {0, 1, 2, 3};
  for (std::uint32_t i = 3; i > 0; --i)
    std::swap(order[i],
              order[uniform_below(
                  {seed, static_cast<std::uint32_t>(question), 0, 0, i, DrawUse::Choices}, i + 1)]);
  return order;
}

Problem read_gpqa(const DataRow& row, std::size_t index, const Context& context) {
  std::vector<std::string> choices;
  for (const char* column :
       {"Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3"})
    choices.push_back(std::string(trim(required(row, column))));
  return choice_problem(row, identity(row, {"Record ID"}, index),
                        std::string(trim(required(row, "Question"))), choices, 0,
                        shuffled(context.seed, index), context);
}

// The choices of the tiny task are already in their final order.
Problem read_tiny_choice(const DataRow& row, std::size_t index, const Context& context) {
  const std::string& text = row.value("choices");
  const Json list = row.find("choices")->is_text ? Json(text) : parse_json(text, row.place);
  if (!list.is_array()) bad_input("{}: field \"choices\" must be a list of texts", row.place);
  std::vector<std::string> choices;
  for (const Json& choice : list) {
    if (!choice.is_string()) bad_input("{}: field \"choices\" must hold texts", row.place);
    choices.push_back(choice.get<std::string>());
  }
  const std::string& answer = row.value("answer");
  if (answer.size() != 1 || answer[0] < '0' || answer[0] > '3')
    bad_input("{}: field \"answer\" is {}; allowed: 0 to 3", row.place, answer);
  return choice_problem(row, identity(row, {"id"}, index), required(row, "question"), choices,
                        answer[0] - '0', {0, 1, 2, 3}, context);
}

constexpr std::array<TaskKind, 7> kTasks = {{
    {"tiny-math", Judging::Math, "tiny-math.jsonl", "", "unique_id", read_math},
    {"tiny-code", Judging::Code, "tiny-code.jsonl", "", "task_id", read_code},
    {"tiny-choice", Judging::Choice, "tiny-choice.jsonl", "", "id", read_tiny_choice},
    {"math500", Judging::Math, "test.jsonl", "math_splits/test.jsonl of openai/prm800k",
     "unique_id", read_math},
    {"humaneval", Judging::Code, "HumanEval.jsonl.gz",
     "data/HumanEval.jsonl.gz of openai/human-eval", "task_id", read_code},
    {"gpqa", Judging::Choice, "gpqa_diamond.csv",
     "gpqa_diamond.csv of the GPQA authors (they ask that it is not shown in the open)",
     "Record ID", read_gpqa, true},
    {"gsm8k", Judging::Math, "test.jsonl",
     "grade_school_math/data/test.jsonl of openai/grade-school-math", "id", read_gsm8k},
}};

fs::path data_path(const TaskKind& task, const fs::path& data) {
  const bool ships = task.source.empty();
  if (!data.empty() && !fs::is_directory(data)) return data;
  if (!data.empty()) {
    // Two public files are named test.jsonl, so a folder named like the task is tried first.
    for (const fs::path& candidate : {data / task.name / task.file, data / task.file})
      if (fs::exists(candidate)) return candidate;
    if (!ships)
      bad_input("{}: does not contain {}; it is {}", data.string(), task.file, task.source);
  }
  if (ships) return shipped_folder("tasks") / task.file;
  bad_input("task {} needs --data FILE: {}", task.name, task.source);
}

}  // namespace

std::string_view to_string(Judging judging) {
  switch (judging) {
    case Judging::Math:
      return "math";
    case Judging::Choice:
      return "choice";
    case Judging::Code:
      return "code";
  }
  CB_CHECK(false);
}

std::vector<std::string_view> task_names() {
  std::vector<std::string_view> names;
  for (const TaskKind& task : kTasks) names.push_back(task.name);
  return names;
}

TaskData load_task(std::string_view name, const fs::path& data, std::uint64_t seed,
                   const TaskPrompts& prompts) {
  const auto task = std::find_if(kTasks.begin(), kTasks.end(),
                                 [&](const TaskKind& kind) { return kind.name == name; });
  if (task == kTasks.end())
    bad_input("task \"{}\" is not known; known: {}{}", name, fmt::join(task_names(), ", "),
              did_you_mean(name, task_names()));
  const fs::path path = data_path(*task, data);
  const bool csv = path.extension() == ".csv" || path.stem().extension() == ".csv";
  const std::vector<DataRow> rows = csv ? read_csv(path) : read_json_lines(path);
  TaskData loaded{std::string(name), task->judging, {},
                  task->withheld,    path,          sha256(read_file(path))};
  std::map<std::string, std::size_t> seen;  // id -> row
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Problem problem = task->read(rows[i], i, {seed, prompts});
    const auto [first, fresh] = seen.try_emplace(problem.id, i);
    if (!fresh)
      bad_input("{}: field \"{}\": the id \"{}\" occurs twice, first in {}; remove one of the rows",
                rows[i].place, task->id_field, problem.id, rows[first->second].place);
    loaded.problems.push_back(std::move(problem));
  }
  return loaded;
}

}  // namespace counterbeam
