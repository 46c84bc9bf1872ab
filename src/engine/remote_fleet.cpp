#include "engine/remote_fleet.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "base/start_thread.h"

namespace counterbeam {
namespace {

using FleetClock = std::chrono::steady_clock;

// Hard to guess, so that nobody else reads what a search left in a server's prefix cache.
std::string random_salt() {
  std::random_device device;
  std::string salt;
  for (int i = 0; i < 8; ++i) salt += fmt::format("{:08x}", device());
  return salt;
}

bool is_transient(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

}  // namespace

RemoteSearch::RemoteSearch(std::shared_ptr<RemoteFleet> the_fleet, std::size_t home, int rank,
                           std::string the_salt)
    : salt(std::move(the_salt)), fleet(std::move(the_fleet)), home_(home), rank_(rank) {}

RemoteSearch::~RemoteSearch() {
  const std::lock_guard lock(fleet->mutex_);
  --fleet->servers_[home_].searches;
}

struct RemoteFleet::Sent {
  RemoteJob* job = nullptr;
  std::size_t server = 0;
  RemoteKind kind{};
  int rank = -1;
  bool done = false;
  int timeouts = 0, failures = 0;
  double pause = 0;  // before it is sent again
  std::optional<FleetClock::time_point> give_up{};
  std::string problem{};
};

RemoteFleet::RemoteFleet(RemoteOptions options)
    : options_(std::move(options)), http_(options_.http) {
  for (const std::string& url : options_.urls) servers_.push_back({.url = url});
}

std::shared_ptr<RemoteFleet> RemoteFleet::connect(RemoteOptions options) {
  CB_CHECK(!options.urls.empty());
  for (const char c : options.http.key)
    if (c <= ' ' || c >= 127)
      bad_input("--engine-key: the key has a character that an HTTP header may not have");
  std::shared_ptr<RemoteFleet> fleet(new RemoteFleet(std::move(options)));
  std::exception_ptr first;
  bool any = false;
  for (Server& server : fleet->servers_) {
    try {
      server.finding = probe_server(fleet->http_, server.url, fleet->options_.probe);
      fleet->add_found(server, !any);
      any = true;
    } catch (const Failed& error) {
      if (!first) first = std::current_exception();
      server.problem = error.what();
    }
  }
  if (!any) std::rethrow_exception(first);
  fleet->reviver_ = start_thread([raw = fleet.get()] { raw->revive(); });
  return fleet;
}

RemoteFleet::~RemoteFleet() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  shutdown_.cancel();  // of a probe in flight
  changed_.notify_all();
}

std::vector<RemoteFleet::Server> RemoteFleet::servers() const {
  const std::lock_guard lock(mutex_);
  return servers_;
}

std::size_t RemoteFleet::quietest() const {
  std::size_t best = servers_.size();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const std::size_t place = (i + opened_) % servers_.size();  // ties go around
    if (!servers_[place].alive) continue;
    if (best == servers_.size() || servers_[place].searches < servers_[best].searches) best = place;
  }
  return best;
}

int RemoteFleet::next_rank(std::size_t server) {
  const int ranks = servers_[server].finding.kind.ranks;
  return ranks > 1 ? static_cast<int>(opened_ % static_cast<std::uint64_t>(ranks)) : -1;
}

std::shared_ptr<RemoteSearch> RemoteFleet::open_search() {
  std::string salt = random_salt();
  const std::lock_guard lock(mutex_);
  std::size_t home = quietest();
  if (home == servers_.size()) home = opened_ % servers_.size();  // one may be back by then
  auto search =
      std::make_shared<RemoteSearch>(shared_from_this(), home, next_rank(home), std::move(salt));
  ++servers_[home].searches;
  ++opened_;
  return search;
}

// Moves the search where its server has died and another lives.
std::size_t RemoteFleet::home_of(RemoteSearch& search) {
  if (servers_[search.home_].alive) return search.home_;
  const std::size_t other = quietest();
  if (other == servers_.size()) return search.home_;
  --servers_[search.home_].searches;
  ++servers_[other].searches;
  ++opened_;
  search.rank_ = next_rank(other);
  return search.home_ = other;
}

void RemoteFleet::pause(double seconds, const Cancellation* cancellation) const {
  const auto end = FleetClock::now() + std::chrono::duration<double>(seconds);
  while (FleetClock::now() < end) {
    if (cancellation && cancellation->cancelled()) throw Cancelled("cancelled");
    const auto left = std::chrono::duration_cast<FleetClock::duration>(end - FleetClock::now());
    std::this_thread::sleep_for(
        std::min<FleetClock::duration>(left, std::chrono::milliseconds(50)));
  }
}

