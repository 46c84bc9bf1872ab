#include "cli/method_options.h"

#include "base/error.h"

namespace counterbeam::cli {

void MethodOptions::add_to(CLI::App& command) {
  command.add_option("--method", method_, "How to search: " + method_names())
      ->capture_default_str()
      ->group("Method");
  for (const Setting& field : all_settings()) {
    const std::string name(field.name);
    command
        .add_option_function<std::string>(
            "--" + name, [this, name](const std::string& value) { given_[name] = value; },
            std::string(field.help))
        ->group("Method");
  }
}

Settings MethodOptions::settings() const {
  // A method string with settings is welcome here too: --method cbs:steer=0.7
  Settings settings = parse_method(method_);
  for (const Setting& field : all_settings()) {
    const auto given = given_.find(std::string(field.name));
    if (given == given_.end()) continue;
    if (!settings.method->find(field.name))
      bad_input("--{}: {} does not use it (see counterbeam ask --help)", field.name,
                settings.method->name);
    set_value(settings, field, given->second, fmt::format("--{}", field.name));
  }
  validate(settings);
  return settings;
}

}  // namespace counterbeam::cli
