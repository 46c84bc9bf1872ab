// The available memory, in folders that hold what /proc and /sys would: machines with control
// groups of both versions, limited at any level, and containers.
#include "base/available_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/control_group.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

const std::string kTwoGigabytes =
    "MemTotal:  4000000 kB\nMemFree:  1 kB\nMemAvailable:  2000000 kB\n";
constexpr std::int64_t kMachine = 2'048'000'000;

class Machine {
 public:
  explicit Machine(const Files& files)
      : root_(fs::path(::testing::TempDir()) / ("machine_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    for (const auto& [name, text] : files) {
      fs::create_directories((root_ / name).parent_path());
      std::ofstream(root_ / name) << text;
    }
  }
  ~Machine() { fs::remove_all(root_); }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

std::int64_t available(Files files) {
  files.emplace("proc/meminfo", kTwoGigabytes);
  return available_memory(Machine(files).root().string());
}

// Files of one group: its limit and use.
Files second_version(const std::string& group, const std::string& most, const std::string& used) {
  return {{"sys/fs/cgroup/" + group + "memory.max", most + "\n"},
          {"sys/fs/cgroup/" + group + "memory.current", used + "\n"}};
}

Files first_version(const std::string& group, const std::string& most, const std::string& used) {
  return {{"sys/fs/cgroup/memory/" + group + "memory.limit_in_bytes", most + "\n"},
          {"sys/fs/cgroup/memory/" + group + "memory.usage_in_bytes", used + "\n"}};
}

Files together(std::initializer_list<Files> parts) {
  Files all;
  for (Files part : parts) all.merge(part);
  return all;
}

TEST(AvailableMemory, IsThatOfTheMachineWithoutGroups) {
  EXPECT_EQ(available({}), kMachine);
  EXPECT_EQ(available({{"proc/meminfo", "MemTotal:  1 kB\n"}}), std::int64_t{4} << 30);
  EXPECT_EQ(available(second_version("", "max", "5")), kMachine);
  EXPECT_EQ(available(first_version("", "9223372036854771712", "5")), kMachine);
}

TEST(AvailableMemory, IsLimitedByTheGroupAtTheTopOfAContainer) {
  EXPECT_EQ(available(second_version("", "1000", "400")), 600);
  EXPECT_EQ(available(first_version("", "1000", "400")), 600);
  EXPECT_EQ(available(second_version("", "1000", "4000")), 0);
  // The group's name outside, or one above the container's own, is not to be seen in here.
  EXPECT_EQ(available(together(
                {second_version("", "1000", "400"), {{"proc/self/cgroup", "0::/docker/abc\n"}}})),
            600);
  EXPECT_EQ(available(together(
                {second_version("", "1000", "400"), {{"proc/self/cgroup", "0::/../other\n"}}})),
            600);
}

TEST(AvailableMemory, IsLimitedByOurGroupAndThoseAbove) {
  const Files own = {{"proc/self/cgroup", "0::/user.slice/job.scope\n"}};
  const Files inner = second_version("user.slice/job.scope/", "1000", "100");
  const Files middle = second_version("user.slice/", "5000", "4500");
  EXPECT_EQ(available(together({own, inner})), 900);
  EXPECT_EQ(available(together({own, inner, middle})), 500);
  EXPECT_EQ(available(together({own, second_version("user.slice/job.scope/", "max", "100"),
                                second_version("user.slice/", "max", "9")})),
            kMachine);
  // Another group's limit is not ours.
  EXPECT_EQ(available(together({own, second_version("system.slice/", "10", "10")})), kMachine);
}

TEST(AvailableMemory, KnowsTheFirstVersionAndBothTogether) {
  const Files own = {
      {"proc/self/cgroup", "9:name=systemd:/\n5:cpu,cpuacct:/x\n4:memory:/slurm/job_7\n0::/job\n"}};
  EXPECT_EQ(available(together({own, first_version("slurm/job_7/", "1000", "100")})), 900);
  EXPECT_EQ(available(together({own, first_version("slurm/job_7/", "1000", "100"),
                                first_version("slurm/", "2000", "1800")})),
            200);
  EXPECT_EQ(available(together({own,
                                {{"sys/fs/cgroup/unified/job/memory.max", "700"},
                                 {"sys/fs/cgroup/unified/job/memory.current", "0"}}})),
            700);
}

TEST(AvailableMemory, PagesOfFilesAreNotUsed) {
  Files files = second_version("", "1000", "900");
  files["sys/fs/cgroup/memory.stat"] = "anon 100\nactive_file 300\ninactive_file 500\n";
  EXPECT_EQ(available(files), 900);
  Files old = first_version("", "1000", "900");
  old["sys/fs/cgroup/memory/memory.stat"] =
      "active_file 1\ntotal_active_file 300\ntotal_inactive_file 500\n";
  EXPECT_EQ(available(old), 900);
}

TEST(AvailableMemory, WhatSlowsAGroupDownIsALimitToo) {
  Files files = second_version("", "max", "100");
  files["sys/fs/cgroup/memory.high"] = "500\n";
  EXPECT_EQ(available(files), 400);
}

TEST(AvailableMemory, DamagedFilesAreNoLimit) {
  for (const char* own : {"", ":", "0:", "::", "0::", "4:memory:", "\n\n", "0::/a/b/"})
    EXPECT_EQ(available({{"proc/self/cgroup", own},
                         {"sys/fs/cgroup/memory.max", "many"},
                         {"sys/fs/cgroup/memory.current", "3"}}),
              kMachine)
        << own;
}

TEST(ControlGroups, CountProcesses) {
  const auto left = [](const Files& files) {
    return left_by_control_groups(GroupResource::Processes, Machine(files).root().string());
  };
  EXPECT_EQ(left({}), std::nullopt);
  EXPECT_EQ(left({{"proc/self/cgroup", "0::/a\n"},
                  {"sys/fs/cgroup/a/pids.max", "100\n"},
                  {"sys/fs/cgroup/a/pids.current", "30\n"}}),
            70);
  EXPECT_EQ(left({{"proc/self/cgroup", "8:pids:/a/b\n"},
                  {"sys/fs/cgroup/pids/a/pids.max", "100\n"},
                  {"sys/fs/cgroup/pids/a/pids.current", "101\n"},
                  {"sys/fs/cgroup/pids/a/b/pids.max", "max\n"},
                  {"sys/fs/cgroup/pids/a/b/pids.current", "1\n"}}),
            0);
}

}  // namespace
}  // namespace counterbeam
