#include "cli/contexts_option.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam::cli {

Value ContextsOption::name_or_files() {
  Value value = custom("NAME|@FILE", [this](std::string_view given, std::string_view origin) {
    if (given.starts_with('@')) {
      files_.emplace_back(given.substr(1));
      return;
    }
    if (name_) bad_input("{}: the pair is named twice, {} and {}", origin, *name_, given);
    name_ = given;
  });
  value.several = true;  // files and a name
  return value;
}

Option ContextsOption::files_option() {
  Option option = {
      .name = "--contexts",
      .value = custom("@FILE",
                      [this](std::string_view given, std::string_view origin) {
                        if (!given.starts_with('@'))
                          bad_input(
                              "{}: {} is not a file of pairs, as in {} @pairs.json; a method names "
                              "its pair itself, as in cbs:contexts={}",
                              origin, in_quotes(given), origin, printable(given));
                        files_.emplace_back(given.substr(1));
                      }),
      .help =
          "A file of context pairs, whose names methods may then use: {\"mine\": "
          "{\"positive\": TEXT, \"negative\": TEXT}} and cbs:contexts=mine "
          "(docs/contexts.md)"};
  option.value.several = true;
  return option;
}

ContextBook ContextsOption::book() const {
  ContextBook book;
  for (const std::string& file : files_) book.add_file(file);
  return book;
}

void ContextsOption::give_to(GivenMethod& method, const ContextBook& book) const {
  if (!name_ && files_.empty()) return;
  if (!method.method().find("contexts"))
    bad_input("--contexts: {} does not use it (see counterbeam ask --help)", method.method().name);
  if (name_) {
    if (method.gives("contexts"))
      bad_input("--contexts: given twice, here and in --method; give it once");
    return method.give("contexts", *name_, "--contexts");
  }
  if (method.gives("contexts") || method.gives("positive") || method.gives("negative")) return;
  std::vector<std::string_view> names;
  for (const ContextPair& pair : book.added()) names.push_back(pair.name);
  if (names.size() > 1)
    bad_input("--contexts: the file holds several pairs; name one too, as in --contexts {}: {}",
              names.front(), fmt::join(names, ", "));
  method.give("contexts", std::string(names.front()), "--contexts");
}

}  // namespace counterbeam::cli
