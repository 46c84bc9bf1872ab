// Which servers a fleet uses: those that answer and compute the model of the others. The rest are
// probed in the background until they do.
#include <algorithm>

#include "base/error.h"
#include "base/quote.h"
#include "engine/remote_fleet.h"
#include "engine/remote_identity.h"

namespace counterbeam {
namespace {

// REQUIRES that one is alive.
const std::string& first_alive_url(const std::vector<RemoteFleet::Server>& servers) {
  return std::find_if(servers.begin(), servers.end(), [](const auto& one) { return one.alive; })
      ->url;
}

}  // namespace

// Takes a server that was probed into use.
void RemoteFleet::add_found(Server& server, bool first) {
  const RemoteKind& kind = server.finding.kind;
  const ServedModel& served = server.finding.served;
  if (first) {
    least_ = kind;
    model_ = served;
  }
  if (const std::string other = difference(model_, served); !other.empty())
    bad_input(
        "--engine: {} {}; {} serves {}. All servers must compute the same model under one name; "
        "leave one out, or choose the model by --engine-model where they have several",
        server.url, other, first_alive_url(servers_), in_quotes(model_.id));
  if (model_.logprobs.empty()) model_.logprobs = served.logprobs;
  if (kind.score == ScoreWay::None) least_.score = ScoreWay::None;
  if (!kind.keyed) least_.keyed = false;
  if (kind.max_length > 0)
    least_.max_length =
        least_.max_length > 0 ? std::min(least_.max_length, kind.max_length) : kind.max_length;
  server.alive = true;
}

void RemoteFleet::mark_down(std::size_t server, const std::string& problem) {
  {
    const std::lock_guard lock(mutex_);
    servers_[server].alive = false;
    servers_[server].problem = problem;
  }
  changed_.notify_all();
}

bool RemoteFleet::another_alive(std::size_t server) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (i != server && servers_[i].alive) return true;
  return false;
}

void RemoteFleet::doubt(std::size_t server, const std::string& problem) {
  const std::lock_guard lock(mutex_);
  servers_[server].doubted = true;
  servers_[server].problem = problem;
}

// Whether requests may go to the server now. One that was lost is asked for its model first; Failed
// where that is another one and no other server is alive.
bool RemoteFleet::is_trusted(std::size_t server, const Cancellation* cancellation) {
  Server known;
  {
    const std::lock_guard lock(mutex_);
    known = servers_[server];
  }
  if (!known.alive || !known.doubted) return known.alive;  // the dead are probed in the background
  ServedModel now;
  try {
    now = identify_again(http_, known.url, known.finding.kind, options_.probe, cancellation);
  } catch (const Failed&) {
    return false;
  }
  if (now.logprobs.empty() && !known.finding.served.logprobs.empty()) return false;
  if (const std::string other = difference(model_, now); !other.empty()) {
    if (another_alive(server)) {
      mark_down(server, other);
      return false;
    }
    failed(
        "{}: could not be reached for a while, and now it {}; start it with the model that it had",
        known.url, other);
  }
  const std::lock_guard lock(mutex_);
  servers_[server].doubted = false;
  return true;
}

// A server that comes back must do what the searches were promised.
bool RemoteFleet::serves_as_before(const RemoteFinding& finding, std::string& problem) const {
  const RemoteKind& kind = finding.kind;
  if (const std::string other = difference(model_, finding.served); !other.empty())
    problem = other;
  else if (least_.score != ScoreWay::None && kind.score == ScoreWay::None)
    problem = "gives no log-probabilities of given tokens";
  else if (least_.keyed && !kind.keyed)
    problem = "does not draw by keys, as the other servers do";
  else if (kind.max_length > 0 && kind.max_length < least_.max_length)
    problem = fmt::format("reads at most {} tokens; the others read {}", kind.max_length,
                          least_.max_length);
  else
    return true;
  return false;
}

void RemoteFleet::revive_one(std::size_t server) {
  std::string problem;
  try {
    RemoteFinding finding = probe_server(http_, servers_[server].url, options_.probe, &shutdown_);
    const std::lock_guard lock(mutex_);
    if (serves_as_before(finding, problem)) {
      servers_[server].finding = std::move(finding);
      servers_[server].alive = true;
      servers_[server].doubted = false;
      return;
    }
  } catch (const Error& error) {
    problem = error.what();
  }
  const std::lock_guard lock(mutex_);
  servers_[server].problem = problem;
}

void RemoteFleet::revive() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, options_.revival);
    for (std::size_t i = 0; i < servers_.size() && !stopping_; ++i) {
      if (servers_[i].alive) continue;
      lock.unlock();
      revive_one(i);
      lock.lock();
    }
    if (!stopping_) changed_.wait_for(lock, options_.revival, [&] { return stopping_; });
  }
}

}  // namespace counterbeam
