// Short names of methods for charts and tables.
#pragma once

#include <string>
#include <vector>

namespace counterbeam {

// For each method string a name without the settings that all strings of the same method share:
// "power:temperature=1:draws=8" beside "power:temperature=0.25:draws=8" is "power:temperature=1".
// Names are as different as the strings.
std::vector<std::string> method_labels(const std::vector<std::string>& methods);

// The same as words, for charts: "cbs 0.7 neutral", "power temperature 1". The report page names
// methods in the same way.
std::vector<std::string> method_words(const std::vector<std::string>& methods);

}  // namespace counterbeam
