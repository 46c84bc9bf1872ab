// Reads the programs under hostile/, many per file, each after a line "#=== name" or "#=== name:
// ending"; and helpers of the tests that run them.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "eval/sandbox.h"

#define CB_NEEDS_SANDBOX() \
  if (!Sandbox::check().empty()) GTEST_SKIP() << Sandbox::check()

namespace counterbeam::testing {

struct HostileProgram {
  std::string name;
  std::string ending;  // the text after the colon
  std::string source;
};

inline std::filesystem::path hostile_folder() {
  return std::filesystem::path(COUNTERBEAM_SOURCE_DIR) / "tests" / "eval" / "hostile";
}

inline std::vector<HostileProgram> read_programs(const std::string& file) {
  std::istringstream lines(read_file(hostile_folder() / file));
  std::vector<HostileProgram> programs;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#=== ")) {
      const std::size_t colon = line.find(": ");
      programs.push_back({line.substr(5, colon - 5),
                          colon == std::string::npos ? "" : line.substr(colon + 2), ""});
    } else if (!programs.empty()) {
      programs.back().source += line + "\n";
    }
  }
  return programs;
}

// Calls work(0) ... work(count - 1) on several threads, more than there are cores, since most of
// them wait.
inline void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      for (std::size_t at; (at = next++) < count;) work(at);
    });
}

// The number of processes on this machine whose command line contains the marker.
inline int processes_marked(const std::string& marker) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::stringstream text;
    text << file.rdbuf();
    found += text.str().find(marker) != std::string::npos;
  }
  return found;
}

// What a run could leave behind outside of the sandbox: children, mounts, open descriptors.
struct Traces {
  std::string children, mounts;
  std::ptrdiff_t descriptors = 0;

  static Traces now() {
    namespace fs = std::filesystem;
    Traces traces;
    for (const auto& task : fs::directory_iterator("/proc/self/task")) {
      std::ifstream file(task.path() / "children");
      std::getline(file, traces.children);
    }
    std::ifstream mounts("/proc/self/mountinfo");
    std::stringstream text;
    text << mounts.rdbuf();
    traces.mounts = text.str();
    traces.descriptors =
        std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    return traces;
  }
  bool operator==(const Traces&) const = default;
};

// Runs `work` in a process of its own; true if it returned true.
inline bool in_a_process(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = work();
    } catch (...) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace counterbeam::testing
