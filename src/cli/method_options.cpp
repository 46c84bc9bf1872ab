#include "cli/method_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/quote.h"
#include "search/methods.h"

namespace counterbeam::cli {
namespace {

std::string shown(const std::string& value) {
  if (value.empty()) return "none";
  return value.find(' ') == value.npos ? value : in_quotes(value);
}

// "; 1.5 with policy=cfg" for defaults of the setting that depend on another one.
std::string dependent_defaults(const Method& method, const Setting& setting) {
  std::string text;
  for (const SettingUse& use : method.settings) {
    if (use.setting != &setting) continue;
    for (const DefaultWhen& when : use.when) {
      Settings settings = default_settings(method);
      set_value(settings, *when.other, when.value, when.other->name);
      set_dependent_defaults(settings, {});
      text += fmt::format("; {} with {}={}", shown(value_text(settings, setting)), when.other->name,
                          when.value);
    }
  }
  return text;
}

// "16; 1 for sample, greedy": the default of the first method that has the setting, then those that
// differ from it.
std::string defaults_of(const Setting& setting) {
  std::string first, dependent;
  std::vector<std::pair<std::string, std::vector<std::string_view>>> others;
  for (const Method& method : methods()) {
    if (!method.find(setting.name)) continue;
    dependent += dependent_defaults(method, setting);
    const std::string value = shown(value_text(default_settings(method), setting));
    if (first.empty()) first = value;
    if (value == first) continue;
    auto other = others.begin();
    while (other != others.end() && other->first != value) ++other;
    if (other == others.end()) other = others.insert(other, {value, {}});
    other->second.push_back(method.name);
  }
  for (const auto& [value, names] : others)
    first += fmt::format("; {} for {}", value, fmt::join(names, ", "));
  return first + dependent;
}

std::string users_of(const Setting& setting) {
  std::vector<std::string_view> users, others;
  for (const Method& method : methods())
    (method.find(setting.name) ? users : others).push_back(method.name);
  if (others.empty()) return "all";
  if (others.size() < users.size()) return fmt::format("all but {}", fmt::join(others, ", "));
  return fmt::format("{}", fmt::join(users, ", "));
}

Option option_of(const Setting& setting) {
  Option option = {.name = "--" + std::string(setting.name),
                   .help = std::string(setting.help),
                   .standard = defaults_of(setting),
                   .used_by = users_of(setting),
                   .group = "Settings of the method"};
  option.value.placeholder = setting.choices.empty() ? setting.type_name() : "NAME";
  option.value.choices.assign(setting.choices.begin(), setting.choices.end());
  if (setting.most > setting.least)
    option.value.range = fmt::format("{} to {}", setting.least, setting.most);
  return option;
}

}  // namespace

std::vector<std::string> method_choices() {
  std::vector<std::string> names;
  for (const Method& method : methods()) names.emplace_back(method.name);
  return names;
}

Section methods_section() {
  Section section = {.title = "Methods"};
  for (const Method& method : methods())
    section.rows.push_back({.name = std::string(method.name), .help = std::string(method.help)});
  return section;
}

Section settings_section() {
  Section section = {
      .title = "Settings of methods",
      .text =
          "They follow the name of the method, separated by colons: cbs:steer=0.7:block=16. "
          "Put a value with colons or commas in double quotes."};
  for (const Setting& setting : all_settings()) {
    Option row = option_of(setting);
    row.name = fmt::format("{}={}", setting.name, row.value.placeholder);
    section.rows.push_back(std::move(row));
  }
  return section;
}

void MethodOptions::add_to(Command& command) {
  Option method = {.name = "--method",
                   .value = text(method_, "METHOD"),
                   .help = "How to search; settings may follow its name, as in cbs:steer=0.7",
                   .group = "Settings of the method"};
  method.value.choices = method_choices();
  command.options.push_back(std::move(method));
  for (const Setting& setting : all_settings()) {
    Option option = option_of(setting);
    if (setting.name == "contexts") {
      option.value = contexts_.name_or_files();
      option.help += "; @FILE reads pairs of your own, whose names may then be given";
      command.options.push_back(std::move(option));
      continue;
    }
    option.value.take = [this, name = std::string(setting.name)](
                            std::string_view value, std::string_view) { given_[name] = value; };
    command.options.push_back(std::move(option));
  }
  command.sections.push_back(methods_section());
}

Settings MethodOptions::settings() const {
  GivenMethod method(method_);
  for (const Setting& setting : all_settings()) {
    const auto given = given_.find(std::string(setting.name));
    if (given == given_.end()) continue;
    if (!method.method().find(setting.name))
      bad_input("--{}: {} does not use it (see counterbeam ask --help)", setting.name,
                method.method().name);
    if (method.gives(setting.name))
      bad_input("--{}: given twice, here and in --method; give it once", setting.name);
    method.give(setting.name, given->second, fmt::format("--{}", setting.name));
  }
  const ContextBook book = contexts_.book();
  contexts_.give_to(method, book);
  return method.resolve(book);
}

}  // namespace counterbeam::cli
