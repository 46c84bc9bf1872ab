// The servers of a remote engine: which of them are alive, which server each search uses, and how a
// request is sent until it is answered. All requests are pure, so one whose answer did not arrive
// is sent again: to the same server after a pause, or to another when its own has died. Servers
// that are down are probed in the background and used again when they are back. All servers compute
// the same model; one that was lost is asked for its model again before its answers count.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/remote_memory.h"
#include "engine/remote_probe.h"

namespace counterbeam {

struct RemoteOptions {
  std::vector<std::string> urls{};  // as remote_urls() gives them
  RemoteProbe probe{};
  RemoteHttpOptions http{};
  // How long a request is sent again and again before its error is passed on.
  std::chrono::milliseconds patience{120'000};
  std::chrono::milliseconds first_pause{100}, longest_pause{5'000};
  std::chrono::milliseconds revival{2'000};  // between two probes of a server that is down
};

// "http://HOST:PORT[,URL...]" as a list, without "/v1" and slashes at the ends. BadInput with the
// part that is no such address.
std::vector<std::string> remote_urls(std::string_view list);

class RemoteFleet;

// One search: its sequences, and the server and data-parallel rank where their cache is.
class RemoteSearch {
 public:
  RemoteSearch(std::shared_ptr<RemoteFleet> fleet, std::size_t home, int rank, std::string salt);
  ~RemoteSearch();

  RemoteMemory memory;
  const std::string salt;
  const std::shared_ptr<RemoteFleet> fleet;

 private:
  friend class RemoteFleet;
  std::size_t home_;  // guarded by the fleet's mutex, as is rank_
  int rank_;
};

// One request until it is answered. The functions are called on the thread that called run().
struct RemoteJob {
  RemoteSearch* search = nullptr;
  std::function<RemoteRequest(const RemoteKind&, int rank)> request;
  // Takes the body of a 200; BadReply where it is not what was asked for.
  std::function<void(const RemoteKind&, const std::string& body)> take;
  // For a refusal that the job can do something with; true: it is done.
  std::function<bool(const RemoteKind&, int status, const std::string& body)> refused{};
};

class RemoteFleet : public std::enable_shared_from_this<RemoteFleet> {
 public:
  // Probes every server. Throws the error of the first if none can be used, and BadInput if two of
  // them serve different models.
  static std::shared_ptr<RemoteFleet> connect(RemoteOptions options);
  ~RemoteFleet();

  // A search at home on the server with the fewest.
  std::shared_ptr<RemoteSearch> open_search();

  // Sends all jobs together. Throws when one of them fails for good.
  void run(std::span<RemoteJob> jobs, const Cancellation* cancellation);

  struct Server {
    std::string url;
    RemoteFinding finding{};
    bool alive = false;
    bool doubted = false;   // was lost for a moment: it may be back with another model
    std::string problem{};  // why it is not alive, or doubted
    int searches = 0;
  };
  std::vector<Server> servers() const;
  const ServedModel& model() const { return model_; }  // of every server
  std::int64_t rounds() const { return rounds_; }      // of requests that went out together
  std::int64_t requests() const { return requests_; }  // all of them
  RemoteHttp& http() { return http_; }

 private:
  friend class RemoteSearch;
  struct Sent;

  explicit RemoteFleet(RemoteOptions options);
  void add_found(Server& server, bool first);
  bool serves_as_before(const RemoteFinding& finding,
                        std::string& problem) const;  // REQUIRES mutex_
  std::size_t home_of(RemoteSearch& search);          // REQUIRES mutex_
  std::size_t quietest() const;                       // REQUIRES mutex_
  int next_rank(std::size_t server);                  // REQUIRES mutex_
  void mark_down(std::size_t server, const std::string& problem);
  bool another_alive(std::size_t server) const;
  void doubt(std::size_t server, const std::string& problem);
  bool is_trusted(std::size_t server, const Cancellation* cancellation);
  std::vector<Sent*> those_ready(std::vector<Sent>& all, const Cancellation* cancellation);
  void count_failure(Sent& sent, double retry_after) const;
  void judge(Sent& sent, RemoteReply reply);
  void pause(double seconds, const Cancellation* cancellation) const;
  void revive();
  void revive_one(std::size_t server);

  const RemoteOptions options_;
  RemoteHttp http_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Server> servers_;
  RemoteKind least_;   // what every server in use can do at least
  ServedModel model_;  // does not change after connect()
  std::uint64_t opened_ = 0;
  bool stopping_ = false;
  Cancellation shutdown_;
  std::atomic<std::int64_t> rounds_ = 0, requests_ = 0;
  std::jthread reviver_;
};

}  // namespace counterbeam
