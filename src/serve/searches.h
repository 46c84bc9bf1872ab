// The searches that a server runs and has run: who listens to them, their traces, and how they are
// cancelled. The last 64 searches are kept, and the last 64 plain samplings apart from them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "search/loaded_model.h"
#include "search/search.h"
#include "serve/http.h"

namespace counterbeam::serve {

// The end of an event stream goes to its responder once; `Listener` is that responder.
using Listener = std::shared_ptr<Responder>;

class Searches {
 public:
  struct Search;

  // REQUIRES that the model outlives it.
  explicit Searches(const LoadedModel& model) : model_(model) {}

  // Registers a search that is about to begin. An empty id gets one that cannot be guessed.
  // ApiError 400 where a running search has the id. `cancel` is called by cancel(), on any thread.
  std::shared_ptr<Search> open(const std::string& id, const Settings& settings, bool plain,
                               std::function<void()> cancel);
  static const std::string& id_of(const Search& search);

  void block(Search& search, const BlockReport& report);
  // The trace of a finished search, and what it cost ("search" of the answer).
  void finish(Search& search, Trace trace, Json cost);
  void fail(Search& search, const std::string& message);

  // ApiError 404 where there is none of that id.
  Json trace(const std::string& id) const;
  bool cancel(const std::string& id);  // false: it has ended already
  void cancel_all();
  // Sends the blocks so far and those to come. Where the id is not known but could be chosen by a
  // client, waits for that search to begin.
  void listen(const std::string& id, const Listener& listener);
  void keep_alive();                      // a comment line to everybody who listens
  void forget(const Listener& listener);  // the client went away
  void end_all();                         // the server ends

 private:
  std::shared_ptr<Search> find(const std::string& id) const;
  void retire(Search& search, std::unique_lock<std::mutex>& lock);
  Json block_json(const Search& search, std::size_t index) const;

  const LoadedModel& model_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Search>> known_;
  std::deque<std::string> done_, done_plain_;            // oldest first
  std::vector<std::pair<std::string, Listener>> early_;  // wait for a search to begin
};

}  // namespace counterbeam::serve
