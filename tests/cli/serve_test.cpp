// `counterbeam serve` as a process: its line when it listens, signals, and what it refuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "serve/http_client.h"
#include "support/run_command.h"

namespace counterbeam::testing {
namespace {

class Process {
 public:
  explicit Process(const std::string& options) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], 2);
      const std::string command =
          "exec '" COUNTERBEAM_BINARY "' serve --device cpu --port 0 " + options;
      ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ends[1]);
    error_ = ::fdopen(ends[0], "r");
    char line[4096];
    while (std::fgets(line, sizeof line, error_)) {
      const std::string text = line;
      const auto colon = text.rfind(':');
      if (!text.starts_with("listening on http://127.0.0.1:")) continue;
      port_ = std::stoi(text.substr(colon + 1));
      return;
    }
  }
  ~Process() {
    if (pid_ > 0 && !ended_) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    if (error_) std::fclose(error_);
  }
  int port() const { return port_; }
  void signal(int number) { ::kill(pid_, number); }
  // The exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  std::FILE* error_ = nullptr;
  int port_ = 0;
  bool ended_ = false;
};

const char* const kLong =
    R"({"model": "tiny-dense@beam:beams=16:block=4:prune=2", "temperature": 1.5, "max_tokens": 900,
        "stream": true, "messages": [{"role": "user", "content": "Tell me a long story."}]})";

TEST(Serve, ListensAnswersAndEndsOnASignal) {
  for (const int number : {SIGTERM, SIGINT}) {
    Process server("--name m --log-format json");
    ASSERT_GT(server.port(), 0);
    const serve::testing::Answer answer =
        serve::testing::ask(server.port(), "POST", "/v1/chat/completions",
                            R"({"model": "m", "max_tokens": 8, "temperature": 0,
                                "messages": [{"role": "user", "content": "Compute 1 + 1."}]})");
    EXPECT_EQ(answer.status, 200) << answer.body;
    server.signal(number);
    EXPECT_EQ(server.wait(), 0);
  }
}

TEST(Serve, DrainsOnTheFirstSignalAndEndsOnTheSecond) {
  Process server("");
  ASSERT_GT(server.port(), 0);
  serve::testing::Client running(server.port());
  running.request("POST", "/v1/chat/completions", kLong);
  ASSERT_TRUE(running.wait_for(": block"));
  server.signal(SIGTERM);
  serve::testing::Answer health;
  for (int i = 0; i < 500 && health.status != 503; ++i)
    health = serve::testing::ask(server.port(), "GET", "/health");
  EXPECT_EQ(health.json()["status"], "draining");
  EXPECT_EQ(serve::testing::ask(server.port(), "POST", "/v1/chat/completions", kLong).status, 503);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), -SIGTERM);
}

TEST(Serve, RefusesWhatItCannotDo) {
  Process server("");
  ASSERT_GT(server.port(), 0);
  const CommandResult taken =
      run_counterbeam("serve --device cpu --port " + std::to_string(server.port()));
  EXPECT_EQ(taken.code, 1);
  EXPECT_NE(taken.err.find("cannot listen on 127.0.0.1:"), std::string::npos) << taken.err;
  for (const char* options :
       {"--port 70000", "--searches 0", "--queue -1", "--alias strong", "--alias x=nosuch",
        "--api-key ''x --api-key-file nosuch", "--api-key-file nosuch", "--log-format xml",
        "--api-key 'a b'", "--name 'a b'", "--contexts reasoning", "--model nosuch/model"})
    EXPECT_EQ(run_counterbeam(std::string("serve --device cpu --port 0 ") + options).code, 2)
        << options;
}

}  // namespace
}  // namespace counterbeam::testing
