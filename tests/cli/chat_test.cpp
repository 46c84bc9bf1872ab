// `counterbeam chat` in a pipe, with the shipped model and with a server, and its HTTP client.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace counterbeam::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kFirst = "Compute 12 + 3 * 7.", kSecond = "Compute 5 * 6.";

CommandResult chat(const std::string& lines, const std::string& options) {
  const TemporaryFolder folder;
  const std::string input = folder.path() / "lines";
  write_file(input, lines);
  return run_command("'" COUNTERBEAM_BINARY "' chat " + options + " < '" + input + "'");
}

// A server of the program on a free port, ended with the test.
class ChatServer {
 public:
  explicit ChatServer(const std::string& options = "") {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], 2);
      const std::string command = "exec '" COUNTERBEAM_BINARY "' serve -q --port 0 " + options;
      ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ends[1]);
    error_ = ::fdopen(ends[0], "r");
    char line[4096];
    while (std::fgets(line, sizeof line, error_)) {
      const std::string text = line;
      if (!text.starts_with("listening on ")) continue;
      url_ = text.substr(13, text.find('\n') - 13);
      return;
    }
  }
  ~ChatServer() {
    ::kill(pid_, SIGTERM);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    if (error_) std::fclose(error_);
  }
  const std::string& url() const { return url_; }

 private:
  pid_t pid_ = -1;
  std::FILE* error_ = nullptr;
  std::string url_;
};

// Answers every connection with the same bytes, then closes it.
class FixedServer {
 public:
  explicit FixedServer(std::string answer) : answer_(std::move(answer)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(socket_, 8) != 0)
      return;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~FixedServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  const std::string& url() const { return url_; }

 private:
  void serve() {
    for (int client; (client = ::accept(socket_, nullptr, nullptr)) >= 0; ::close(client)) {
      std::string request;
      char bytes[4096];
      for (ssize_t count; request.find("\r\n\r\n") == request.npos &&
                          (count = ::recv(client, bytes, sizeof bytes, 0)) > 0;)
        request.append(bytes, static_cast<std::size_t>(count));
      for (const char byte : answer_) ::send(client, &byte, 1, MSG_NOSIGNAL);  // in small pieces
      ::shutdown(client, SHUT_WR);
      while (::recv(client, bytes, sizeof bytes, 0) > 0) continue;
    }
  }

  std::string answer_, url_;
  int socket_ = -1;
  std::thread thread_;
};

TEST(Chat, TheFirstAnswerIsThatOfAskAndStandsAloneOnStandardOutput) {
  const CommandResult asked =
      run_counterbeam("ask '" + kFirst + "' --method cbs:steer=0.7 --seed 3 -q");
  const CommandResult said = chat(kFirst + "\n", "--method cbs:steer=0.7 --seed 3");
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, asked.out);
  EXPECT_THAT(said.err, HasSubstr("generated"));
  EXPECT_THAT(chat(kFirst + "\n", "-q").err, Not(HasSubstr("generated")));
}

TEST(Chat, EarlierTurnsAreAPartOfTheQuestionUntilTheyAreUndone) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "chat.json";
  const CommandResult said = chat(
      "/system Be brief.\n" + kFirst + "\n\n" + kSecond + "\n/undo\n/save " + file + "\n", "-q");
  EXPECT_EQ(said.code, 0) << said.err;
  const Json saved = parse_json(read_file(file), file)["messages"];
  ASSERT_EQ(saved.size(), 3u);
  EXPECT_EQ(saved[0], (Json{{"role", "system"}, {"content", "Be brief."}}));
  EXPECT_EQ(saved[1]["content"], kFirst);
  EXPECT_EQ(said.out.substr(0, said.out.find('\n')), saved[2]["content"]);
  // The second question after a load is asked as `ask` asks it with the same messages.
  Json row = {{"messages", saved}};
  row["messages"].push_back({{"role", "user"}, {"content", kSecond}});
  write_file(folder.path() / "row.jsonl", to_line(row) + "\n");
  const CommandResult asked = run_command("'" COUNTERBEAM_BINARY "' ask --jsonl -q < '" +
                                          (folder.path() / "row.jsonl").string() + "'");
  const CommandResult loaded = chat("/load " + file + "\n" + kSecond + "\n", "-q");
  EXPECT_EQ(loaded.out, parse_json(asked.out, "ask")["answer"].get<std::string>() + "\n");
}

TEST(Chat, ErrorsDoNotEndTheSession) {
  const TemporaryFolder folder;
  const std::string bad = folder.path() / "bad.json";
  write_file(bad, R"({"messages": [{"role": "assistant", "content": "x"}]})");
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const CommandResult said =
      chat("/nothing\n/undo\n/method nonsense\n/load /absent\n/save\n/save " + pipe + "\n/load " +
               bad + "\n" + kFirst + "\n",
           "--seed 1");
  EXPECT_EQ(said.code, 1);
  for (const char* message :
       {"/nothing: is not a command", "/undo: there is nothing to take back",
        "method \"nonsense\" is not known", "/absent", "/save: name a file",
        "is a FIFO that nobody reads",
        "messages[0].role: is \"assistant\" where \"user\" is needed", "7 of the lines failed"})
    EXPECT_THAT(said.err, HasSubstr(message));
  EXPECT_THAT(said.out, HasSubstr("boxed"));
}

