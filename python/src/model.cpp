// Loading a model, asking it, scoring answers, and its tokenizer.
#include <counterbeam/methods.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "arrays.h"
#include "calls.h"
#include "module.h"

namespace counterbeam::python {
namespace {

using Ids = std::vector<std::int32_t>;

// The options of a call with its callbacks. Signals are looked at after every block, so that
// handlers of other signals than SIGINT need not wait for the end of a search.
AskOptions with_callbacks(AskOptions options, Call& call, const nb::object& on_block,
                          const nb::object& scorer) {
  options.cancellation = call.cancellation();
  if (!on_block.is_none() || call.on_main_thread())
    options.on_block = [&](const AskProgress& progress) {
      with_gil(call, [&] {
        if (!on_block.is_none()) on_block(progress);
        if (call.on_main_thread() && PyErr_CheckSignals() != 0) throw nb::python_error();
      });
    };
  if (!scorer.is_none())
    options.scorer = [&](const std::vector<AnswerCandidate>& candidates) {
      return with_gil(call, [&] {
        const nb::object scores = scorer(candidates);
        std::vector<double> values;
        if (!nb::try_cast(nb::list(scores), values))
          throw nb::type_error("scorer: it must return a list of numbers, one per candidate");
        return values;
      });
    };
  return options;
}

// `ask` is called with the options, without the GIL.
template <typename Ask>
auto ask_with(const AskOptions& options, const nb::object& on_block, const nb::object& scorer,
              CancelToken* token, const Ask& ask) {
  return without_gil(
      token, [&](Call& call) { return ask(with_callbacks(options, call, on_block, scorer)); });
}

template <typename Question>
Answer ask(const Model& model, const Question& question, const AskOptions& options,
           const nb::object& on_block, const nb::object& scorer, CancelToken* token) {
  return ask_with(options, on_block, scorer, token, [&](const AskOptions& all) {
    if constexpr (std::is_same_v<Question, Ids>)
      return model.model.ask_ids(question, all);
    else
      return model.model.ask(question, all);
  });
}

template <typename Question>
std::vector<Answer> ask_all(const Model& model, const std::vector<Question>& questions,
                            const AskOptions& options, int concurrency, const nb::object& on_block,
                            const nb::object& scorer, CancelToken* token) {
  if (concurrency < 1) throw BadInput("concurrency: it must be 1 or more");
  return ask_with(options, on_block, scorer, token, [&](const AskOptions& all) {
    if constexpr (std::is_same_v<Question, Ids>)
      return model.model.ask_all_ids(questions, all, concurrency);
    else
      return model.model.ask_all(questions, all, concurrency);
  });
}

using Scored = std::tuple<double, std::vector<std::string>, Array<std::int32_t>, Array<float>,
                          Array<float>, Array<float>, Array<float>>;

template <typename Question>
Scored score(const Model& model, const Question& question, const std::string& answer,
             const ScoreOptions& options) {
  const ScoredAnswer scored =
      without_gil(nullptr, [&](Call&) { return model.model.score(question, answer, options); });
  Ids tokens;
  std::vector<std::string> texts;
  std::vector<float> base, positive, negative, reward;
  for (const TokenScore& token : scored.tokens) {
    tokens.push_back(token.token);
    texts.push_back(token.text);
    base.push_back(token.base);
    positive.push_back(token.positive);
    negative.push_back(token.negative);
    reward.push_back(token.reward());
  }
  return {scored.score,
          std::move(texts),
          array_of(std::move(tokens)),
          array_of(std::move(base)),
          array_of(std::move(positive)),
          array_of(std::move(negative)),
          array_of(std::move(reward))};
}

Matrix<float> logits(const Model& model, const Ids& ids, CancelToken* token) {
  const auto columns = static_cast<std::size_t>(model.model.info().vocabulary);
  std::unique_ptr<float[]> values(new float[ids.size() * columns]);
  without_gil(token, [&](Call& call) {
    model.model.logits(
        ids,
        [&](std::size_t position, std::span<const float> row) {
          std::copy(row.begin(), row.end(), values.get() + position * columns);
        },
        call.cancellation());
    return true;
  });
  return matrix_of(std::move(values), ids.size(), columns);
}

LanguageModel load(const std::string& name, const LoadOptions& options) {
  return without_gil(nullptr, [&](Call&) { return LanguageModel::load(name, options); });
}

template <typename Question>
void bind_asking(nb::class_<Model>& type) {
  type.def("ask", &ask<Question>, nb::arg("question"), nb::arg("options"),
           nb::arg("on_block").none(), nb::arg("scorer").none(), nb::arg("token").none());
  type.def("ask_all", &ask_all<Question>, nb::arg("questions"), nb::arg("options"),
           nb::arg("concurrency"), nb::arg("on_block").none(), nb::arg("scorer").none(),
           nb::arg("token").none());
  if constexpr (!std::is_same_v<Question, Ids>) {
    type.def("score", &score<Question>, nb::arg("question"), nb::arg("answer"), nb::arg("options"));
    type.def(
        "prompts",
        [](const Model& model, const Question& question, const AskOptions& options) {
          return model.model.prompts(question, options);
        },
        nb::arg("question"), nb::arg("options"));
  }
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<LoadOptions>(module, "LoadOptions")
      .def(nb::init<>())
      .def_rw("device", &LoadOptions::device)
      .def_rw("dtype", &LoadOptions::dtype)
      .def_rw("activations", &LoadOptions::activations)
      .def_rw("threads", &LoadOptions::threads)
      .def_rw("progress", &LoadOptions::progress)
      .def_rw("cache_bytes", &LoadOptions::cache_bytes)
      .def_rw("cache_dtype", &LoadOptions::cache_dtype)
      .def_rw("stop_at", &LoadOptions::stop_at)
      .def_rw("engine", &LoadOptions::engine)
      .def_rw("engine_key", &LoadOptions::engine_key)
      .def_rw("engine_model", &LoadOptions::engine_model);
  nb::class_<Model> type(module, "Model");
  type.def(
      "__init__",
      [](Model* self, const std::string& name, const LoadOptions& options) {
        new (self) Model{load(name, options)};
      },
      nb::arg("name"), nb::arg("options"));
  bind_asking<std::string>(type);
  bind_asking<std::vector<Message>>(type);
  bind_asking<Ids>(type);
  type.def("info", [](const Model& model) { return model.model.info(); });
  type.def(
      "encode",
      [](const Model& model, const std::string& text, bool special) {
        return model.model.encode(text, special);
      },
      nb::arg("text"), nb::arg("special"));
  type.def(
      "decode", [](const Model& model, const Ids& ids) { return model.model.decode(ids); },
      nb::arg("ids"));
  type.def(
      "token_text",
      [](const Model& model, std::int32_t token) { return model.model.token_text(token); },
      nb::arg("token"));
  type.def(
      "render",
      [](const Model& model, const std::string& messages, const std::string& arguments) {
        return model.model.render(messages, arguments);
      },
      nb::arg("messages"), nb::arg("arguments"));
  type.def("logits", &logits, nb::arg("ids"), nb::arg("token").none());
  module.def("known_context_pairs", &known_context_pairs);
}

}  // namespace counterbeam::python
