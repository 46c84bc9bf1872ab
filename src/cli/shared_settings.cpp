#include "cli/shared_settings.h"

#include "base/error.h"

namespace counterbeam::cli {

void SharedSettings::add_to(Command& command) {
  for (const char* name : {"max-tokens", "temperature"}) {
    const Setting& setting = setting_named(name);
    Option option = {.name = fmt::format("--{}", name),
                     .help = fmt::format("{}; for every method that has the setting and whose "
                                         "string does not give it",
                                         setting.help),
                     .standard = "each method's own"};
    option.value = custom(std::string(setting.type_name()),
                          [this, key = std::string(name)](
                              std::string_view value, std::string_view) { given_[key] = value; });
    option.value.range = fmt::format("{} to {}", setting.least, setting.most);
    command.options.push_back(std::move(option));
  }
}

void SharedSettings::apply_to(std::vector<MethodString>& methods, const ContextBook& book) const {
  std::map<std::string, bool> used;
  for (MethodString& method : methods) {
    GivenMethod given(method.text);
    bool changed = false;
    for (const auto& [name, value] : given_) {
      if (!given.method().find(name)) continue;
      used[name] = true;
      if (given.gives(name)) continue;
      given.give(name, value, "--" + name);
      changed = true;
    }
    if (changed) method.settings = given.resolve(book);
  }
  for (const auto& [name, value] : given_)
    if (!used[name]) bad_input("--{}: none of the methods has this setting", name);
}

}  // namespace counterbeam::cli
