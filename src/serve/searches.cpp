#include "serve/searches.h"

#include <algorithm>
#include <random>

#include "base/json.h"
#include "serve/api_error.h"

namespace counterbeam::serve {

// Guarded by the mutex of Searches.
struct Searches::Search {
  struct Block {
    int most = 0;  // blocks at most
    std::size_t alive = 0, finished = 0;
    double best = 0;
    std::int64_t generated_tokens = 0;
    std::string agreed, best_text;
    std::vector<TraceCandidate> candidates;
  };
  std::string id;
  Settings settings;
  bool plain = false;
  std::function<void()> cancel;
  std::vector<Block> blocks;
  bool done = false;
  std::string error;
  Prompts prompts;
  std::vector<int> pool;
  int selected = -1;
  Json cost;
  std::vector<Listener> listeners;
};

namespace {

constexpr std::size_t kKept = 64, kMostEarly = 256;
constexpr std::string_view kIdStart = "search-";

std::string unguessable_id() {
  std::random_device device;
  std::string id(kIdStart);
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", device());
  return id;
}

std::string event(std::string_view name, const Json& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, to_line(data));
}

ApiError no_search(const std::string& id) {
  return ApiError(404, "invalid_request_error", "", "search_not_found",
                  fmt::format("there is no search {}; the last {} are kept", id, kKept));
}

}  // namespace

const std::string& Searches::id_of(const Search& search) {
  return search.id;
}

std::shared_ptr<Searches::Search> Searches::open(const std::string& id, const Settings& settings,
                                                 bool plain, std::function<void()> cancel) {
  auto search = std::make_shared<Search>();
  search->id = id.empty() ? unguessable_id() : id;
  search->settings = settings;
  search->plain = plain;
  search->cancel = std::move(cancel);
  const std::lock_guard lock(mutex_);
  const auto former = known_.find(search->id);
  if (former != known_.end()) {
    if (!former->second->done)
      invalid("search.id", "search.id: a search {} is running; choose another id", search->id);
    for (auto* done : {&done_, &done_plain_}) std::erase(*done, search->id);
  }
  known_[search->id] = search;
  std::erase_if(early_, [&](const auto& early) {
    if (early.first != search->id) return false;
    search->listeners.push_back(early.second);
    return true;
  });
  return search;
}

Json Searches::block_json(const Search& search, std::size_t index) const {
  const Search::Block& block = search.blocks[index];
  Json candidates = Json::array();
  for (const TraceCandidate& candidate : block.candidates) {
    Json one = to_json(candidate);
    Json texts = Json::array();
    for (const TokenId token : candidate.tokens) texts.push_back(model_.token_text(token));
    one["texts"] = std::move(texts);
    candidates.push_back(std::move(one));
  }
  return {{"id", search.id},
          {"block", index + 1},
          {"blocks", block.most},
          {"alive", block.alive},
          {"finished", block.finished},
          {"best", block.best},
          {"generated_tokens", block.generated_tokens},
          {"agreed", block.agreed},
          {"best_text", block.best_text},
          {"candidates", std::move(candidates)}};
}

void Searches::block(Search& search, const BlockReport& report) {
  const std::lock_guard lock(mutex_);
  search.blocks.push_back({report.blocks,
                           report.alive,
                           report.finished,
                           report.best,
                           report.generated_tokens,
                           report.agreed_text,
                           report.best_text,
                           {report.candidates.begin(), report.candidates.end()}});
  // Text of earlier blocks is that of the next ones, so only the last is kept.
  if (search.blocks.size() > 1) {
    Search::Block& former = search.blocks[search.blocks.size() - 2];
    former.agreed.clear();
    former.best_text.clear();
  }
  if (search.listeners.empty()) return;
  const std::string text = event("block", block_json(search, search.blocks.size() - 1));
  for (const Listener& listener : search.listeners) listener->write(text);
}

