// Who may search when. Requests bring one or more searches; at most so many run at once, each on a
// worker thread, and a bounded number of requests waits. Clients take turns, one search each, so
// that a client with many requests does not starve the others. When the queue is full, the client
// that has most requests waiting loses its newest one; a newcomer that would be that client is
// refused.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/api_error.h"

namespace counterbeam::serve {

class Admission {
 public:
  using Clock = std::chrono::steady_clock;

  struct Work {
    std::vector<std::function<void()>> searches{};  // must not throw
    // Told instead if the request is taken out of the queue before its first search begins.
    std::function<void(const ApiError&)> refused{};
    std::function<void(double seconds)> started{};  // before its first search: how long it waited
  };
  class Entry;

  Admission(int searches, int queue);
  ~Admission();  // waits for what runs; what waits is refused

  // ApiError 429 where the queue is full, 503 while draining.
  std::shared_ptr<Entry> submit(const std::string& client, Work work);
  // Takes searches that have not begun out of the queue; nobody is told.
  void withdraw(const std::shared_ptr<Entry>& entry);

  // From now on what waits and what is new is refused with 503.
  void drain();
  bool draining() const;
  // Returns when nothing runs, or after that time; true: nothing runs.
  bool wait_idle(std::chrono::milliseconds most);

  int running() const;  // searches
  int waiting() const;  // requests

 private:
  void work();
  void end_workers();
  std::function<void()> next(std::unique_lock<std::mutex>& lock);
  int retry_after() const;
  std::shared_ptr<Entry> newest_of_busiest(const std::string& newcomer);
  void remove(const std::shared_ptr<Entry>& entry);

  const int searches_, queue_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::map<std::string, std::list<std::shared_ptr<Entry>>> clients_;  // with searches to begin
  std::deque<std::string> turns_;                                     // clients_, next one first
  int waiting_ = 0, running_ = 0;
  double mean_seconds_ = 1;  // of recent searches
  bool draining_ = false, stopping_ = false;
  std::vector<std::jthread> workers_;  // last: they use all of the above
};

}  // namespace counterbeam::serve
