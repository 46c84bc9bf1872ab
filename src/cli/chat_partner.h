// Who answers in `chat`: a model in this process, or a server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/globals.h"
#include "counterbeam/cancellation.h"
#include "counterbeam/counterbeam.h"
#include "search/context_book.h"

namespace counterbeam::cli {

struct ChatReply {
  std::string text{};        // the whole answer
  std::string cost{};        // one line about it; empty: nothing is known
  bool interrupted = false;  // the best answer so far, after a cancellation
};

class ChatPartner {
 public:
  virtual ~ChatPartner() = default;

  // Answers the last message, and prints the answer, as it becomes certain where it is shown on a
  // terminal; with --json nothing is printed. A cancellation gives the best answer so far.
  virtual ChatReply answer(const std::vector<Message>& messages, std::uint64_t seed,
                           const Cancellation& cancellation) = 0;
  // A method string, as "cbs:steer=0.7". BadInput leaves the method as it was.
  virtual void set_method(const std::string& method) = 0;
  virtual std::string method() const = 0;
  virtual std::string name() const = 0;  // "tiny-dense", "tiny-dense at http://127.0.0.1:8080"
};

struct LocalChat {
  std::string method = "cbs", stop_at = "turn";
  bool system_as_user = false;
  ContextBook book{};
};
std::unique_ptr<ChatPartner> chat_with_model(const Globals& globals, const LocalChat& options);

// An empty method leaves the choice to the server's model; an empty model is the first one it
// lists.
std::unique_ptr<ChatPartner> chat_with_server(const Globals& globals, const std::string& url,
                                              const std::string& key, const std::string& method);

}  // namespace counterbeam::cli