// A finished search may be forgotten when others come. The event streams end.
void Searches::retire(Search& search, std::unique_lock<std::mutex>& lock) {
  if (search.done) return;  // failed by its client, then by its own thread
  search.done = true;
  search.cancel = {};
  const std::string text =
      event("done",
            search.error.empty() ? search.cost : Json{{"id", search.id}, {"error", search.error}});
  const std::vector<Listener> listeners = std::exchange(search.listeners, {});
  auto& done = search.plain ? done_plain_ : done_;
  done.push_back(search.id);
  std::shared_ptr<Search> dropped;  // freed without the lock
  if (done.size() > kKept) {
    dropped = std::move(known_[done.front()]);
    known_.erase(done.front());
    done.pop_front();
  }
  lock.unlock();
  for (const Listener& listener : listeners) {
    listener->write(text);
    listener->end();
  }
}

void Searches::finish(Search& search, Trace trace, Json cost) {
  std::unique_lock lock(mutex_);
  search.prompts = std::move(trace.prompts);
  search.pool = std::move(trace.pool);
  search.selected = trace.selected;
  search.cost = std::move(cost);
  for (std::size_t i = 0; i < search.blocks.size() && i < trace.blocks.size(); ++i)
    search.blocks[i].candidates = std::move(trace.blocks[i]);
  retire(search, lock);
}

void Searches::fail(Search& search, const std::string& message) {
  std::unique_lock lock(mutex_);
  search.error = message;
  retire(search, lock);
}

std::shared_ptr<Searches::Search> Searches::find(const std::string& id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : found->second;
}

Json Searches::trace(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto search = find(id);
  if (!search) throw no_search(id);
  Json blocks = Json::array();
  for (std::size_t i = 0; i < search->blocks.size(); ++i) blocks.push_back(block_json(*search, i));
  return {{"id", search->id},
          {"object", "search"},
          {"status", !search->done           ? "running"
                     : search->error.empty() ? "done"
                                             : "failed"},
          {"error", search->error.empty() ? Json() : Json(search->error)},
          {"settings", to_json(search->settings)},
          {"prompts",
           {{"base", search->prompts.base},
            {"positive", search->prompts.positive},
            {"negative", search->prompts.negative}}},
          {"blocks", std::move(blocks)},
          {"pool", search->pool},
          {"selected", search->selected},
          {"cost", search->cost}};
}

bool Searches::cancel(const std::string& id) {
  std::function<void()> cancel;
  {
    const std::lock_guard lock(mutex_);
    const auto search = find(id);
    if (!search) throw no_search(id);
    cancel = search->cancel;
  }
  if (cancel) cancel();
  return static_cast<bool>(cancel);
}

void Searches::cancel_all() {
  std::vector<std::function<void()>> cancels;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, search] : known_)
      if (search->cancel) cancels.push_back(search->cancel);
  }
  for (const auto& cancel : cancels) cancel();
}

void Searches::listen(const std::string& id, const Listener& listener) {
  std::string past;
  bool done = false;
  {
    const std::lock_guard lock(mutex_);
    const auto search = find(id);
    if (!search && (id.starts_with(kIdStart) || early_.size() >= kMostEarly)) throw no_search(id);
    listener->begin({.type = "text/event-stream; charset=utf-8",
                     .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}});
    listener->write(": listening\n\n");
    if (!search) {
      early_.emplace_back(id, listener);
      return;
    }
    for (std::size_t i = 0; i < search->blocks.size(); ++i)
      past += event("block", block_json(*search, i));
    done = search->done;
    if (done)
      past += event("done", search->error.empty() ? search->cost
                                                  : Json{{"id", id}, {"error", search->error}});
    listener->write(past);
    if (!done) search->listeners.push_back(listener);
  }
  if (done) listener->end();
}

void Searches::forget(const Listener& listener) {
  const std::lock_guard lock(mutex_);
  std::erase_if(early_, [&](const auto& early) { return early.second == listener; });
  for (auto& [id, search] : known_) std::erase(search->listeners, listener);
}

void Searches::keep_alive() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, listener] : early_) listener->write(": waiting\n\n");
  for (auto& [id, search] : known_)
    for (const Listener& listener : search->listeners) listener->write(": searching\n\n");
}

void Searches::end_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, listener] : early_) listener->end();
  early_.clear();
  for (auto& [id, search] : known_) {
    for (const Listener& listener : search->listeners) listener->end();
    search->listeners.clear();
  }
}

}  // namespace counterbeam::serve