TEST(Chat, CommandsAndJson) {
  const CommandResult said = chat("/method greedy\n//12 + 3\n/quit\n" + kSecond + "\n", "--json");
  EXPECT_EQ(said.code, 0) << said.err;
  const Json answer = parse_json(said.out, "chat");
  EXPECT_EQ(answer["question"], "/12 + 3");
  EXPECT_FALSE(answer["interrupted"].get<bool>());
  EXPECT_EQ(chat("", "").code, 0);
  EXPECT_EQ(chat("", "--method cbs:steer=x").code, 2);
}

TEST(Chat, AServerGivesTheSameAnswersAsTheModel) {
  const ChatServer server("--api-key secret");
  const std::string lines = kFirst + "\n/method beam\n" + kSecond + "\n";
  const CommandResult here = chat(lines, "-q --method cbs:steer=0.7");
  const CommandResult there =
      chat(lines, "-q --method cbs:steer=0.7 --api-key secret --server " + server.url());
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(there.out, here.out);
  const CommandResult plain = run_command("printf '" + kFirst +
                                          "\\n' | COUNTERBEAM_API_KEY=secret '" COUNTERBEAM_BINARY
                                          "' chat --model tiny-dense@greedy --server " +
                                          server.url() + "/v1");
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.err, HasSubstr("greedy: score"));
  const CommandResult locked = chat(kFirst + "\n", "--server " + server.url());
  EXPECT_EQ(locked.code, 1);
  EXPECT_THAT(locked.err, HasSubstr("401 the key is missing"));
  const CommandResult absent =
      chat(kFirst + "\n", "--model gpt-4 --api-key secret --server " + server.url());
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.err, HasSubstr("404"));
}

// What the answer of a stream may be framed by.
TEST(Chat, ReadsChunksALengthAndAClosedConnection) {
  const std::string events =
      ": comment\n\ndata: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"thirty\"}}]}\n\n"
      "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \" three\"}}]}\r\n\r\n"
      "data: [DONE]\n\n";
  char size[32];
  std::snprintf(size, sizeof size, "%zx", events.size() - 20);
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
  for (const std::string& answer :
       {head + "\r\n" + events,
        head + "Content-Length: " + std::to_string(events.size()) + "\r\n\r\n" + events,
        head + "Transfer-Encoding: chunked\r\n\r\n14;x=y\r\n" + events.substr(0, 20) + "\r\n" +
            size + "\r\n" + events.substr(20) + "\r\n0\r\n\r\n"}) {
    const FixedServer server(answer);
    const CommandResult said = chat("x\n", "-q --model m --server " + server.url());
    EXPECT_EQ(said.out, "thirty three\n") << answer << said.err;
    EXPECT_EQ(said.code, 0);
  }
}

TEST(Chat, ABrokenServerIsAnErrorOfTheLine) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::pair<std::string, std::string> cases[] = {
      {"SSH-2.0-x\r\n\r\n", "does not speak HTTP"},
      {"", "ended too early"},
      {head + "Content-Length: 100\r\n\r\ndata: {}", "broke within the answer"},
      {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "has no size"},
      {head + "\r\ndata: {\"choices\": []}\n\n", "broke within the answer"},
      {head + "\r\ndata: nonsense\n\n", "is not JSON"},
      {head + "\r\ndata: {\"error\": {\"message\": \"too hot\"}}\n\n", "too hot"},
      {"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops", "500 oops"}};
  for (const auto& [answer, message] : cases) {
    const FixedServer server(answer);
    const CommandResult said = chat("x\n", "-q --model m --server " + server.url());
    EXPECT_EQ(said.code, 1) << answer;
    EXPECT_THAT(said.err, HasSubstr(message)) << answer;
  }
  for (const char* url : {"https://a", "http://:80", "a:b", "a:0", "a:70000", "[::1", "a b"})
    EXPECT_EQ(chat("x\n", std::string("--server '") + url + "'").code, 2) << url;
}

// SIGINT is caught only while an answer is searched for, which the kernel tells. It comes after
// some more seconds, so that there is a best answer; a busy machine may need many.
CommandResult chat_interrupted_after(int seconds, const std::string& options) {
  const std::string endless = "beam:beams=256:block=2:prune=2:temperature=100:max-tokens=900";
  return run_command(
      "{ echo 'Tell me a story.'; echo '/method greedy'; echo '" + kFirst +
      "'; } | '" COUNTERBEAM_BINARY "' chat --json --seed 1 --method " + endless + " " + options +
      " & until grep -q '^SigCgt:.*[2367abef]$' /proc/$!/status; do sleep 0.05; done; sleep " +
      std::to_string(seconds) + "; kill -INT $!; wait $!");
}

// A long search is stopped while it runs, and its best answer is kept; the session goes on.
TEST(Chat, CtrlCStopsAnAnswerAndKeepsIt) {
  const ChatServer server;
  for (const std::string& options : {std::string(), "--server " + server.url()}) {
    CommandResult said;
    for (int seconds = 2; seconds < 100; seconds *= 4) {
      said = chat_interrupted_after(seconds, options);
      if (said.err.find("error: cancelled") == std::string::npos) break;  // else there was none yet
    }
    ASSERT_EQ(said.code, 0) << said.err;
    const std::size_t end = said.out.find('\n');
    EXPECT_TRUE(parse_json(said.out.substr(0, end), "first")["interrupted"].get<bool>());
    EXPECT_FALSE(parse_json(said.out.substr(end + 1), "second")["interrupted"].get<bool>());
  }
}

}  // namespace
}  // namespace counterbeam::testing
