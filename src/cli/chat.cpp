// `chat`: a conversation in the terminal, with a model or with a running server. In a pipe every
// line is a question, and standard output holds the answers alone.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "base/output.h"
#include "base/terminal.h"
#include "base/trim.h"
#include "cli/chat_partner.h"
#include "cli/chat_transcript.h"
#include "cli/commands.h"
#include "cli/contexts_option.h"
#include "cli/input.h"
#include "cli/method_options.h"

namespace counterbeam::cli {
namespace {

struct ChatOptions {
  std::string method, system, server, key;
  LocalChat local;
  ContextsOption contexts;
};

constexpr std::string_view kChatHelp =
    "/method [M]   show the method, or set another one: /method cbs:steer=0.7\n"
    "/system TEXT  set the system message; without a text, remove it\n"
    "/undo         take back the last question and its answer\n"
    "/save FILE    write the conversation to a file; /load FILE goes on with it\n"
    "/help, /quit  this list; the end (also Ctrl-D)\n"
    "Ctrl-C stops an answer and keeps the best so far. //... asks a question that begins with /.\n";

std::atomic<Cancellation*> answer_in_flight = nullptr;

// While it lives, the first Ctrl-C cancels; a second one ends the program, as it does otherwise.
class CancelledByCtrlC {
 public:
  CancelledByCtrlC() {
    answer_in_flight = &cancellation_;
    std::signal(SIGINT, [](int) {
      if (Cancellation* running = answer_in_flight) running->cancel();
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~CancelledByCtrlC() {
    std::signal(SIGINT, SIG_DFL);
    answer_in_flight = nullptr;
  }
  const Cancellation& cancellation() const { return cancellation_; }

 private:
  Cancellation cancellation_;
};

class Chat {
 public:
  Chat(ChatPartner& partner, const std::string& system, const Globals& globals)
      : partner_(partner), globals_(globals) {
    transcript_.system = system;
  }

  void run() {
    const bool typed = ::isatty(STDIN_FILENO) == 1;
    if (typed && !globals_.quiet)
      print_message("{}, {}. /help lists the commands.\n", partner_.name(), partner_.method());
    std::string line;
    while (!ended_) {
      if (typed) write_message("> ");
      if (!read_input_line(line)) break;
      const std::string said(trim(line));
      if (said.empty()) continue;
      try {
        if (said.starts_with("/") && !said.starts_with("//"))
          command(said);
        else
          ask(said.starts_with("//") ? said.substr(1) : said);
      } catch (const ResultsLost&) {
        throw;  // the next answer would be lost too
      } catch (const Error& error) {
        print_message("error: {}\n", error.what());
        ++failures_;
      }
    }
    if (typed && !ended_) write_message("\n");
    if (!typed && failures_ > 0) failed("{} of the lines failed; see the messages", failures_);
  }

 private:
  void ask(const std::string& question) {
    const CancelledByCtrlC interrupt;
    // The first answer is that of `ask`; a question that is asked again gets another seed.
    const ChatReply reply = partner_.answer(transcript_.with_question(question),
                                            globals_.seed + answers_, interrupt.cancellation());
    ++answers_;
    transcript_.add(question, reply.text);
    if (globals_.json) {
      print_result("{}\n", to_line(Json{{"question", question},
                                        {"answer", reply.text},
                                        {"interrupted", reply.interrupted}}));
      flush_results();
    } else if (!globals_.quiet) {
      note(reply.cost + (reply.interrupted ? ", stopped" : ""));
    }
  }

  void command(const std::string& said) {
    const std::size_t space = said.find(' ');
    const std::string name = said.substr(0, space);
    const std::string rest(space == said.npos ? "" : trim(said.substr(space)));
    const auto file = [&] {
      if (rest.empty()) bad_input("{}: name a file, as in {} chat.json", name, name);
      return rest;
    };
    if (name == "/quit" || name == "/exit") {
      ended_ = true;
    } else if (name == "/help") {
      write_message(kChatHelp);
    } else if (name == "/method") {
      if (!rest.empty()) partner_.set_method(rest);
      note("method: " + partner_.method());
    } else if (name == "/system") {
      transcript_.system = rest;
      note(rest.empty() ? "no system message" : "system: " + rest);
    } else if (name == "/undo") {
      if (!transcript_.undo()) bad_input("/undo: there is nothing to take back");
      note(fmt::format("{} questions and answers left", transcript_.turns()));
    } else if (name == "/save") {
      transcript_.save(file());
      note("saved to " + rest);
    } else if (name == "/load") {
      transcript_ = ChatTranscript::load(file());
      note(fmt::format("{} questions and answers from {}", transcript_.turns(), rest));
    } else {
      bad_input("{}: is not a command; /help lists the commands", name);
    }
  }

  void note(const std::string& text) const {
    if (globals_.quiet || globals_.json || text.empty()) return;
    const bool dim = terminal_of(stderr).colour;
    print_message("{}[{}]{}\n", dim ? "\033[2m" : "", text, dim ? "\033[0m" : "");
  }

  ChatPartner& partner_;
  const Globals& globals_;
  ChatTranscript transcript_{};
  std::uint64_t answers_ = 0;
  int failures_ = 0;
  bool ended_ = false;
};

void run_chat(ChatOptions options, const Globals& globals) {
  if (options.key.empty())
    if (const char* key = std::getenv("COUNTERBEAM_API_KEY")) options.key = key;
  options.local.book = options.contexts.book();
  if (!options.method.empty()) options.local.method = options.method;
  const auto partner = options.server.empty()
                           ? chat_with_model(globals, options.local)
                           : chat_with_server(globals, options.server, options.key, options.method);
  Chat(*partner, options.system, globals).run();
}

}  // namespace

Command chat_command(const Globals& globals) {
  const auto options = std::make_shared<ChatOptions>();
  Command command = {
      .name = "chat",
      .summary = "Talk with a model, or with a running server, in several turns",
      .description =
          "Every line is a question; the conversation is kept. Ctrl-C stops an answer and keeps "
          "the best so far; a second Ctrl-C, or Ctrl-D, ends the session. /help lists the "
          "commands. In a pipe, "
          "standard output holds the answers alone.",
      .options = {{.name = "--method",
                   .value = text(options->method, "METHOD"),
                   .help = "Method with its settings, such as cbs:steer=0.7",
                   .standard = "cbs; with --server, what the model's name says"},
                  {.name = "--system",
                   .value = text(options->system),
                   .help = "System message of the conversation",
                   .standard = "none"},
                  {.name = "--system-as-user",
                   .value = flag(options->local.system_as_user),
                   .help = "Where the chat template refuses or drops a system message: put it "
                           "before the first message of the user"},
                  {.name = "--stop-at",
                   .value = one_of(options->local.stop_at, {"turn", "eos"}),
                   .help = "Where answers stop: at the end of a turn too, or at the checkpoint's "
                           "own end tokens alone"},
                  {.name = "--server",
                   .value = text(options->server, "URL"),
                   .help = "Ask this server instead of loading a model; --model is then the name "
                           "of its model, by default the first it lists"},
                  {.name = "--api-key",
                   .value = text(options->key, "KEY"),
                   .help = "Key of the server; other users of this machine can see it, so prefer "
                           "the environment variable COUNTERBEAM_API_KEY",
                   .standard = "none"},
                  options->contexts.files_option()},
      .examples = {"counterbeam chat --model Qwen/Qwen2.5-7B-Instruct --method cbs:steer=0.7",
                   "counterbeam chat --server http://127.0.0.1:8080",
                   "printf 'Compute 12 + 3 * 7.\\nCompute 5 * 6.\\n' | counterbeam chat -q"},
      .run = [options, &globals] { run_chat(*options, globals); }};
  command.sections.push_back(methods_section());
  command.sections.push_back(settings_section());
  return command;
}

}  // namespace counterbeam::cli
