// Methods as users write them: "cbs:steer=0.7:block=16", lists of such strings, and files. A string
// is parsed once, where it comes in; from then on only its settings count.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/context_book.h"
#include "search/methods.h"

namespace counterbeam {

// A method with the settings that a user gave for it, before defaults and named contexts are filled
// in.
class GivenMethod {
 public:
  // "cbs", "cbs:steer=0.7:block=16". A value may stand in double quotes and then hold anything
  // (\" and \\ inside): cbs:positive="Excellent, step by step:":negative="Wrong reasoning:". The
  // error names the setting and what is allowed.
  explicit GivenMethod(std::string_view text);

  const Method& method() const { return *method_; }
  bool gives(std::string_view setting) const;
  // Gives one more setting; `origin` ("--steer") opens an error about its value. Error where the
  // method does not have the setting, or where it is given already.
  void give(std::string_view setting, std::string value, std::string origin);
  void take_back(std::string_view setting);

  // Valid settings: what was given, the defaults for the rest, and the texts of the named contexts.
  Settings resolve(const ContextBook& book = {}) const;

 private:
  struct Given {
    const Setting* setting;
    std::string value, origin;
  };
  const Method* method_;
  std::vector<Given> given_;
};

Settings parse_method(std::string_view text, const ContextBook& book = {});

// A method string and where it stands, for errors; empty on the command line.
struct MethodText {
  std::string text;
  std::string place{};
};

// The methods of a list with commas outside quotes, or those of a file for "@FILE".
std::vector<MethodText> split_methods(std::string_view list);

// The methods of a file: one per line, where blank lines and lines that open with # are skipped, or
// a JSON array of method strings and of objects {"method": "cbs", "steer": 0.7, ...}.
std::vector<MethodText> read_methods(const std::filesystem::path& file);

// A method as a user wrote it, with what it means.
struct MethodString {
  std::string text;
  Settings settings;
};

// Error where one is given twice.
std::vector<MethodString> parse_methods(std::span<const MethodText> texts,
                                        const ContextBook& book = {});
std::vector<MethodString> parse_methods(std::string_view list, const ContextBook& book = {});

}  // namespace counterbeam
