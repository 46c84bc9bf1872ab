// The module counterbeam._native._core: the public C++ interface, without its conveniences. The
// package around it (python/counterbeam) is what users see.
#include "module.h"

#include <counterbeam/error.h>
#include <counterbeam/methods.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cctype>

#include "calls.h"

namespace counterbeam::python {
namespace {

// Messages name options as the command line does; here they are keywords: --max-tokens is
// max_tokens.
std::string with_keywords(const std::string& message) {
  std::string text;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const bool begins = i == 0 || message[i - 1] == ' ' || message[i - 1] == '(';
    const bool flag = begins && message.compare(i, 2, "--") == 0 && i + 2 < message.size() &&
                      std::islower(static_cast<unsigned char>(message[i + 2]));
    if (!flag) {
      text += message[i];
      continue;
    }
    for (i += 2; i < message.size() &&
                 (std::islower(static_cast<unsigned char>(message[i])) || message[i] == '-');
         ++i)
      text += message[i] == '-' ? '_' : message[i];
    --i;
  }
  return text;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const char* name = error.kind() == ErrorKind::BadInput ? "BadInput"
                       : error.kind() == ErrorKind::Failed ? "Failed"
                                                           : "Cancelled";
    const nb::object type = nb::module_::import_("counterbeam._errors").attr(name);
    const std::string text = with_keywords(error.what());
    const auto message = nb::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    PyErr_SetObject(type.ptr(), message.ptr());
  }
}

void bind_methods(nb::module_& module) {
  nb::class_<SettingInfo>(module, "SettingInfo")
      .def_ro("name", &SettingInfo::name)
      .def_ro("type", &SettingInfo::type)
      .def_ro("help", &SettingInfo::help)
      .def_ro("otherwise", &SettingInfo::otherwise)
      .def_ro("least", &SettingInfo::least)
      .def_ro("most", &SettingInfo::most)
      .def_ro("choices", &SettingInfo::choices);
  nb::class_<MethodInfo>(module, "MethodInfo")
      .def_ro("name", &MethodInfo::name)
      .def_ro("help", &MethodInfo::help)
      .def_ro("traced", &MethodInfo::traced)
      .def_ro("ranked", &MethodInfo::ranked)
      .def_ro("votes", &MethodInfo::votes)
      .def_ro("settings", &MethodInfo::settings);
  module.def("method_table", &method_table);
}

}  // namespace
}  // namespace counterbeam::python

NB_MODULE(_core, module) {
  using namespace counterbeam::python;
  nb::set_leak_warnings(false);  // models may live until the process ends
  nb::register_exception_translator(translate);
  module.def("version", [] { return COUNTERBEAM_VERSION; });
  nb::class_<CancelToken>(module, "CancelToken",
                          "Stops the calls that were given it, from any thread; they raise "
                          "Cancelled.")
      .def(nb::init<>())
      .def("cancel", &CancelToken::cancel, "Stops the calls in flight and those to come.")
      .def_prop_ro("cancelled", &CancelToken::cancelled, "Whether cancel() was called.");
  module.def("close_calls", &close_calls);
  module.def("seconds_outside", [] { return seconds_outside(); });
  bind_methods(module);
  bind_answers(module);
  bind_model(module);
  bind_sequences(module);
  bind_evaluation(module);
}
