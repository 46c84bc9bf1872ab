// summary.json; its fields are described in docs/evaluation.md.
#include "base/json.h"
#include "eval/summary.h"

namespace counterbeam {
namespace {

Json to_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

Json column(const std::vector<Interval>& intervals, double Interval::*part) {
  Json values = Json::array();
  for (const Interval& interval : intervals) values.push_back(interval.*part);
  return values;
}

Json to_json(const MethodSummary& method) {
  Json json = {{"method", method.method},
               {"questions", method.questions},
               {"samples", method.samples},
               {"accuracy", to_json(method.accuracy)},
               {"accuracy_strict", to_json(method.strict)},
               {"pass_at", column(method.pass_at, &Interval::mean)},
               {"pass_at_low", column(method.pass_at, &Interval::low)},
               {"pass_at_high", column(method.pass_at, &Interval::high)},
               {"best_of", method.best_of},
               {"truncated", method.truncated},
               {"unparsed", method.unparsed},
               {"errors", method.errors},
               {"answer_tokens", method.answer_tokens},
               {"generated_tokens", method.generated_tokens},
               {"scored_tokens", method.scored_tokens},
               {"cached_tokens", method.cached_tokens}};
  if (method.seconds) json["seconds"] = *method.seconds;
  return json;
}

Json to_json(const EqualCompute& row) {
  Json json = {{"method", row.method}, {"tokens", row.tokens}, {"accuracy", row.accuracy}};
  if (!row.has_rival) return json;
  json["others"] = row.rival;
  json["mix"] = Json::array({{{"method", row.cheaper}, {"share", 1 - row.costlier_share}}});
  if (!row.costlier.empty())
    json["mix"].push_back({{"method", row.costlier}, {"share", row.costlier_share}});
  return json;
}

Json to_json(const TaskSummary& task) {
  Json equal = Json::array();
  for (const EqualCompute& row : task.equal) equal.push_back(to_json(row));
  Json methods = Json::array(), pairs = Json::array();
  for (const MethodSummary& method : task.methods) methods.push_back(to_json(method));
  for (const MethodPair& pair : task.pairs)
    pairs.push_back({{"a", pair.a},
                     {"b", pair.b},
                     {"difference", pair.test.difference},
                     {"p", pair.test.p_value},
                     {"test", pair.test.exact ? "McNemar exact" : "sign-flip permutation"},
                     {"questions", pair.questions}});
  return {{"task", task.task},
          {"methods", std::move(methods)},
          {"pairs", std::move(pairs)},
          {"equal_compute", std::move(equal)}};
}

}  // namespace

Json to_json(const EvalSummary& summary) {
  Json tasks = Json::array(), disagreements = Json::array();
  for (const TaskSummary& task : summary.tasks) tasks.push_back(to_json(task));
  for (const Sample& sample : summary.disagreements)
    disagreements.push_back({{"task", sample.task},
                             {"id", sample.id},
                             {"method", sample.method},
                             {"sample", sample.sample},
                             {"extracted", sample.extracted},
                             {"correct", sample.correct},
                             {"correct_strict", sample.correct_strict}});
  Json json = {{"tasks", std::move(tasks)}};
  if (!summary.average.methods.empty()) json["average"] = to_json(summary.average);
  json["failures"] = Json::array();
  for (const Failure& failure : summary.failures)
    json["failures"].push_back({{"task", failure.task},
                                {"method", failure.method},
                                {"cause", failure.cause},
                                {"id", failure.id},
                                {"samples", failure.samples}});
  json["grader_disagreements"] = std::move(disagreements);
  return json;
}

}  // namespace counterbeam
