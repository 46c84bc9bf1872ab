// The parts of the module, one file each.
#pragma once

#include <counterbeam/counterbeam.h>
#include <nanobind/nanobind.h>

#include <memory>

namespace counterbeam::python {

namespace nb = nanobind;

// A loaded model as Python holds it.
struct Model {
  LanguageModel model;
};

void bind_answers(nb::module_& module);    // options, answers, progress
void bind_model(nb::module_& module);      // loading, asking, scoring, text
void bind_sequences(nb::module_& module);  // the pieces of a search
void bind_evaluation(nb::module_& module);

}  // namespace counterbeam::python
