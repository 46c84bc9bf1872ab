#include "serve/model_names.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"
#include "serve/api_error.h"

namespace counterbeam::serve {
namespace {

constexpr std::string_view kPlainMethod = "sample";

void check_name(const std::string& name, std::string_view origin) {
  if (name.empty() || name.find_first_of(", \t\r\n@") != name.npos)
    bad_input("{}: {} cannot be the name of a model; leave out commas, spaces and @", origin,
              in_quotes(name));
}

}  // namespace

ModelNames::ModelNames(std::string name, std::vector<std::pair<std::string, std::string>> aliases,
                       ContextBook book)
    : name_(std::move(name)), aliases_(std::move(aliases)), book_(std::move(book)) {
  check_name(name_, "--name");
  all_.push_back(name_);
  for (const Method& method : methods()) all_.push_back(fmt::format("{}@{}", name_, method.name));
  for (const auto& [alias, method] : aliases_) {
    check_name(alias, "--alias");
    if (std::find(all_.begin(), all_.end(), alias) != all_.end())
      bad_input("--alias: {} is the name of a model already; choose another", alias);
    parse_method(method, book_);
    all_.push_back(alias);
  }
}

NamedMethod ModelNames::at(std::string_view model) const {
  if (model == name_) return {GivenMethod(kPlainMethod), true};
  std::string_view method = model;
  if (model.starts_with(name_ + "@")) method.remove_prefix(name_.size() + 1);
  for (const auto& [alias, text] : aliases_)
    if (method == alias) return {GivenMethod(text), false};
  const std::string_view base = method.substr(0, method.find(':'));
  const auto known = methods();
  const bool exists =
      method.size() < model.size() &&
      std::any_of(known.begin(), known.end(), [&](const Method& one) { return one.name == base; });
  if (!exists)
    throw ApiError(404, "invalid_request_error", "model", "model_not_found",
                   fmt::format("the model {} does not exist; there are: {}; settings may follow a "
                               "method, as in {}@cbs:steer=0.7",
                               in_quotes(printable(model, 200)), fmt::join(all_, ", "), name_));
  try {
    return {GivenMethod(method), false};
  } catch (const Error& error) {
    invalid("model", "model: {}", error.what());
  }
}

}  // namespace counterbeam::serve
