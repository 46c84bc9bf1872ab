// Runs a model without the engine: feeds sequences in pieces, alone or several in one batch, and
// returns the full logits of every row.
#pragma once

#include <memory>
#include <vector>

#include "backend/ops.h"
#include "cache/cache.h"
#include "model/model.h"
#include "tensor/safetensors.h"

namespace counterbeam::testing {

using Logits = std::vector<std::vector<float>>;  // [rows][vocab]

struct Piece {
  CachedSequence* sequence;
  std::vector<TokenId> ids;
};

class Runner {
 public:
  Runner(std::unique_ptr<Ops> ops, const ModelConfig& config, WeightSource& weights)
      : ops_(std::move(ops)),
        model_(load_model(config, *ops_, weights)),
        cache_(*ops_, cache_shape(config), {.pages = 64, .states = 16}) {}

  CachedSequence start() { return CachedSequence(cache_); }
  Cache& cache() { return cache_; }
  Ops& ops() { return *ops_; }
  int vocab() const { return model_->config().vocab; }

  // Runs one batch. Returns the logits of all rows of the first piece.
  Logits feed(const std::vector<Piece>& pieces) {
    std::vector<TokenId> ids;
    std::vector<Segment> segments;
    for (const Piece& piece : pieces) {
      const int rows = static_cast<int>(piece.ids.size()), position = piece.sequence->length();
      piece.sequence->append(rows);
      segments.push_back({static_cast<int>(ids.size()), rows, position, piece.sequence->pages(),
                          piece.sequence->state()});
      ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
    }
    std::vector<int> wanted;
    for (int r = 0; r < static_cast<int>(pieces[0].ids.size()); ++r) wanted.push_back(r);
    const Batch batch{ids, segments};
    const Matrix x = model_->forward(*ops_, batch, cache_, wanted);
    std::vector<float> flat(wanted.size() * static_cast<std::size_t>(vocab()));
    ops_->logits(flat, x, model_->head());
    Logits rows;
    for (std::size_t r = 0; r < wanted.size(); ++r) {
      const auto at = flat.begin() + static_cast<std::ptrdiff_t>(r) * vocab();
      rows.emplace_back(at, at + vocab());
    }
    return rows;
  }

 private:
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Model> model_;
  Cache cache_;
};

inline void append(Logits& all, Logits more) {
  for (auto& row : more) all.push_back(std::move(row));
}

// Different ways to compute the same logits: how a sequence is split into batches, and what else is
// in the batch.
inline Logits by_prefill(Runner& runner, const std::vector<TokenId>& ids) {
  CachedSequence sequence = runner.start();
  return runner.feed({{&sequence, ids}});
}

inline Logits by_pieces(Runner& runner, const std::vector<TokenId>& ids,
                        const std::vector<std::size_t>& sizes) {
  CachedSequence sequence = runner.start();
  Logits all;
  for (std::size_t at = 0, i = 0; at < ids.size(); ++i) {
    const std::size_t count = std::min(sizes[i % sizes.size()], ids.size() - at);
    append(all, runner.feed({{&sequence,
                              {ids.begin() + static_cast<std::ptrdiff_t>(at),
                               ids.begin() + static_cast<std::ptrdiff_t>(at + count)}}}));
    at += count;
  }
  return all;
}

// Feeds every piece to a fork of the sequence, and other tokens to the original.
inline Logits by_forks(Runner& runner, const std::vector<TokenId>& ids) {
  CachedSequence sequence = runner.start();
  Logits all;
  for (std::size_t at = 0; at < ids.size(); at += 3) {
    CachedSequence fork = sequence.fork();
    runner.feed({{&sequence, {1, 2, 3, 4, 5}}});
    const std::size_t end = std::min(at + 3, ids.size());
    append(all, runner.feed({{&fork,
                              {ids.begin() + static_cast<std::ptrdiff_t>(at),
                               ids.begin() + static_cast<std::ptrdiff_t>(end)}}}));
    sequence = std::move(fork);
  }
  return all;
}

// With other sequences before and after it in the batch.
inline Logits in_company(Runner& runner, const std::vector<TokenId>& ids) {
  CachedSequence sequence = runner.start(), first = runner.start(), second = runner.start();
  Logits all;
  for (std::size_t at = 0; at < ids.size(); at += 2) {
    const std::size_t end = std::min(at + 2, ids.size());
    append(all, runner.feed({{&sequence,
                              {ids.begin() + static_cast<std::ptrdiff_t>(at),
                               ids.begin() + static_cast<std::ptrdiff_t>(end)}},
                             {&first, {7, 8, 9}},
                             {&second, {ids[at]}}}));
  }
  return all;
}

}  // namespace counterbeam::testing
