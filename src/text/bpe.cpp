#include "text/bpe.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/byte_level.h"

namespace counterbeam {
namespace {

constexpr std::uint32_t kNoRank = ~std::uint32_t{0};
constexpr std::size_t kFew = 32;  // up to this many symbols a linear scan is faster than a heap

std::uint64_t pair_of(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

std::size_t pair_hash(std::uint64_t pair) {
  const std::uint64_t mixed = pair * 0x9E3779B97F4A7C15u;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

}  // namespace

Bpe::Bpe(Vocabulary vocabulary, BpeOptions options)
    : vocabulary_(std::move(vocabulary)), options_(std::move(options)), merges_(64) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] =
        vocabulary_.find(to_utf8(byte_to_char(static_cast<unsigned char>(byte)))).value_or(-1);
    fallbacks_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
}

void Bpe::reserve_merges(std::size_t count) {
  std::size_t size = merges_.size();
  while (size < count * 2) size *= 2;
  std::vector<Merge> old(size);
  old.swap(merges_);
  for (const Merge& entry : old)
    if (entry.pair != kNoPair) merge_slot(entry.pair) = entry;
}

Bpe::Merge& Bpe::merge_slot(std::uint64_t pair) {
  std::size_t slot = pair_hash(pair) & (merges_.size() - 1);
  while (merges_[slot].pair != kNoPair && merges_[slot].pair != pair)
    slot = (slot + 1) & (merges_.size() - 1);
  return merges_[slot];
}

const Bpe::Merge* Bpe::merge(TokenId left, TokenId right) const {
  const std::uint64_t pair = pair_of(left, right);
  std::size_t slot = pair_hash(pair) & (merges_.size() - 1);
  for (;; slot = (slot + 1) & (merges_.size() - 1)) {
    if (merges_[slot].pair == pair) return &merges_[slot];
    if (merges_[slot].pair == kNoPair) return nullptr;
  }
}

bool Bpe::add_merge(TokenId left, TokenId right, std::uint32_t rank) {
  std::string_view tail = *vocabulary_.text(right);
  tail.remove_prefix(std::min(options_.continuing_prefix.size(), tail.size()));
  merged_.assign(*vocabulary_.text(left)).append(tail);
  const auto result = vocabulary_.find(merged_);
  if (!result) return false;
  if ((merge_count_ + 1) * 2 > merges_.size()) reserve_merges(merge_count_ + 1);
  Merge& slot = merge_slot(pair_of(left, right));
  if (slot.pair == kNoPair) ++merge_count_;
  slot = {pair_of(left, right), rank, *result};
  return true;
}

void Bpe::exclude(const std::vector<TokenId>& tokens) {
  excluded_ = tokens;
  std::sort(excluded_.begin(), excluded_.end());
  if (std::none_of(merges_.begin(), merges_.end(), [&](const Merge& entry) {
        return entry.pair != kNoPair && is_excluded(entry.result);
      }))
    return;
  std::vector<Merge> old(merges_.size());
  old.swap(merges_);
  for (const Merge& entry : old)
    if (entry.pair != kNoPair && !is_excluded(entry.result)) merge_slot(entry.pair) = entry;
}

bool Bpe::is_excluded(TokenId token) const {
  return std::binary_search(excluded_.begin(), excluded_.end(), token);
}

TokenId Bpe::unknown_id() const {
  const auto id = vocabulary_.find(*options_.unknown);
  if (!id)
    bad_input(
        "tokenizer.json: model.unk_token {} is not in model.vocab, and the text has a character "
        "that no token covers; add the token to the vocabulary or set unk_token to null",
        in_quotes(*options_.unknown));
  return *id;
}

void Bpe::start_bytes(std::string_view piece, Scratch& scratch) const {
  for (const char byte : piece) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id >= 0) scratch.symbols.push_back(id);
  }
}

bool Bpe::fall_back_to_bytes(std::string_view text, Scratch& scratch) const {
  for (const char byte : text)
    if (fallbacks_[static_cast<unsigned char>(byte)] < 0) return false;
  for (const char byte : text)
    scratch.symbols.push_back(fallbacks_[static_cast<unsigned char>(byte)]);
  return true;
}

// As in Hugging Face's tokenizers, an unknown token is emitted only when a known character follows,
// so that several can be fused, and byte-fallback tokens are emitted before a pending one.
void Bpe::start_chars(std::string_view piece, Scratch& scratch) const {
  bool waiting = false;
  std::string affixed;
  for (std::size_t at = 0; at < piece.size();) {
    unsigned length;
    char_at(piece, at, length);
    const bool first = at == 0, last = at + length == piece.size();
    std::string_view text = piece.substr(at, length);
    if ((!first && !options_.continuing_prefix.empty()) || (last && !options_.end_suffix.empty())) {
      affixed = first ? "" : options_.continuing_prefix;
      affixed.append(text).append(last ? options_.end_suffix : "");
      text = affixed;
    }
    at += length;
    if (const auto id = vocabulary_.find(text)) {
      if (waiting) scratch.symbols.push_back(unknown_id());
      waiting = false;
      scratch.symbols.push_back(*id);
    } else if (options_.byte_fallback && fall_back_to_bytes(text, scratch)) {
      continue;
    } else if (options_.unknown) {
      if (waiting && !options_.fuse_unknown) scratch.symbols.push_back(unknown_id());
      waiting = true;
    }
  }
  if (waiting) scratch.symbols.push_back(unknown_id());
}

