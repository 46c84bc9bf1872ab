#include "model/quant_rules.h"

#include <vector>

namespace counterbeam {

bool NamePattern::matches(const std::string& module) const {
  if (!regex_) return module == text_;
  std::vector<TextSpan> found;
  Regex::Scratch scratch;
  regex_->find_all(module, found, scratch);
  return !found.empty() && found.front().begin == 0;
}

}  // namespace counterbeam
