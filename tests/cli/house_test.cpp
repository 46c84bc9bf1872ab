// Tests the repository's scripts: check_arrows finds a forbidden include, and setup installs
// missing packages once, as root or with sudo.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/run_command.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::run_command;
using testing::TemporaryFolder;

std::string tool(const std::string& name) {
  return "sh '" COUNTERBEAM_SOURCE_DIR "/tools/" + name + "' ";
}

TEST(CheckArrows, AcceptsOurSources) {
  const auto result = run_command(tool("check_arrows"));
  EXPECT_EQ(result.code, 0) << result.out;
}

TEST(CheckArrows, FindsForbiddenIncludes) {
  const TemporaryFolder folder;
  folder.write("base/a.h", "#include \"base/b.h\"\n#include <string>\n");
  folder.write("tensor/a.cpp", "#include \"tensor/a.h\"\n\n#include \"base/error.h\"\n");
  folder.write("cli/a.cpp", "#include \"theory/a.h\"\n#include \"eval/a.h\"\n");
  folder.write("model/deep/a.cpp", "#include \"backend/ops.h\"\n");
  const std::string check = tool("check_arrows") + "'" + folder.path().string() + "'";
  EXPECT_EQ(run_command(check).code, 0);

  folder.write("text/a.cpp", "#include \"base/a.h\"\n#include \"tensor/a.h\"\n");
  folder.write("base/c.h", "  #  include \"cli/command.h\"\n");
  folder.write("cache/a.h", "#include \"../model/a.h\"\n");
  folder.write("utils/a.h", "#include \"base/a.h\"\n");
  const auto result = run_command(check);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out,
            "base/c.h:1: base may not include cli/command.h\n"
            "cache/a.h:1: \"../model/a.h\": an include path may not contain ../\n"
            "text/a.cpp:2: text may not include tensor/a.h\n"
            "utils/a.h:1: room \"utils\" has no arrow in tools/check_arrows\n");
}

// A PATH of scripts that record how they were called; `have` lists the installed packages.
class SetupTest : public ::testing::Test {
 protected:
  void machine(const std::string& user, const std::string& have, bool sudo) {
    program("id", "echo " + user);
    program("dpkg-query",
            "for last; do :; done; case \" " + have +
                " \" in *\" $last \"*) echo 'install ok installed';; *) exit 1;; esac");
    program("apt-get", "echo apt-get \"$1\" >>\"" + log() +
                           "\"; for a; do :; done; echo last $a >>\"" + log() + "\"");
    if (sudo) program("sudo", "[ \"$1\" = -n ] && exit 0; echo sudo >>\"" + log() + "\"; \"$@\"");
    for (const char* name : {"awk", "dirname", "env", "sh"})
      fs::create_symlink(find(name), folder_.path() / "bin" / name);
  }
  testing::CommandResult setup(const std::string& groups) {
    fs::create_directory(folder_.path() / "tools");
    fs::copy(COUNTERBEAM_SOURCE_DIR "/tools/setup", folder_.path() / "tools");
    folder_.write("tools/packages.txt", "# a list\nbuild cmake\nbuild g++\nbuild python3\nweb x\n");
    const std::string bin = folder_.path() / "bin", script = folder_.path() / "tools/setup";
    return run_command("PATH='" + bin + "' /bin/sh '" + script + "' " + groups);
  }
  std::string logged() { return fs::exists(log()) ? read_file(log()) : ""; }

 private:
  static std::string find(const std::string& name) {
    std::string path = run_command("command -v " + name).out;
    while (!path.empty() && path.back() == '\n') path.pop_back();
    return path;
  }
  void program(const std::string& name, const std::string& body) {
    const fs::path path = folder_.write("bin/" + name, "#!/bin/sh\n" + body + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  std::string log() const { return folder_.path() / "log"; }
  TemporaryFolder folder_;
};

TEST_F(SetupTest, DoesNothingIfNothingIsMissing) {
  machine("0", "cmake g++ python3", false);
  EXPECT_EQ(setup("build").code, 0);
  EXPECT_EQ(logged(), "");
}

TEST_F(SetupTest, RootInstallsWhatIsMissing) {
  machine("0", "cmake g++", false);
  const auto result = setup("build");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(logged(), "apt-get update\nlast -q\napt-get install\nlast python3\n");
  EXPECT_EQ(result.out, "tools/setup: installing python3\n");
}

TEST_F(SetupTest, OtherUsersUseSudo) {
  machine("1000", "cmake g++", true);
  EXPECT_EQ(setup("build").code, 0);
  EXPECT_EQ(logged(), "sudo\napt-get update\nlast -q\nsudo\napt-get install\nlast python3\n");
}

TEST_F(SetupTest, SaysWhatToDoWithoutSudo) {
  machine("1000", "cmake g++", false);
  const auto result = setup("build");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err,
            "tools/setup: not root and no sudo; ask an administrator to run: apt-get install "
            "python3\n");
  EXPECT_EQ(logged(), "");
}

TEST_F(SetupTest, RejectsUnknownGroups) {
  machine("0", "cmake g++", false);
  EXPECT_EQ(setup("bild").code, 2);
}

}  // namespace
}  // namespace counterbeam
