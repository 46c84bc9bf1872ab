#include "eval/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/error.h"

namespace counterbeam {
namespace {

constexpr int kMostBestOf = 64;

// A question's samples by one method.
struct QuestionSamples {
  std::vector<const Sample*> samples;
  double weight = 1;  // of the question in paired tests
};

// The samples of one method on one task, by question.
struct Group {
  std::map<std::string, QuestionSamples> questions;
  int failed = 0;
};

// Names in order of first appearance.
template <typename Value>
struct Ordered {
  std::vector<std::string> names;
  std::map<std::string, Value> values;

  Value& operator[](const std::string& name) {
    const auto [place, fresh] = values.try_emplace(name);
    if (fresh) names.push_back(name);
    return place->second;
  }
};

std::vector<QuestionTally> tallies(const Group& group, bool Sample::*verdict) {
  std::vector<QuestionTally> tallies;
  for (const auto& [id, question] : group.questions) {
    QuestionTally& tally = tallies.emplace_back();
    for (const Sample* sample : question.samples) tally.correct += sample->*verdict;
    tally.samples = static_cast<int>(question.samples.size());
    tally.weight = question.weight;
  }
  return tallies;
}

MethodSummary summarise_method(const std::string& method, const Group& group) {
  MethodSummary summary;
  summary.method = method;
  const std::vector<QuestionTally> correct = tallies(group, &Sample::correct);
  summary.questions = static_cast<int>(correct.size());
  summary.accuracy = accuracy(correct);
  summary.strict = accuracy(tallies(group, &Sample::correct_strict));
  for (int k = 1; const auto value = pass_at_k(correct, k); ++k) summary.pass_at.push_back(*value);
  summary.errors = group.failed;
  bool measured = true;
  double seconds = 0;
  std::vector<std::vector<ScoredSample>> scored;
  for (const auto& [id, question] : group.questions) {
    scored.emplace_back();
    for (const Sample* sample : question.samples) {
      ++summary.samples;
      scored.back().push_back({sample->score, sample->correct});
      summary.truncated += sample->truncated;
      summary.unparsed += sample->extracted.empty();
      summary.answer_tokens += static_cast<double>(sample->answer_tokens);
      summary.generated_tokens += static_cast<double>(sample->generated_tokens);
      summary.scored_tokens += static_cast<double>(sample->scored_tokens);
      summary.cached_tokens += static_cast<double>(sample->cached_tokens);
      seconds += sample->seconds;
      measured = measured && sample->alone;
    }
  }
  for (double* mean : {&summary.truncated, &summary.unparsed, &summary.answer_tokens,
                       &summary.generated_tokens, &summary.scored_tokens, &summary.cached_tokens})
    *mean /= summary.samples;
  if (measured) summary.seconds = seconds / summary.samples;
  for (int k = 1; k <= kMostBestOf; ++k)
    if (const auto value = best_of_k(scored, k)) summary.best_of.push_back(*value);
  return summary;
}

// Every task counts the same: a question weighs one over the questions of its task that both have.
void weigh_tasks_equally(Group& group) {
  std::map<std::string_view, int> counts;
  const auto task_of = [](const QuestionSamples& question) -> std::string_view {
    return question.samples.front()->task;
  };
  for (const auto& [id, question] : group.questions) ++counts[task_of(question)];
  for (auto& [id, question] : group.questions) question.weight = 1.0 / counts[task_of(question)];
}

MethodPair compare(const std::string& a, const Group& left, const std::string& b,
                   const Group& right) {
  Group common_left, common_right;
  for (const auto& [id, question] : left.questions) {
    const auto other = right.questions.find(id);
    if (other == right.questions.end()) continue;
    common_left.questions[id] = question;
    common_right.questions[id] = other->second;
  }
  weigh_tasks_equally(common_left);
  weigh_tasks_equally(common_right);
  MethodPair pair{a, b, {}, static_cast<int>(common_left.questions.size())};
  if (pair.questions > 0)
    pair.test = paired_test(tallies(common_left, &Sample::correct),
                            tallies(common_right, &Sample::correct));
  return pair;
}

std::vector<EqualCompute> at_equal_compute(const std::vector<MethodSummary>& methods) {
  std::vector<CostPoint> points;
  for (const MethodSummary& method : methods) {
    const double tokens = method.generated_tokens + method.scored_tokens;
    points.push_back({method.method, method.method, tokens, method.accuracy.mean});
    for (std::size_t k = 2; k <= method.best_of.size(); ++k)
      points.push_back({fmt::format("{}, best of {}", method.method, k), method.method,
                        tokens * static_cast<double>(k), method.best_of[k - 1]});
  }
  return equal_compute(points);
}

TaskSummary summarise_task(const std::string& task, Ordered<Group>& methods) {
  TaskSummary summary{task, {}, {}, {}};
  for (const std::string& method : methods.names)
    summary.methods.push_back(summarise_method(method, methods[method]));
  for (std::size_t i = 0; i < methods.names.size(); ++i)
    for (std::size_t j = i + 1; j < methods.names.size(); ++j)
      summary.pairs.push_back(compare(methods.names[i], methods[methods.names[i]], methods.names[j],
                                      methods[methods.names[j]]));
  summary.equal = at_equal_compute(summary.methods);
  return summary;
}

// The mean of independent task means, with its interval by error propagation.
Interval mean_of(const std::vector<Interval>& parts) {
  const auto n = static_cast<double>(parts.size());
  double mean = 0, below = 0, above = 0;
  for (const Interval& part : parts) {
    mean += part.mean / n;
    below += std::pow((part.mean - part.low) / n, 2);
    above += std::pow((part.high - part.mean) / n, 2);
  }
  return {mean, mean - std::sqrt(below), mean + std::sqrt(above)};
}

// The element-wise mean, as long as the shortest.
std::vector<double> mean_of(const std::vector<const std::vector<double>*>& lists) {
  std::vector<double> means = *lists.front();
  for (const auto* list : lists) means.resize(std::min(means.size(), list->size()));
  for (std::size_t k = 0; k < means.size(); ++k) {
    means[k] = 0;
    for (const auto* list : lists) means[k] += (*list)[k] / static_cast<double>(lists.size());
  }
  return means;
}

// A method over tasks: every figure is the mean of the tasks' figures, counts are sums.
MethodSummary average_method(const std::vector<const MethodSummary*>& tasks) {
  MethodSummary average;
  average.method = tasks.front()->method;
  std::vector<Interval> accuracies, stricts;
  std::vector<const std::vector<double>*> best_of;
  bool measured = true;
  double seconds = 0;
  for (const MethodSummary* task : tasks) {
    accuracies.push_back(task->accuracy);
    stricts.push_back(task->strict);
    best_of.push_back(&task->best_of);
    average.questions += task->questions;
    average.samples += task->samples;
    average.errors += task->errors;
    for (double MethodSummary::*figure :
         {&MethodSummary::truncated, &MethodSummary::unparsed, &MethodSummary::answer_tokens,
          &MethodSummary::generated_tokens, &MethodSummary::scored_tokens,
          &MethodSummary::cached_tokens})
      average.*figure += task->*figure / static_cast<double>(tasks.size());
    seconds += task->seconds.value_or(0) / static_cast<double>(tasks.size());
    measured = measured && task->seconds;
  }
  if (measured) average.seconds = seconds;
  average.accuracy = mean_of(accuracies);
  average.strict = mean_of(stricts);
  for (std::size_t k = 0;; ++k) {
    std::vector<Interval> parts;
    for (const MethodSummary* task : tasks)
      if (k < task->pass_at.size()) parts.push_back(task->pass_at[k]);
    if (parts.size() < tasks.size()) break;
    average.pass_at.push_back(mean_of(parts));
  }
  average.best_of = mean_of(best_of);
  return average;
}

// The methods that every task has, over all tasks, each task counting the same. Questions of two
// tasks differ even if their ids are equal.
TaskSummary average_of(const std::vector<TaskSummary>& tasks, Ordered<Ordered<Group>>& groups) {
  TaskSummary average{"average", {}, {}, {}};
  if (tasks.size() < 2) return average;
  Ordered<Group> joint;
  for (const MethodSummary& first : tasks[0].methods) {
    std::vector<const MethodSummary*> parts;
    Group all;
    for (const TaskSummary& task : tasks) {
      const auto found =
          std::find_if(task.methods.begin(), task.methods.end(),
                       [&](const MethodSummary& m) { return m.method == first.method; });
      if (found == task.methods.end()) continue;
      parts.push_back(&*found);
      const auto& questions = groups[task.task][first.method].questions;
      for (const auto& [id, question] : questions) all.questions[task.task + "/" + id] = question;
    }
    if (parts.size() != tasks.size()) continue;
    average.methods.push_back(average_method(parts));
    joint[first.method] = std::move(all);
  }
  for (std::size_t i = 0; i < joint.names.size(); ++i)
    for (std::size_t j = i + 1; j < joint.names.size(); ++j)
      average.pairs.push_back(
          compare(joint.names[i], joint[joint.names[i]], joint.names[j], joint[joint.names[j]]));
  average.equal = at_equal_compute(average.methods);
  return average;
}

// A cause without its numbers: "the prompt has # tokens".
std::string without_numbers(const std::string& cause) {
  std::string kind;
  for (const char c : cause) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      kind += c;
    else if (kind.empty() || kind.back() != '#')
      kind += '#';
  }
  return kind;
}

}  // namespace

