#include "base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <thread>

#include "base/log.h"
#include "base/terminal.h"

namespace counterbeam {
namespace {

TEST(ProgressLine, ShowsBarCountAndTimeLeft) {
  EXPECT_EQ(progress_line("loading", 50, 200, 10, "", 100),
            "loading [#####...............] 50/200 25%, 30 s left");
  EXPECT_EQ(progress_line("eval", 200, 200, 10, "cbs 61.5%", 100),
            "eval [####################] 200/200 100%, cbs 61.5%");
  EXPECT_EQ(progress_line("eval", 0, 1000, 10, "", 100), "eval [....................] 0/1,000 0%");
  EXPECT_EQ(progress_line("eval", 7, 0, 10, "", 100), "eval 7");
  EXPECT_EQ(progress_line("eval", 300, 200, 10, "", 100),
            "eval [####################] 300/200 100%");
}

TEST(ProgressLine, FitsTheTerminal) {
  EXPECT_EQ(progress_line("loading", 50, 200, 10, "", 12), "loading [##");
  EXPECT_EQ(progress_line("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5, 0, 1, "", 4),
            "\xc3\xa9\xc3\xa9\xc3\xa9");
}

// Both ends of a pseudo-terminal.
class PseudoTerminal : public ::testing::Test {
 protected:
  void SetUp() override {
    outer_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (outer_ < 0 || ::grantpt(outer_) != 0 || ::unlockpt(outer_) != 0)
      GTEST_SKIP() << "pseudo-terminals are not available";
    const int inner = ::open(::ptsname(outer_), O_RDWR | O_NOCTTY);
    const winsize size{24, 60, 0, 0};
    ::ioctl(inner, TIOCSWINSZ, &size);
    stream_ = ::fdopen(inner, "w");
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  }
  void TearDown() override {
    if (stream_) std::fclose(stream_);
    if (outer_ >= 0) ::close(outer_);
  }
  std::string drawn() {
    ::fcntl(outer_, F_SETFL, O_NONBLOCK);
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = ::read(outer_, buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(got));
    return all;
  }
  int outer_ = -1;
  std::FILE* stream_ = nullptr;
};

TEST_F(PseudoTerminal, IsRecognised) {
  EXPECT_TRUE(terminal_of(stream_).live);
  EXPECT_TRUE(terminal_of(stream_).colour);
  EXPECT_EQ(terminal_of(stream_).width, 60);
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(terminal_of(stream_).colour);
  EXPECT_TRUE(terminal_of(stream_).live);
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(terminal_of(stream_).live);
}

TEST_F(PseudoTerminal, DrawsAtALimitedRateAndClearsTheLine) {
  {
    Progress progress("work", 1000, false, stream_);
    for (int i = 0; i < 1000; ++i) progress.add();
  }
  const std::string all = drawn();
  EXPECT_TRUE(all.starts_with("\rwork [")) << all;
  EXPECT_TRUE(all.ends_with("\r\x1b[K"));
  EXPECT_LT(all.size(), 1000u);  // not redrawn on every step
}

TEST_F(PseudoTerminal, QuietDrawsNothing) {
  {
    Progress progress("work", 10, true, stream_);
    progress.add();
  }
  EXPECT_EQ(drawn(), "");
}

std::string written(auto work) {
  std::FILE* file = std::tmpfile();
  work(file);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(Progress, PrintsNothingIntoAFile) {
  EXPECT_EQ(written([](std::FILE* file) {
              Progress progress("work", 10, false, file);
              std::thread other([&] { progress.add(); });
              progress.add();
              progress.set_note("x");
              other.join();
            }),
            "");
}

TEST(Log, QuietSilencesNotesOnly) {
  const auto say = [](std::FILE* file, bool quiet) {
    Log log(quiet, file);
    log.note("{} tensors", 3);
    log.warning("no {}", "template");
  };
  EXPECT_EQ(written([&](std::FILE* file) { say(file, false); }),
            "counterbeam: 3 tensors\ncounterbeam: warning: no template\n");
  EXPECT_EQ(written([&](std::FILE* file) { say(file, true); }),
            "counterbeam: warning: no template\n");
}

}  // namespace
}  // namespace counterbeam
