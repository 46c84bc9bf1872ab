// The search methods and their settings as data, for programs that make flags, keywords or forms
// from them; a new setting then appears by itself.
#pragma once

#include <string>
#include <vector>

namespace counterbeam {

struct SettingInfo {
  std::string name{};  // as in a method string: "max-tokens"
  std::string type{};  // int, float, bool or str
  std::string help{};
  std::string otherwise{};             // the method's default, as text
  double least = 0, most = 0;          // of a number
  std::vector<std::string> choices{};  // of a text; empty: any text
};

struct MethodInfo {
  std::string name{};
  std::string help{};
  bool traced = false;  // leaves a tree of candidates
  bool ranked = false;  // chooses by score, so that a scorer of your own applies
  bool votes = false;   // chooses by majority
  std::vector<SettingInfo> settings{};
};

// The table of methods, the default one first.
std::vector<MethodInfo> method_table();

// The context pairs that are known by name (docs/contexts.md).
struct ContextPair;
std::vector<ContextPair> known_context_pairs();

}  // namespace counterbeam