// Decides what becomes of a request: done, sent again, or an error.
void RemoteFleet::judge(Sent& sent, RemoteReply reply) {
  using Outcome = RemoteReply::Outcome;
  std::string url;
  {
    const std::lock_guard lock(mutex_);
    url = servers_[sent.server].url;
  }
  if (reply.outcome == Outcome::Answered && reply.status == 200) {
    try {
      sent.job->take(sent.kind, reply.body);
    } catch (const BadReply& bad) {
      failed("{}: {}", url, bad.what());
    }
    sent.done = true;
    return;
  }
  if (reply.outcome == Outcome::Answered) {
    if (sent.job->refused && sent.job->refused(sent.kind, reply.status, reply.body)) {
      sent.done = true;
      return;
    }
    sent.problem = fmt::format("{} {}", reply.status, error_text(reply.body));
    if (reply.status == 401 || reply.status == 403)
      bad_input("{}: {}; is COUNTERBEAM_ENGINE_KEY right?", url, sent.problem);
    if (!is_transient(reply.status)) failed("{}: {}", url, sent.problem);
  } else {
    sent.problem = reply.problem;
    if (reply.outcome == Outcome::TooLarge || reply.outcome == Outcome::Failed)
      failed("{}: {}", url, sent.problem);
  }
  // Nothing was received, so the request is sent again.
  if (reply.outcome == Outcome::TimedOut && ++sent.timeouts >= 2 && !another_alive(sent.server))
    failed("{}: {}", url, sent.problem);
  constexpr int kMostErrors = 6;  // a server that fails on this request will do so again
  if (reply.status == 500 && sent.failures + 1 >= kMostErrors) sent.give_up = FleetClock::now();
  count_failure(sent, reply.retry_after);
  // A server may close a kept connection just as it is used again, so one cut is not death.
  const bool cut = reply.outcome == Outcome::Cut;
  const bool dead = reply.outcome != Outcome::Answered && (!cut || sent.failures > 1);
  const bool ill = reply.status >= 500 && sent.failures % 3 == 0;  // one that is busy is neither
  if ((dead || ill) && another_alive(sent.server)) {
    mark_down(sent.server, sent.problem);
    sent.pause = 0;
    return;
  }
  const bool gone = reply.outcome == Outcome::Unreachable;
  const bool again = sent.failures > 1 && (cut || (reply.status >= 502 && reply.status <= 504));
  if (gone || again) doubt(sent.server, sent.problem);
}

// Sets the pause before a request is sent again. Failed where the patience is at its end.
void RemoteFleet::count_failure(Sent& sent, double retry_after) const {
  ++sent.failures;
  const auto now = FleetClock::now();
  if (!sent.give_up) sent.give_up = now + options_.patience;
  if (now >= *sent.give_up)
    failed("{}: {}; gave up after {} attempts", options_.urls[sent.server], sent.problem,
           sent.failures);
  const double first = std::chrono::duration<double>(options_.first_pause).count();
  const double longest = std::chrono::duration<double>(options_.longest_pause).count();
  sent.pause =
      std::min(longest, std::max(first * std::exp2(std::min(sent.failures - 1, 20)), retry_after));
}

// The requests that are not done, at home on a server that may answer them. Others are put off.
std::vector<RemoteFleet::Sent*> RemoteFleet::those_ready(std::vector<Sent>& all,
                                                         const Cancellation* cancellation) {
  std::vector<Sent*> ready;
  std::map<std::size_t, bool> trusted;
  for (Sent& sent : all) {
    if (sent.done) continue;
    {
      const std::lock_guard lock(mutex_);
      sent.server = home_of(*sent.job->search);
      if (sent.problem.empty()) sent.problem = servers_[sent.server].problem;
    }
    if (!trusted.contains(sent.server))
      trusted[sent.server] = is_trusted(sent.server, cancellation);
    if (trusted[sent.server])
      ready.push_back(&sent);
    else
      count_failure(sent, 0);
  }
  return ready;
}

void RemoteFleet::run(std::span<RemoteJob> jobs, const Cancellation* cancellation) {
  std::vector<Sent> all(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) all[i].job = &jobs[i];
  while (true) {
    double wait = 0;
    bool done = true;
    for (const Sent& sent : all) {
      done = done && sent.done;
      if (!sent.done) wait = std::max(wait, sent.pause);
    }
    if (done) return;
    if (cancellation && cancellation->cancelled()) throw Cancelled("cancelled");
    pause(wait, cancellation);
    const std::vector<Sent*> open = those_ready(all, cancellation);
    if (open.empty()) continue;
    // What is sent first is on its way while the rest is written, and a reply is read while the
    // server works on the next.
    RemoteHttp::Round round(http_, open.size());
    requests_ += static_cast<std::int64_t>(open.size());
    ++rounds_;
    for (Sent* sent : open) {
      std::string url;
      {
        const std::lock_guard lock(mutex_);
        sent->kind = servers_[sent->server].finding.kind;
        sent->rank = sent->job->search->rank_;
        url = servers_[sent->server].url;
      }
      RemoteRequest request = sent->job->request(sent->kind, sent->rank);
      round.send({url + request.path, std::move(request.body), std::move(request.headers)});
    }
    while (auto answer = round.next(cancellation))
      judge(*open[answer->call], std::move(answer->reply));
  }
}

}  // namespace counterbeam
