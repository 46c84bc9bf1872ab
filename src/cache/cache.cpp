#include "cache/cache.h"

#include <algorithm>
#include <utility>

namespace counterbeam {

Cache::Cache(StoreOps& ops, const CacheShape& shape, const CacheNeed& size)
    : ops_(ops),
      shape_(shape),
      pages_(shape.has_kv() ? size.pages : 0),
      slots_(shape.has_state() ? size.states : 0) {
  if (shape.has_kv()) kv_ = ops.make_kv_store(shape.kv, size.pages);
  if (shape.has_state()) states_ = ops.make_state_store(shape.state, size.states);
}

void Cache::check(std::span<const CachedSequence* const> sequences) const {
  std::vector<int> pages(static_cast<std::size_t>(pages_.size()), 0);
  std::vector<int> slots(static_cast<std::size_t>(slots_.size()), 0);
  for (const CachedSequence* sequence : sequences) {
    CB_CHECK(!shape_.has_kv() ||
             sequence->pages().size() == static_cast<std::size_t>(pages_for(sequence->length())));
    for (const PageId page : sequence->pages()) ++pages[static_cast<std::size_t>(page)];
    CB_CHECK(!shape_.has_state() || sequence->state_.has_value() == (sequence->length() > 0));
    if (sequence->state_) ++slots[static_cast<std::size_t>(*sequence->state_)];
    for (const auto& snapshot : sequence->snapshots()) {
      CB_CHECK(snapshot.length <= sequence->length());
      ++slots[static_cast<std::size_t>(snapshot.state)];
    }
  }
  int free_pages = 0, free_slots = 0;
  for (int i = 0; i < pages_.size(); ++i) {
    CB_CHECK(pages_.holders(static_cast<PageId>(i)) == pages[static_cast<std::size_t>(i)]);
    free_pages += pages[static_cast<std::size_t>(i)] == 0;
  }
  for (int i = 0; i < slots_.size(); ++i) {
    CB_CHECK(slots_.holders(static_cast<StateId>(i)) == slots[static_cast<std::size_t>(i)]);
    free_slots += slots[static_cast<std::size_t>(i)] == 0;
  }
  CB_CHECK(free_pages == pages_.free() && free_slots == slots_.free());
}

CachedSequence& CachedSequence::operator=(CachedSequence&& other) noexcept {
  if (this != &other) {
    clear();
    cache_ = nullptr;
    swap(other);
  }
  return *this;
}

void CachedSequence::swap(CachedSequence& other) noexcept {
  std::swap(cache_, other.cache_);
  std::swap(length_, other.length_);
  std::swap(pages_, other.pages_);
  std::swap(state_, other.state_);
  std::swap(snapshots_, other.snapshots_);
}

CachedSequence CachedSequence::fork() const {
  std::vector<PageId> pages = pages_;  // all allocations before the first count changes
  std::vector<Snapshot> snapshots = snapshots_;
  CachedSequence copy(*cache_);
  copy.length_ = length_;
  copy.pages_ = std::move(pages);
  copy.state_ = state_;
  copy.snapshots_ = std::move(snapshots);
  for (const PageId page : pages_) cache_->pages_.retain(page);
  if (state_) cache_->slots_.retain(*state_);
  for (const Snapshot& snapshot : snapshots_) cache_->slots_.retain(snapshot.state);
  ++cache_->counters_.forks;
  return copy;
}

CacheNeed CachedSequence::need(int tokens) const {
  CacheNeed need;
  if (tokens == 0) return need;
  if (cache_->shape_.has_kv()) {
    const bool shares_last_page =
        length_ % kPageTokens != 0 && cache_->pages_.holders(pages_.back()) > 1;
    need.pages = pages_for(length_ + tokens) - pages_for(length_) + (shares_last_page ? 1 : 0);
  }
  if (cache_->shape_.has_state()) {
    need.states = !state_ || cache_->slots_.holders(*state_) > 1 ? 1 : 0;
  }
  return need;
}

void CachedSequence::append(int tokens) {
  if (tokens == 0) return;
  if (cache_->shape_.has_kv()) {
    pages_.reserve(static_cast<std::size_t>(pages_for(length_ + tokens)));
    make_last_page_own();
    for (int i = pages_for(length_); i < pages_for(length_ + tokens); ++i) {
      pages_.push_back(cache_->pages_.acquire());
    }
  }
  if (cache_->shape_.has_state()) make_state_own();
  length_ += tokens;
}

void CachedSequence::make_last_page_own() {
  const int partial = length_ % kPageTokens;
  if (partial == 0 || cache_->pages_.holders(pages_.back()) == 1) return;
  const PageId copy = cache_->pages_.acquire();
  cache_->ops_.copy_page(*cache_->kv_, pages_.back(), copy, partial);
  cache_->pages_.release(pages_.back());
  pages_.back() = copy;
  ++cache_->counters_.copied_pages;
  cache_->counters_.copied_tokens += partial;
}

void CachedSequence::make_state_own() {
  if (state_ && cache_->slots_.holders(*state_) == 1) return;
  const StateId own = cache_->slots_.acquire();
  if (state_) {
    cache_->ops_.copy_state(*cache_->states_, *state_, own);
    cache_->slots_.release(*state_);
    ++cache_->counters_.copied_states;
  } else {
    cache_->ops_.clear_state(*cache_->states_, own);
  }
  state_ = own;
}

void CachedSequence::snapshot() {
  if (!state_ || (!snapshots_.empty() && snapshots_.back().length == length_)) return;
  snapshots_.push_back({length_, *state_});
  cache_->slots_.retain(*state_);
}

int CachedSequence::longest_within(int limit) const {
  if (limit >= length_) return length_;
  if (cache_ == nullptr || !cache_->shape_.has_state()) return std::max(limit, 0);
  int longest = 0;
  for (const Snapshot& snapshot : snapshots_) {
    if (snapshot.length <= limit) longest = snapshot.length;
  }
  return longest;
}

bool CachedSequence::can_truncate(int length) const {
  return length >= 0 && length <= length_ && longest_within(length) == length;
}

void CachedSequence::truncate(int length) {
  CB_CHECK(can_truncate(length));
  if (length == length_) return;
  if (length == 0) return clear();
  drop_snapshots_beyond(length);
  if (cache_->shape_.has_kv()) {
    for (; static_cast<int>(pages_.size()) > pages_for(length); pages_.pop_back()) {
      cache_->pages_.release(pages_.back());
    }
  }
  if (state_) {
    cache_->slots_.release(*state_);
    state_ = snapshots_.back().state;
    cache_->slots_.retain(*state_);
  }
  length_ = length;
}

void CachedSequence::drop_snapshots_beyond(int length) {
  for (; !snapshots_.empty() && snapshots_.back().length > length; snapshots_.pop_back()) {
    cache_->slots_.release(snapshots_.back().state);
  }
}

void CachedSequence::clear() {
  if (cache_ == nullptr) return;
  drop_snapshots_beyond(-1);
  for (const PageId page : pages_) cache_->pages_.release(page);
  pages_.clear();
  if (state_) cache_->slots_.release(*state_);
  state_.reset();
  length_ = 0;
}

}  // namespace counterbeam