void Bpe::join_few(Scratch& scratch) const {
  TokenId ids[kFew], results[kFew];
  std::uint32_t ranks[kFew];
  std::size_t count = scratch.symbols.size();
  std::copy(scratch.symbols.begin(), scratch.symbols.end(), ids);
  const auto look_up = [&](std::size_t at) {
    const Merge* found = merge(ids[at], ids[at + 1]);
    ranks[at] = found ? found->rank : kNoRank;
    results[at] = found ? found->result : 0;
  };
  for (std::size_t at = 0; at + 1 < count; ++at) look_up(at);
  while (count > 1) {
    const std::size_t best =
        static_cast<std::size_t>(std::min_element(ranks, ranks + count - 1) - ranks);
    if (ranks[best] == kNoRank) break;
    ids[best] = results[best];
    std::copy(ids + best + 2, ids + count, ids + best + 1);
    --count;
    if (best + 1 < count) {
      std::copy(ranks + best + 2, ranks + count, ranks + best + 1);
      std::copy(results + best + 2, results + count, results + best + 1);
    }
    if (best > 0) look_up(best - 1);
    if (best + 1 < count) look_up(best);
  }
  scratch.symbols.assign(ids, ids + count);
}

// Like join_few, with a linked list and a heap of candidate merges. A candidate whose pair has
// changed in the meantime is skipped.
void Bpe::join_many(Scratch& scratch) const {
  constexpr std::uint32_t kEnd = ~std::uint32_t{0};
  auto& symbols = scratch.symbols;
  auto& next = scratch.next;
  auto& previous = scratch.previous;
  auto& heap = scratch.heap;
  const auto count = static_cast<std::uint32_t>(symbols.size());
  const auto later = [](const Scratch::Way& x, const Scratch::Way& y) { return x.order > y.order; };
  next.resize(count), previous.resize(count), heap.clear();
  const auto offer = [&](std::uint32_t at, bool sorted) {
    if (next[at] == kEnd) return;
    const Merge* found = merge(symbols[at], symbols[next[at]]);
    if (!found) return;
    heap.push_back({std::uint64_t{found->rank} << 32 | at, found->result});
    if (sorted) std::push_heap(heap.begin(), heap.end(), later);
  };
  for (std::uint32_t at = 0; at < count; ++at)
    next[at] = at + 1 < count ? at + 1 : kEnd, previous[at] = at > 0 ? at - 1 : kEnd;
  for (std::uint32_t at = 0; at < count; ++at) offer(at, false);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    const Scratch::Way way = heap.front();
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    const auto at = static_cast<std::uint32_t>(way.order);
    if (symbols[at] < 0 || next[at] == kEnd) continue;
    const Merge* found = merge(symbols[at], symbols[next[at]]);
    if (!found || found->result != way.result) continue;
    const std::uint32_t gone = next[at];
    symbols[at] = way.result;
    symbols[gone] = -1;
    next[at] = next[gone];
    if (next[at] != kEnd) previous[next[at]] = at;
    if (previous[at] != kEnd) offer(previous[at], true);
    offer(at, true);
  }
  std::erase(symbols, -1);
}

void Bpe::encode_anew(std::string_view piece, bool bytes, Scratch& scratch) const {
  scratch.symbols.clear();
  if (options_.ignore_merges) {
    const auto whole = bytes ? vocabulary_.find(bytes_to_chars(piece)) : vocabulary_.find(piece);
    if (whole && !is_excluded(*whole)) {
      scratch.symbols.push_back(*whole);
      return;
    }
  }
  const bool plain = options_.continuing_prefix.empty() && options_.end_suffix.empty() &&
                     !options_.unknown && !options_.byte_fallback;
  if (bytes && plain)
    start_bytes(piece, scratch);
  else if (bytes)
    start_chars(bytes_to_chars(piece), scratch);
  else
    start_chars(piece, scratch);
  if (scratch.symbols.size() <= kFew)
    join_few(scratch);
  else
    join_many(scratch);
}

void Bpe::encode(std::string_view piece, bool bytes, std::vector<TokenId>& ids,
                 Scratch& scratch) const {
  Scratch::Entry* entry = nullptr;
  if (piece.size() <= Scratch::kKey) {
    auto& seen = bytes ? scratch.seen_bytes : scratch.seen_chars;
    if (seen.empty()) seen.resize(Scratch::kEntries);
    entry = &seen[hash_text(piece) % Scratch::kEntries];
    if (entry->count > 0 && entry->length == piece.size() &&
        std::memcmp(entry->key, piece.data(), piece.size()) == 0) {
      ids.insert(ids.end(), entry->ids, entry->ids + entry->count);
      return;
    }
  }
  encode_anew(piece, bytes, scratch);
  ids.insert(ids.end(), scratch.symbols.begin(), scratch.symbols.end());
  if (!entry || scratch.symbols.size() > Scratch::kIds) return;
  entry->length = static_cast<std::uint8_t>(piece.size());
  entry->count = static_cast<std::uint8_t>(scratch.symbols.size());
  std::memcpy(entry->key, piece.data(), piece.size());
  std::copy(scratch.symbols.begin(), scratch.symbols.end(), entry->ids);
}

}  // namespace counterbeam
