// Evaluations, with graders written in Python.
#include <counterbeam/evaluation.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "calls.h"
#include "module.h"

namespace counterbeam::python {
namespace {

// The grader gets the id of a problem and the answer, and gives (whether it is right, what was
// graded).
struct GivenTask {
  std::string name, grader_name;
  std::vector<OwnProblem> problems;
  nb::object grader;
};

std::string run(const Model& model, EvaluationOptions options, const std::vector<nb::object>& own,
                const nb::object& on_sample, CancelToken* token) {
  std::vector<const GivenTask*> tasks;
  for (const nb::object& task : own) tasks.push_back(&nb::cast<const GivenTask&>(task));
  return without_gil(token, [&](Call& call) {
    options.cancellation = call.cancellation();
    for (const GivenTask* task : tasks)
      options.own.push_back({task->name, task->problems, task->grader_name,
                             [&call, task](const std::string& id, const std::string& answer) {
                               return with_gil(call, [&] {
                                 const auto [right, extracted] =
                                     nb::cast<std::pair<bool, std::string>>(
                                         task->grader(id, answer));
                                 return OwnVerdict{right, extracted};
                               });
                             }});
    if (!on_sample.is_none())
      options.on_sample = [&](std::int64_t done, std::int64_t all) {
        with_gil(call, [&] { on_sample(done, all); });
      };
    return evaluate(model.model, options);
  });
}

}  // namespace

void bind_evaluation(nb::module_& module) {
  nb::class_<GivenTask>(module, "OwnTask")
      .def(
          "__init__",
          [](GivenTask* self, std::string name, std::string grader_name,
             const std::vector<std::tuple<std::string, std::string, std::string, std::string>>&
                 problems,
             nb::object grader) {
            new (self) GivenTask{std::move(name), std::move(grader_name), {}, std::move(grader)};
            for (const auto& [id, question, gold, system] : problems)
              self->problems.push_back({id, question, gold, system});
          },
          nb::arg("name"), nb::arg("grader_name"), nb::arg("problems"), nb::arg("grader"));
  nb::class_<EvaluationOptions>(module, "EvaluationOptions")
      .def(nb::init<>())
      .def_rw("tasks", &EvaluationOptions::tasks)
      .def_rw("data", &EvaluationOptions::data)
      .def_rw("grader", &EvaluationOptions::grader)
      .def_rw("methods", &EvaluationOptions::methods)
      .def_rw("pairs", &EvaluationOptions::pairs)
      .def_rw("system", &EvaluationOptions::system, nb::arg().none())
      .def_rw("prompt", &EvaluationOptions::prompt)
      .def_rw("template_arguments", &EvaluationOptions::template_arguments)
      .def_rw("system_as_user", &EvaluationOptions::system_as_user)
      .def_rw("raw", &EvaluationOptions::raw)
      .def_rw("stop", &EvaluationOptions::stop)
      .def_rw("extract", &EvaluationOptions::extract)
      .def_rw("samples", &EvaluationOptions::samples)
      .def_rw("limit", &EvaluationOptions::limit)
      .def_rw("concurrency", &EvaluationOptions::concurrency)
      .def_rw("seed", &EvaluationOptions::seed)
      .def_rw("resume", &EvaluationOptions::resume)
      .def_rw("traces", &EvaluationOptions::traces)
      .def_rw("deterministic", &EvaluationOptions::deterministic)
      .def_rw("allow_failures", &EvaluationOptions::allow_failures)
      .def_rw("out", &EvaluationOptions::out)
      .def_rw("program", &EvaluationOptions::program)
      .def_rw("command", &EvaluationOptions::command);
  module.def("evaluate", &run, nb::arg("model"), nb::arg("options"), nb::arg("own"),
             nb::arg("on_sample").none(), nb::arg("token").none());
  module.def(
      "grade",
      [](const std::string& grader, const std::string& gold, const std::string& answer) {
        const OwnVerdict verdict = grade_answer(grader, gold, answer);
        return std::make_pair(verdict.correct, verdict.extracted);
      },
      nb::arg("grader"), nb::arg("gold"), nb::arg("answer"));
}

}  // namespace counterbeam::python
