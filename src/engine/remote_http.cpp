#include "engine/remote_http.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/start_thread.h"

namespace counterbeam {

// The calls of a round. Both lists have their room from the start, so that calls stay where they
// are and handing over a reply needs no memory.
struct RemoteHttp::Batch {
  std::vector<RemoteCall> calls;  // of the round's thread; the loop has pointers to them
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Round::Answer> arrived;  // guarded by mutex
  std::atomic<bool> abandoned = false;
};

// One call on its way. It lives on the loop's thread alone.
struct RemoteHttp::Transfer {
  std::shared_ptr<Batch> batch;
  const RemoteCall* call = nullptr;
  std::string host{};
  CURL* handle = nullptr;
  curl_slist* headers = nullptr;
  RemoteReply reply{};
  std::size_t most = 0;
  char problem[CURL_ERROR_SIZE] = {};

  ~Transfer() {
    curl_slist_free_all(headers);
    if (handle) curl_easy_cleanup(handle);
  }
};

namespace {

void start_curl() {
  static const CURLcode kStarted = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (kStarted != CURLE_OK) failed("libcurl cannot be started: {}", curl_easy_strerror(kStarted));
}

// "http://host:1/path" -> "http://host:1"
std::string origin_of(const std::string& url) {
  const auto scheme = url.find("://");
  return url.substr(0, url.find('/', scheme == url.npos ? 0 : scheme + 3));
}

RemoteReply::Outcome outcome_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return RemoteReply::Outcome::Answered;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return RemoteReply::Outcome::Unreachable;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return RemoteReply::Outcome::Cut;
    case CURLE_OPERATION_TIMEDOUT:
      return RemoteReply::Outcome::TimedOut;
    case CURLE_FILESIZE_EXCEEDED:
    case CURLE_WRITE_ERROR:  // our own bound stops the transfer
      return RemoteReply::Outcome::TooLarge;
    default:
      return RemoteReply::Outcome::Failed;
  }
}

// As libcurl opens it, but not for programs that this one starts.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* to) {
  return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

}  // namespace

