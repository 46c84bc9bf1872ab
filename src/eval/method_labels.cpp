#include "eval/method_labels.h"

#include <algorithm>
#include <map>
#include <set>

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

// "steer=0.7" is "0.7", because its value says enough; "block=16" is "block 16".
std::string setting_in_words(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == setting.npos) return setting;
  const std::string name = setting.substr(0, equals);
  std::string value = setting.substr(equals + 1);
  if (value.size() > 1 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  return name == "steer" || name == "contexts" || name == "policy" ? value : name + " " + value;
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

std::vector<std::string> method_words(const std::vector<std::string>& methods) {
  const std::vector<std::string> labels = method_labels(methods);
  std::vector<std::string> words;
  for (const std::string& label : labels) {
    const std::vector<std::string> parts = parts_of_method(label);
    std::string& text = words.emplace_back(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) text += " " + setting_in_words(parts[i]);
  }
  // Words that fit two methods name neither.
  return std::set<std::string>(words.begin(), words.end()).size() == words.size() ? words : labels;
}

}  // namespace counterbeam
