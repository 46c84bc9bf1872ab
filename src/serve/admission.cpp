#include "serve/admission.h"

#include <algorithm>
#include <cmath>

#include "base/start_thread.h"

namespace counterbeam::serve {

class Admission::Entry {
 public:
  std::string client;
  Work work;
  std::size_t begun = 0;  // searches
  Clock::time_point arrival = Clock::now();
  bool queued = true;  // has searches that have not begun
};

Admission::Admission(int searches, int queue) : searches_(searches), queue_(queue) {
  workers_.reserve(static_cast<std::size_t>(searches_));
  try {
    for (int i = 0; i < searches_; ++i) workers_.push_back(start_thread([this] { work(); }));
  } catch (...) {
    end_workers();
    throw;
  }
}

Admission::~Admission() {
  drain();
  end_workers();
}

// They are joined when they are destroyed.
void Admission::end_workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

// Seconds until a place is likely to be free.
int Admission::retry_after() const {
  const double seconds = mean_seconds_ * (waiting_ + 1) / searches_;
  return static_cast<int>(std::clamp(std::ceil(seconds), 1.0, 60.0));
}

// Null: the newcomer's client has as many waiting as any other.
std::shared_ptr<Admission::Entry> Admission::newest_of_busiest(const std::string& newcomer) {
  const auto waiting = [](const std::list<std::shared_ptr<Entry>>& entries) {
    return std::count_if(entries.begin(), entries.end(),
                         [](const auto& entry) { return entry->begun == 0; });
  };
  const auto own = clients_.find(newcomer);
  auto most = own == clients_.end() ? 0 : waiting(own->second);
  std::shared_ptr<Entry> victim;
  for (const auto& [client, entries] : clients_) {
    if (waiting(entries) <= most + 1) continue;
    most = waiting(entries) - 1;
    victim = *std::find_if(entries.rbegin(), entries.rend(),
                           [](const auto& entry) { return entry->begun == 0; });
  }
  return victim;
}

std::shared_ptr<Admission::Entry> Admission::submit(const std::string& client, Work work) {
  auto entry = std::make_shared<Entry>();
  entry->client = client;
  entry->work = std::move(work);
  std::shared_ptr<Entry> victim;
  int retry = 1;
  {
    const std::lock_guard lock(mutex_);
    if (draining_) throw unavailable("the server is shutting down", "draining", 5);
    retry = retry_after();
    const auto full = [&] {
      ApiError error(
          429, "rate_limit_error", "", "queue_full",
          fmt::format("{} requests are waiting, which is all that may; try again later", waiting_));
      error.retry_after = retry;
      return error;
    };
    const bool at_once = waiting_ == 0 && running_ < searches_;
    if (!at_once && waiting_ >= queue_) {
      victim = newest_of_busiest(client);
      if (!victim) throw full();
      remove(victim);
    }
    auto& entries = clients_[client];
    if (entries.empty()) turns_.push_back(client);
    entries.push_back(entry);
    ++waiting_;
  }
  changed_.notify_all();
  if (victim) {
    ApiError error(429, "rate_limit_error", "", "queue_full",
                   "the queue is full and other clients have fewer requests waiting; try again "
                   "later");
    error.retry_after = retry;
    victim->work.refused(error);
    victim->work = {};
  }
  return entry;
}

void Admission::remove(const std::shared_ptr<Entry>& entry) {
  if (!entry->queued) return;
  entry->queued = false;
  if (entry->begun == 0) --waiting_;
  const auto found = clients_.find(entry->client);
  found->second.remove(entry);
  if (!found->second.empty()) return;
  clients_.erase(found);
  turns_.erase(std::find(turns_.begin(), turns_.end(), entry->client));
}

void Admission::withdraw(const std::shared_ptr<Entry>& entry) {
  Work dropped;  // freed without the lock
  const std::lock_guard lock(mutex_);
  if (!entry->queued) return;
  remove(entry);
  dropped = std::move(entry->work);
}

// The next search by turns; empty when the workers are to end.
std::function<void()> Admission::next(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return stopping_ || !turns_.empty(); });
  if (turns_.empty()) return {};
  const std::string client = turns_.front();
  turns_.pop_front();
  turns_.push_back(client);
  const std::shared_ptr<Entry> entry = clients_[client].front();
  if (entry->begun == 0) {
    --waiting_;
    if (entry->work.started)
      entry->work.started(std::chrono::duration<double>(Clock::now() - entry->arrival).count());
  }
  std::function<void()> search = std::move(entry->work.searches[entry->begun++]);
  ++running_;
  if (entry->begun == entry->work.searches.size()) {
    remove(entry);
    entry->work = {};
  }
  return search;
}

void Admission::work() {
  std::unique_lock lock(mutex_);
  while (std::function<void()> search = next(lock)) {
    lock.unlock();
    const auto start = Clock::now();
    search();
    search = {};  // what it holds is freed before the search counts as done
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    lock.lock();
    mean_seconds_ += (seconds - mean_seconds_) / 16;
    if (--running_ == 0) idle_.notify_all();
  }
}

void Admission::drain() {
  std::vector<std::shared_ptr<Entry>> refused;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    for (const auto& [client, entries] : clients_)
      for (const auto& entry : entries)
        if (entry->begun == 0) refused.push_back(entry);
    for (const auto& entry : refused) remove(entry);
  }
  for (const auto& entry : refused) {
    entry->work.refused(unavailable("the server is shutting down", "draining", 5));
    entry->work = {};
  }
}

bool Admission::draining() const {
  const std::lock_guard lock(mutex_);
  return draining_;
}

bool Admission::wait_idle(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, most, [&] { return running_ == 0 && turns_.empty(); });
}

int Admission::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

int Admission::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace counterbeam::serve
