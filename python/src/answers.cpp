// What goes into a question and what comes out of it.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"

namespace counterbeam::python {
namespace {

void bind_options(nb::module_& module) {
  nb::class_<Message>(module, "Message")
      .def(
          "__init__",
          [](Message* self, std::string role, std::string content, std::string name) {
            new (self) Message{std::move(role), std::move(content), std::move(name)};
          },
          nb::arg("role"), nb::arg("content"), nb::arg("name") = "");
  nb::class_<ContextPair>(module, "ContextPair")
      .def(
          "__init__",
          [](ContextPair* self, std::string name, std::string positive, std::string negative) {
            new (self) ContextPair{std::move(name), std::move(positive), std::move(negative)};
          },
          nb::arg("name"), nb::arg("positive"), nb::arg("negative"))
      .def_ro("name", &ContextPair::name)
      .def_ro("positive", &ContextPair::positive)
      .def_ro("negative", &ContextPair::negative);
  nb::class_<AskOptions>(module, "AskOptions")
      .def(nb::init<>())
      .def_rw("method", &AskOptions::method)
      .def_rw("settings", &AskOptions::settings)
      .def_rw("contexts", &AskOptions::contexts)
      .def_rw("positive", &AskOptions::positive)
      .def_rw("negative", &AskOptions::negative)
      .def_rw("pairs", &AskOptions::pairs)
      .def_rw("system", &AskOptions::system)
      .def_rw("raw", &AskOptions::raw)
      .def_rw("template_arguments", &AskOptions::template_arguments)
      .def_rw("system_as_user", &AskOptions::system_as_user)
      .def_rw("stop", &AskOptions::stop)
      .def_rw("stop_ids", &AskOptions::stop_ids)
      .def_rw("seed", &AskOptions::seed)
      .def_rw("question", &AskOptions::question)
      .def_rw("trace", &AskOptions::trace)
      .def_rw("keep_partial", &AskOptions::keep_partial);
  nb::class_<ScoreOptions>(module, "ScoreOptions")
      .def(nb::init<>())
      .def_rw("contexts", &ScoreOptions::contexts)
      .def_rw("positive", &ScoreOptions::positive)
      .def_rw("negative", &ScoreOptions::negative)
      .def_rw("pairs", &ScoreOptions::pairs)
      .def_rw("steer", &ScoreOptions::steer)
      .def_rw("contrast", &ScoreOptions::contrast)
      .def_rw("aggregate", &ScoreOptions::aggregate)
      .def_rw("end", &ScoreOptions::end)
      .def_rw("system", &ScoreOptions::system)
      .def_rw("raw", &ScoreOptions::raw)
      .def_rw("template_arguments", &ScoreOptions::template_arguments)
      .def_rw("system_as_user", &ScoreOptions::system_as_user);
}

}  // namespace

void bind_answers(nb::module_& module) {
  bind_options(module);
  nb::class_<AskProgress>(module, "AskProgress")
      .def_ro("block", &AskProgress::block)
      .def_ro("blocks", &AskProgress::blocks)
      .def_ro("alive", &AskProgress::alive)
      .def_ro("finished", &AskProgress::finished)
      .def_ro("best", &AskProgress::best)
      .def_ro("best_text", &AskProgress::best_text)
      .def_ro("agreed", &AskProgress::agreed);
  nb::class_<AnswerCandidate>(module, "AnswerCandidate",
                              "A whole or partial answer that a search compares with others. base, "
                              "positive and negative are sums of log-probabilities under the three "
                              "prompts, token_base and so on the same per token.")
      .def_ro("text", &AnswerCandidate::text)
      .def_ro("tokens", &AnswerCandidate::tokens)
      .def_ro("score", &AnswerCandidate::score)
      .def_ro("finished", &AnswerCandidate::finished)
      .def_ro("base", &AnswerCandidate::base)
      .def_ro("positive", &AnswerCandidate::positive)
      .def_ro("negative", &AnswerCandidate::negative)
      .def_ro("token_base", &AnswerCandidate::token_base)
      .def_ro("token_positive", &AnswerCandidate::token_positive)
      .def_ro("token_negative", &AnswerCandidate::token_negative);
  nb::class_<Answer>(module, "Answer")
      .def_ro("text", &Answer::text)
      .def_ro("tokens", &Answer::tokens)
      .def_ro("score", &Answer::score)
      .def_ro("finished", &Answer::finished)
      .def_ro("interrupted", &Answer::interrupted)
      .def_ro("candidates", &Answer::candidates)
      .def_ro("selected", &Answer::selected)
      .def_ro("trace", &Answer::trace)
      .def_ro("token_bytes", &Answer::token_bytes)
      .def_ro("settings", &Answer::settings)
      .def_ro("generated_tokens", &Answer::generated_tokens)
      .def_ro("scored_tokens", &Answer::scored_tokens)
      .def_ro("prompt_tokens", &Answer::prompt_tokens)
      .def_ro("cached_tokens", &Answer::cached_tokens)
      .def_ro("seconds", &Answer::seconds)
      .def_ro("error", &Answer::error);
  nb::class_<PromptIds>(module, "PromptIds")
      .def_ro("base", &PromptIds::base)
      .def_ro("positive", &PromptIds::positive)
      .def_ro("negative", &PromptIds::negative);
  nb::class_<ModelInfo>(module, "ModelInfo")
      .def_ro("name", &ModelInfo::name)
      .def_ro("engine", &ModelInfo::engine)
      .def_ro("device", &ModelInfo::device)
      .def_ro("dtype", &ModelInfo::dtype)
      .def_ro("activations", &ModelInfo::activations)
      .def_ro("vocabulary", &ModelInfo::vocabulary)
      .def_ro("max_length", &ModelInfo::max_length)
      .def_ro("end_tokens", &ModelInfo::end_tokens)
      .def_ro("chat_template", &ModelInfo::chat_template);
  module.def("read_context_pairs", &read_context_pairs, nb::arg("path"));
  module.def("trace_page", &trace_page, nb::arg("trace"), nb::arg("question"), nb::arg("texts"));
}

}  // namespace counterbeam::python
