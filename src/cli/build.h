// What is known of the build: written by cmake/build_facts.cmake at every build.
#pragma once

#include <string_view>

namespace counterbeam::cli {

extern const std::string_view kVersion;
extern const std::string_view kCommit;  // of the sources, "-modified" if they differ from it; empty
                                        // if git does not know them

}  // namespace counterbeam::cli
