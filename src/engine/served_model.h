// The model that a server computes, as far as a client can tell: its name there and how likely it
// finds a known text. Names alone prove little, since any model can be served under any name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace counterbeam {

struct ServedModel {
  std::string id{};               // what the server calls it
  std::string root{};             // what it is loaded from; empty: not said
  std::int64_t max_length = 0;    // 0: not said
  std::vector<float> logprobs{};  // of the known tokens after the first; empty: not given
};

// Two readings of one model are at most this far apart, in nats per token on average. Measured on
// the known text with the models that ship: float32 and bf16 weights 0.011 and 0.012, with a cache
// of int8 up to 0.023, weights rounded to int8 0.030; logits that a server rounds to bf16 add up to
// 0.06 where they are above 16. Other weights are further away: fp8 0.13, int4 0.5, another model
// 4.6. The mean counts because a single unlikely token may be off by much more.
inline constexpr double kSameModelDistance = 0.1;

// The mean distance over the tokens that both have; none where one of them has none.
std::optional<double> mean_distance(std::span<const float> a, std::span<const float> b);

// How `found` differs from `expected`, in words that go after "it": empty where nothing shows that
// it is another model.
std::string difference(const ServedModel& expected, const ServedModel& found);

}  // namespace counterbeam
