#include "eval/task_rows.h"

#include <map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/trim.h"
#include "eval/grade_regex.h"

namespace counterbeam {
namespace {

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
    "the following format: '\\boxed{$LETTER}' (without quotes) where LETTER is one of {letters} "
    "(ex. '\\boxed{A}'). Think step by step before answering.\n\n{question}\n\n{choices}";
constexpr std::string_view kLetters = "ABCDEFGHIJ";  // those that answers are read for

using Fill = std::map<std::string, std::string>;

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

Question asked_question(const RowContext& context, std::string_view system, std::string_view user,
                        const Fill& fill) {
  Question question;
  question.system = context.prompts.system.value_or(std::string(system));
  question.text = filled(context.prompts.user.empty() ? user : context.prompts.user, fill);
  return question;
}

Fill all_fields(const DataRow& row) {
  Fill fill;
  for (const DataRow::Field& field : row.fields) fill[field.name] = field.value;
  return fill;
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

// A text or a number, as a text.
std::string text_or_number(const DataRow& row, const char* field) {
  const std::string& value = row.value(field);
  if (row.find(field)->is_text) return required(row, field);
  if (!parse_json(value, row.place).is_number())
    bad_input("{}: field \"{}\" is {}, but a text or a number is needed", row.place, field,
              value.substr(0, 60));
  return value;
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

// The permutation assigns the choices to A, B, C, ...; gold is the letter of choice `right`.
Problem choice_problem(std::string id, Fill fill, const std::vector<std::string>& choices,
                       std::size_t right, std::vector<int> permutation, const RowContext& context) {
  Problem problem;
  problem.id = std::move(id);
  problem.permutation = std::move(permutation);
  std::string line;
  for (std::size_t place = 0; place < choices.size(); ++place) {
    const auto index = static_cast<std::size_t>(problem.permutation[place]);
    line += fmt::format("{}{}) {}", place == 0 ? "" : "  ", kLetters[place], choices[index]);
    fill[fmt::format("choice_{}", kLetters[place])] = choices[index];
    if (index == right) problem.gold = std::string(1, kLetters[place]);
  }
  fill["choices"] = line;
  fill["letters"] = std::string(kLetters.substr(0, choices.size()));
  problem.question = asked_question(context, kChoiceSystem, kChoiceUser, fill);
  return problem;
}

std::vector<std::string> listed_choices(const DataRow& row) {
  const std::string& text = row.value("choices");
  const Json list = row.find("choices")->is_text ? Json(text) : parse_json(text, row.place);
  if (!list.is_array()) bad_input("{}: field \"choices\" must be a list of texts", row.place);
  if (list.size() < 2 || list.size() > kLetters.size())
    bad_input("{}: field \"choices\" has {} choices; 2 to {} are allowed", row.place, list.size(),
              kLetters.size());
  std::vector<std::string> choices;
  for (const Json& choice : list) {
    if (!choice.is_string() || trim(choice.get<std::string>()).empty())
      bad_input("{}: field \"choices\" must hold texts that are not empty", row.place);
    choices.push_back(choice.get<std::string>());
  }
  return choices;
}

// The answer as an index from 0, or as a letter.
std::size_t right_choice(const DataRow& row, std::size_t count) {
  const std::string& answer = row.value("answer");
  std::size_t index = count;
  if (answer.size() == 1)
    index = row.find("answer")->is_text ? kLetters.find(answer[0])
                                        : static_cast<std::size_t>(answer[0] - '0');
  if (index >= count)
    bad_input("{}: field \"answer\" is {}; allowed: 0 to {}, or \"A\" to \"{}\"", row.place,
              answer.substr(0, 60), count - 1, kLetters[count - 1]);
  return index;
}

Problem read_own_choice(const DataRow& row, std::size_t index, const RowContext& context) {
  const std::vector<std::string> choices = listed_choices(row);
  const std::size_t right = right_choice(row, choices.size());
  std::vector<int> order;
  for (std::size_t i = 0; i < choices.size(); ++i) order.push_back(static_cast<int>(i));
  required(row, "question");
  return choice_problem(identity(row, {"id"}, index), all_fields(row), choices, right, order,
                        context);
}

Problem read_own_math(const DataRow& row, std::size_t index, const RowContext& context) {
  Problem problem;
  problem.id = identity(row, {"id"}, index);
  required(row, "question");
  problem.question = asked_question(context, kMathSystem, "{question}", all_fields(row));
  problem.gold = text_or_number(row, "answer");
  return problem;
}

Problem read_own_code(const DataRow& row, std::size_t index, const RowContext& context) {
  Problem problem;
  problem.id = identity(row, {"id", "task_id"}, index);
  problem.code = {required(row, "prompt"), required(row, "test"), required(row, "entry_point")};
  problem.question = asked_question(context, kCodeSystem, kCodeUser, all_fields(row));
  return problem;
}

Problem read_own_exact(const DataRow& row, std::size_t index, const RowContext& context) {
  Problem problem;
  problem.id = identity(row, {"id"}, index);
  required(row, "question");
  problem.question = asked_question(context, "", "{question}", all_fields(row));
  problem.gold = text_or_number(row, "answer");
  return problem;
}

Problem read_own_regex(const DataRow& row, std::size_t index, const RowContext& context) {
  Problem problem = read_own_exact(row, index, context);
  problem.gold = required(row, "answer");
  check_pattern(problem.gold, fmt::format("{}: field \"answer\"", row.place));
  return problem;
}

}  // namespace

Problem read_math(const DataRow& row, std::size_t index, const RowContext& context) {
  Problem problem;
  problem.id = identity(row, {"unique_id", "id"}, index);
  problem.question =
      asked_question(context, kMathSystem, "{problem}", {{"problem", required(row, "problem")}});
  problem.gold = required(row, "answer");
  return problem;
}

Problem read_gsm8k(const DataRow& row, std::size_t index, const RowContext& context) {
  Problem problem;
  problem.id = identity(row, {"id"}, index);
  const std::string question = required(row, "question");
  problem.question = asked_question(context, kMathSystem, "{problem}",
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

Problem read_code(const DataRow& row, std::size_t, const RowContext& context) {
  Problem problem;
  problem.id = required(row, "task_id");
  problem.code = {required(row, "prompt"), required(row, "test"), required(row, "entry_point")};
  problem.question =
      asked_question(context, kCodeSystem, kCodeUser, {{"prompt", problem.code.prompt}});
  return problem;
}

Problem read_gpqa(const DataRow& row, std::size_t index, const RowContext& context) {
  std::vector<std::string> choices;
  for (const char* column :
       {"Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3"})
    choices.push_back(std::string(trim(required(row, column))));
  return choice_problem(identity(row, {"Record ID"}, index),
                        {{"question", std::string(trim(required(row, "Question")))}}, choices, 0,
                        shuffled(context.seed, index), context);
}

// The choices of the tiny task are already in their final order.
Problem read_tiny_choice(const DataRow& row, std::size_t index, const RowContext& context) {
  return read_own_choice(row, index, context);
}

RowReader own_row_reader(Judging judging) {
  switch (judging) {
    case Judging::Math:
      return read_own_math;
    case Judging::Choice:
      return read_own_choice;
    case Judging::Code:
      return read_own_code;
    case Judging::Exact:
      return read_own_exact;
    case Judging::Regex:
      return read_own_regex;
    case Judging::Own:
      break;  // its problems come from no file
  }
  CB_CHECK(false);
}

TaskData read_task(std::string name, Judging judging, const std::filesystem::path& file,
                   RowReader read, std::string_view id_field, const RowContext& context) {
  const bool csv = file.extension() == ".csv" || file.stem().extension() == ".csv";
  const std::vector<DataRow> rows = csv ? read_csv(file) : read_json_lines(file);
  TaskData task;
  task.name = std::move(name);
  task.judging = judging;
  task.file = file;
  task.file_sha256 = sha256(read_file(file));
  std::map<std::string, std::size_t> seen;  // id -> row
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Problem problem = read(rows[i], i, context);
    const auto [first, fresh] = seen.try_emplace(problem.id, i);
    if (!fresh)
      bad_input("{}: field \"{}\": the id \"{}\" occurs twice, first in {}; remove one of the rows",
                rows[i].place, id_field, problem.id, rows[first->second].place);
    task.problems.push_back(std::move(problem));
  }
  return task;
}

}  // namespace counterbeam
