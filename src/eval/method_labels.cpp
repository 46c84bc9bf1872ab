#include "eval/method_labels.h"

#include <algorithm>
#include <map>

namespace counterbeam {
namespace {

// The method and its settings, split at colons outside quotes.
std::vector<std::string> parts_of_method(const std::string& text) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\' && i + 1 < text.size()) {
      parts.back() += text[i++];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == ':' && !quoted) {
      parts.emplace_back();
      continue;
    }
    parts.back() += text[i];
  }
  return parts;
}

}  // namespace

std::vector<std::string> method_labels(const std::vector<std::string>& methods) {
  std::vector<std::vector<std::string>> split;
  std::map<std::string, int> uses;                                  // by method
  std::map<std::pair<std::string, std::string>, int> setting_uses;  // by method and setting
  for (const std::string& method : methods) {
    split.push_back(parts_of_method(method));
    ++uses[split.back()[0]];
    for (std::size_t i = 1; i < split.back().size(); ++i)
      ++setting_uses[{split.back()[0], split.back()[i]}];
  }
  std::vector<std::string> labels;
  for (const auto& parts : split) {
    std::string label = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i)
      if (uses[parts[0]] == 1 || setting_uses[{parts[0], parts[i]}] < uses[parts[0]])
        label += ":" + parts[i];
    labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace counterbeam
