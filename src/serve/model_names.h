// The model names that a server answers to: NAME is plain sampling, NAME@METHOD[:key=value...] is a
// search, and an alias stands for a method string.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/method_strings.h"

namespace counterbeam::serve {

// What a model name asks for.
struct NamedMethod {
  GivenMethod method;
  bool plain = false;  // NAME alone
};

class ModelNames {
 public:
  // `aliases`: ALIAS and its method string. BadInput where a name holds a comma or white space, is
  // given twice, or a method string is wrong.
  ModelNames(std::string name, std::vector<std::pair<std::string, std::string>> aliases,
             ContextBook book);

  const std::string& name() const { return name_; }
  const ContextBook& book() const { return book_; }

  // NAME, NAME@METHOD for every method, and the aliases.
  const std::vector<std::string>& all() const { return all_; }

  // ApiError 404 with the names that exist; 400 where the method is known and a setting is wrong.
  NamedMethod at(std::string_view model) const;

 private:
  std::string name_;
  std::vector<std::pair<std::string, std::string>> aliases_;
  ContextBook book_;
  std::vector<std::string> all_;
};

}  // namespace counterbeam::serve