// The thread that owns the handles. What comes in waits in a queue; a server has at most so many
// calls in flight.
class RemoteHttp::Loop {
 public:
  explicit Loop(RemoteHttpOptions options) : options_(std::move(options)) {
    start_curl();
    multi_ = curl_multi_init();
    if (!multi_) failed("libcurl gives no handle; there is no memory left");
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 4L * options_.connections);
    thread_ = start_thread([this] { run(); });
  }
  ~Loop() {
    stopping_ = true;
    curl_multi_wakeup(multi_);
    thread_.join();
    active_.clear();
    curl_multi_cleanup(multi_);
  }

  void add(const std::shared_ptr<Batch>& batch, const RemoteCall& call) {
    {
      const std::lock_guard lock(mutex_);
      fresh_.push_back({batch, &call});
    }
    wake();
  }
  void wake() { curl_multi_wakeup(multi_); }

 private:
  struct Waiting {
    std::shared_ptr<Batch> batch;
    const RemoteCall* call;
  };

  void run() {
    while (!stopping_) {
      try {
        start_waiting();
        drop_abandoned();
        int running = 0;
        curl_multi_perform(multi_, &running);
        take_finished();
        if (!startable()) curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
      } catch (const std::bad_alloc&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // others may free some
      }
    }
  }

  // Whether a call waits that may be sent now.
  bool startable() {
    const std::lock_guard lock(mutex_);
    if (!fresh_.empty()) return true;
    for (const auto& [host, queue] : queues_)
      if (!queue.empty() && in_flight_[host] < options_.connections) return true;
    return false;
  }

  void start_waiting() {
    {
      const std::lock_guard lock(mutex_);
      while (!fresh_.empty()) {
        const Waiting& one = fresh_.front();
        queues_[origin_of(one.call->url)].push_back(one);
        fresh_.pop_front();
      }
    }
    for (auto& [host, queue] : queues_)
      while (!queue.empty() && in_flight_[host] < options_.connections) {
        if (!queue.front().batch->abandoned) start(queue.front(), host);
        queue.pop_front();
      }
  }

  void start(const Waiting& waiting, const std::string& host) {
    auto transfer = std::make_unique<Transfer>();
    transfer->batch = waiting.batch;
    transfer->call = waiting.call;
    transfer->host = host;
    transfer->most = options_.most_bytes;
    set_options(*transfer, *waiting.call);
    CURL* handle = transfer->handle;
    active_.emplace(handle, std::move(transfer));
    ++in_flight_[host];
    curl_multi_add_handle(multi_, handle);
  }

  void set_options(Transfer& transfer, const RemoteCall& call) {
    CURL* handle = transfer.handle = curl_easy_init();
    if (!handle) throw std::bad_alloc();
    const auto header = [&](const std::string& line) {
      curl_slist* longer = curl_slist_append(transfer.headers, line.c_str());
      if (!longer) throw std::bad_alloc();
      transfer.headers = longer;
    };
    for (const std::string& line : call.headers) header(line);
    header("Expect:");
    if (!options_.key.empty()) header("Authorization: Bearer " + options_.key);
    if (!call.body.empty()) {
      header("Content-Type: application/json");
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(call.body.size()));
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call.body.data());  // the batch keeps it
    }
    const auto timeout = call.timeout.count() > 0 ? call.timeout : options_.timeout;
    const auto connect = std::min(options_.connect_timeout, timeout);
    curl_easy_setopt(handle, CURLOPT_URL, call.url.c_str());
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, transfer.headers);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, long(connect.count()));
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, long(timeout.count()));
    curl_easy_setopt(handle, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(options_.most_bytes));
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, transfer.problem);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Loop::received);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  }

  static std::size_t received(char* bytes, std::size_t size, std::size_t count, void* to) {
    Transfer& transfer = *static_cast<Transfer*>(to);
    if (transfer.reply.body.size() + size * count > transfer.most) return 0;
    try {
      transfer.reply.body.append(bytes, size * count);
    } catch (const std::bad_alloc&) {
      return 0;
    }
    return size * count;
  }

  void take_finished() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      const auto found = active_.find(message->easy_handle);
      Transfer& transfer = *found->second;
      RemoteReply& reply = transfer.reply;
      reply.outcome = outcome_of(code);
      long status = 0;
      curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
      reply.status = static_cast<int>(status);
      curl_off_t wait = 0;
      curl_easy_getinfo(transfer.handle, CURLINFO_RETRY_AFTER, &wait);
      reply.retry_after = static_cast<double>(wait);
      if (reply.outcome == RemoteReply::Outcome::TooLarge) {
        reply.body = {};
        reply.problem = fmt::format("the reply has more than {} MiB",
                                    std::max<std::size_t>(1, transfer.most >> 20));
      } else if (code != CURLE_OK) {
        reply.body = {};
        reply.problem = transfer.problem[0] ? transfer.problem : curl_easy_strerror(code);
      }
      remove(found);
    }
  }

  using Active = std::map<CURL*, std::unique_ptr<Transfer>>;

  // Hands the reply over and frees the handle; its connection stays open for others.
  void remove(Active::iterator finished) {
    const std::unique_ptr<Transfer> transfer = std::move(finished->second);
    active_.erase(finished);
    curl_multi_remove_handle(multi_, transfer->handle);
    --in_flight_[transfer->host];
    Batch& batch = *transfer->batch;
    const std::lock_guard lock(batch.mutex);
    const auto place = static_cast<std::size_t>(transfer->call - batch.calls.data());
    batch.arrived.push_back({place, std::move(transfer->reply)});
    batch.changed.notify_one();
  }

  void drop_abandoned() {
    for (auto one = active_.begin(); one != active_.end();) {
      const auto place = one++;
      if (place->second->batch->abandoned) remove(place);
    }
  }

  const RemoteHttpOptions options_;
  CURLM* multi_ = nullptr;
  std::mutex mutex_;
  std::deque<Waiting> fresh_;  // guarded by mutex_
  std::map<std::string, std::deque<Waiting>> queues_;
  std::map<std::string, int> in_flight_;
  Active active_;
  std::atomic<bool> stopping_ = false;
  std::jthread thread_;
};

RemoteHttp::RemoteHttp(RemoteHttpOptions options)
    : loop_(std::make_unique<Loop>(std::move(options))) {}
RemoteHttp::~RemoteHttp() = default;

RemoteHttp::Round::Round(RemoteHttp& http, std::size_t most_calls)
    : http_(http), batch_(std::make_shared<Batch>()) {
  batch_->calls.reserve(most_calls);
  batch_->arrived.reserve(most_calls);
}

RemoteHttp::Round::~Round() {
  if (had_ == batch_->calls.size()) return;
  batch_->abandoned = true;
  http_.loop_->wake();
}

void RemoteHttp::Round::send(RemoteCall call) {
  CB_CHECK(batch_->calls.size() < batch_->calls.capacity());
  http_.loop_->add(batch_, batch_->calls.emplace_back(std::move(call)));
}

std::optional<RemoteHttp::Round::Answer> RemoteHttp::Round::next(const Cancellation* cancellation) {
  if (had_ == batch_->calls.size()) return std::nullopt;
  std::unique_lock lock(batch_->mutex);
  while (batch_->arrived.size() == had_) {
    if (cancellation && cancellation->cancelled()) throw Cancelled("cancelled");
    batch_->changed.wait_for(lock, std::chrono::milliseconds(cancellation ? 50 : 1000));
  }
  return std::move(batch_->arrived[had_++]);
}

}  // namespace counterbeam
