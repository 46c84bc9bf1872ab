// A toy language model: a small vocabulary, a fixed horizon, and tables of next-token probabilities
// under three contexts (base, positive, negative) for every prefix. It is small enough to
// enumerate, so that the quantities that search approximates can be computed exactly.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/ids.h"

namespace counterbeam {

enum class ToyContext { Base, Positive, Negative };

class ToyModel {
 public:
  // Every answer has `horizon` tokens from a vocabulary of `vocab`. REQUIRES: vocab^horizon <= 10^6
  ToyModel(int vocab, int horizon);

  // Random tables; rewards grow with `contrast`. With `balanced` the mean reward under the base
  // model is zero after every prefix. REQUIRES: an even vocabulary if balanced
  static ToyModel random(int vocab, int horizon, std::uint64_t seed, double contrast,
                         bool balanced = false);

  // Reads {"vocab", "horizon", "base": {"": [p...], "0": [...], "0 1": [...]}, "positive",
  // "negative"}. Errors name the context and the prefix.
  static ToyModel read(const std::filesystem::path& path);

  int vocab() const { return vocab_; }
  int horizon() const { return horizon_; }

  // Of the next token. REQUIRES: prefix.size() < horizon
  std::span<const double> probabilities(ToyContext context, std::span<const TokenId> prefix) const;
  std::span<double> probabilities(ToyContext context, std::span<const TokenId> prefix);

  // log p(token | positive) - log p(token | negative)
  double reward(std::span<const TokenId> prefix, TokenId token) const;

  // Calls visit(prefix) for every prefix shorter than the horizon, shortest first.
  template <typename Visit>
  void each_prefix(Visit visit) const {
    for (int length = 0; length < horizon_; ++length) each_sequence(length, visit);
  }

  // Calls visit(tokens) for every sequence of that length, in lexicographic order.
  template <typename Visit>
  void each_sequence(int length, Visit visit) const {
    std::vector<TokenId> tokens(static_cast<std::size_t>(length), 0);
    while (true) {
      visit(std::span<const TokenId>(tokens));
      std::size_t place = tokens.size();
      while (place > 0 && ++tokens[place - 1] == vocab_) tokens[--place] = 0;
      if (place == 0) return;
    }
  }

  // Index of a sequence among those of its length, in lexicographic order.
  std::size_t index(std::span<const TokenId> tokens) const;

 private:
  std::size_t offset(std::span<const TokenId> prefix) const;

  int vocab_;
  int horizon_;
  std::array<std::vector<double>, 3> tables_;  // per context; shorter prefixes come first
};

}  // namespace counterbeam