void add_failure(std::vector<Failure>& failures, Failure failure) {
  const auto same = std::find_if(failures.begin(), failures.end(), [&](const Failure& other) {
    return other.task == failure.task && other.method == failure.method &&
           without_numbers(other.cause) == without_numbers(failure.cause);
  });
  if (same == failures.end())
    failures.push_back(std::move(failure));
  else
    same->samples += failure.samples;
}

int failed_samples(std::span<const Failure> failures) {
  int count = 0;
  for (const Failure& failure : failures) count += failure.samples;
  return count;
}

EvalSummary summarise(const std::vector<Sample>& samples) {
  if (samples.empty()) bad_input("there are no samples to summarise");
  Ordered<Ordered<Group>> groups;
  EvalSummary summary;
  for (const Sample& sample : samples) {
    Group& group = groups[sample.task][sample.method];
    if (!sample.error.empty()) {
      ++group.failed;
      add_failure(summary.failures, {sample.task, sample.method, sample.error, sample.id, 1});
      continue;
    }
    group.questions[sample.id].samples.push_back(&sample);
    if (sample.correct != sample.correct_strict) summary.disagreements.push_back(sample);
  }
  for (const std::string& task : groups.names) {
    std::erase_if(groups[task].names, [&](const std::string& method) {
      return groups[task].values[method].questions.empty();
    });
    if (!groups[task].names.empty()) summary.tasks.push_back(summarise_task(task, groups[task]));
  }
  summary.average = average_of(summary.tasks, groups);
  return summary;
}

std::string to_table(const EvalSummary& summary) {
  std::vector<const TaskSummary*> columns;
  for (const TaskSummary& task : summary.tasks) columns.push_back(&task);
  if (!summary.average.methods.empty()) columns.push_back(&summary.average);
  Ordered<std::map<std::string, const MethodSummary*>> rows;
  std::size_t width = 6;
  for (const TaskSummary* task : columns)
    for (const MethodSummary& method : task->methods) {
      rows[method.method][task->task] = &method;
      width = std::max(width, method.method.size());
    }
  std::string table = fmt::format("{:<{}}", "method", width);
  for (const TaskSummary* task : columns) table += fmt::format("  {:>19}", task->task);
  const bool measured = std::all_of(columns.begin(), columns.end(), [](const TaskSummary* task) {
    return std::all_of(task->methods.begin(), task->methods.end(),
                       [](const MethodSummary& method) { return method.seconds.has_value(); });
  });
  table += fmt::format("  {:>13}{}\n", "tokens/answer", measured ? "   s/answer" : "");
  for (const std::string& name : rows.names) {
    table += fmt::format("{:<{}}", name, width);
    const MethodSummary* last = nullptr;  // of the average if there is one
    for (const TaskSummary* task : columns) {
      const auto cell = rows[name].find(task->task);
      if (cell == rows[name].end()) {
        table += fmt::format("  {:>19}", "-");
        continue;
      }
      last = cell->second;
      const Interval& interval = last->accuracy;
      table += fmt::format("  {:.3f} [{:.3f},{:.3f}]", interval.mean, interval.low, interval.high);
    }
    table += fmt::format("  {:>13.0f}", last->generated_tokens + last->scored_tokens);
    if (measured) table += fmt::format("  {:>9.2f}", *last->seconds);
    table += '\n';
  }
  for (const Failure& failure : summary.failures)
    table +=
        fmt::format("{}, {}: {} sample{} failed and {} not graded: {} (problem {})\n", failure.task,
                    failure.method, failure.samples, failure.samples == 1 ? "" : "s",
                    failure.samples == 1 ? "is" : "are", failure.cause, failure.id);
  return table;
}

}  // namespace counterbeam
