#include "theory/toy_model.h"

#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"

namespace counterbeam {
namespace {

constexpr double kMostSequences = 1e6;
constexpr std::array<const char*, 3> kContextNames = {"base", "positive", "negative"};

void normalise(std::span<double> weights) {
  double sum = 0;
  for (double weight : weights) sum += weight;
  for (double& weight : weights) weight /= sum;
}

int read_size(const Json& json, const char* key, const std::string& file, int most) {
  if (!json.contains(key) || !json[key].is_number_integer())
    bad_input("{}: \"{}\" must be a whole number", file, key);
  const auto value = json[key].get<std::int64_t>();
  if (value < 1 || value > most)
    bad_input("{}: \"{}\" is {}; allowed: 1 to {}", file, key, value, most);
  return static_cast<int>(value);
}

std::string prefix_name(std::span<const TokenId> prefix) {
  return fmt::format("{}", fmt::join(prefix, " "));
}

void read_row(std::span<double> row, const Json& table, const std::string& prefix,
              const std::string& place) {
  if (!table.contains(prefix)) bad_input("{}: prefix \"{}\" is missing", place, prefix);
  const Json& values = table[prefix];
  if (!values.is_array() || values.size() != row.size())
    bad_input("{}: prefix \"{}\" must be a list of {} probabilities", place, prefix, row.size());
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!values[i].is_number() || !(values[i].get<double>() > 0))
      bad_input("{}: prefix \"{}\", token {}: a probability above 0 is needed", place, prefix, i);
    sum += row[i] = values[i].get<double>();
  }
  if (std::abs(sum - 1) > 1e-6)
    bad_input("{}: prefix \"{}\" sums to {}, not 1", place, prefix, sum);
  normalise(row);
}

}  // namespace

ToyModel::ToyModel(int vocab, int horizon) : vocab_(vocab), horizon_(horizon) {
  if (vocab < 1 || horizon < 1 || std::pow(vocab, horizon) > kMostSequences)
    bad_input("a toy model of {} tokens over {} steps has {:.3g} answers; allowed: 1 to {:.0f}",
              vocab, horizon, std::pow(vocab, horizon), kMostSequences);
  std::size_t prefixes = 0;
  each_prefix([&](std::span<const TokenId>) { ++prefixes; });
  for (auto& table : tables_) table.assign(prefixes * static_cast<std::size_t>(vocab), 1.0 / vocab);
}

ToyModel ToyModel::random(int vocab, int horizon, std::uint64_t seed, double contrast,
                          bool balanced) {
  if (balanced && vocab % 2 != 0)
    bad_input("a balanced toy model needs an even vocabulary, not {}", vocab);
  ToyModel model(vocab, horizon);
  std::uint32_t prefix_number = 0;
  model.each_prefix([&](std::span<const TokenId> prefix) {
    const auto base = model.probabilities(ToyContext::Base, prefix);
    const auto positive = model.probabilities(ToyContext::Positive, prefix);
    const auto negative = model.probabilities(ToyContext::Negative, prefix);
    const auto draw = [&](std::uint32_t what, std::size_t token) {
      return 2 * uniform({seed, prefix_number, what, static_cast<std::uint32_t>(token), 0,
                          DrawUse::ToyModels}) -
             1;
    };
    for (std::size_t v = 0; v < base.size(); ++v) {
      base[v] = std::exp(1.5 * draw(0, balanced ? v / 2 : v));
      positive[v] = std::exp(contrast * draw(1, v));
      negative[v] = std::exp(contrast * draw(2, v));
    }
    // The two tokens of a pair are equally likely and swap probabilities between the positive and
    // the negative context, so their rewards cancel.
    if (balanced)
      for (std::size_t v = 0; v < base.size(); ++v) negative[v] = positive[v ^ 1];
    normalise(base);
    normalise(positive);
    normalise(negative);
    ++prefix_number;
  });
  return model;
}

ToyModel ToyModel::read(const std::filesystem::path& path) {
  const Json json = read_json_file(path);
  const std::string file = path.string();
  if (!json.is_object()) bad_input("{}: an object with vocab, horizon and tables is needed", file);
  ToyModel model(read_size(json, "vocab", file, 1000), read_size(json, "horizon", file, 20));
  for (std::size_t c = 0; c < kContextNames.size(); ++c) {
    const std::string place = fmt::format("{}: \"{}\"", file, kContextNames[c]);
    if (!json.contains(kContextNames[c]) || !json[kContextNames[c]].is_object())
      bad_input("{} is missing: an object from prefix (\"\", \"0\", \"0 1\") to probabilities",
                place);
    const Json& table = json[kContextNames[c]];
    model.each_prefix([&](std::span<const TokenId> prefix) {
      read_row(model.probabilities(static_cast<ToyContext>(c), prefix), table, prefix_name(prefix),
               place);
    });
  }
  return model;
}

std::size_t ToyModel::index(std::span<const TokenId> tokens) const {
  std::size_t place = 0;
  for (TokenId token : tokens) {
    CB_CHECK(token >= 0 && token < vocab_);
    place = place * static_cast<std::size_t>(vocab_) + static_cast<std::size_t>(token);
  }
  return place;
}

std::size_t ToyModel::offset(std::span<const TokenId> prefix) const {
  CB_CHECK(static_cast<int>(prefix.size()) < horizon_);
  std::size_t shorter = 0, count = 1;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    shorter += count;
    count *= static_cast<std::size_t>(vocab_);
  }
  return (shorter + index(prefix)) * static_cast<std::size_t>(vocab_);
}

std::span<const double> ToyModel::probabilities(ToyContext context,
                                                std::span<const TokenId> prefix) const {
  return std::span(tables_[static_cast<std::size_t>(context)])
      .subspan(offset(prefix), static_cast<std::size_t>(vocab_));
}

std::span<double> ToyModel::probabilities(ToyContext context, std::span<const TokenId> prefix) {
  return std::span(tables_[static_cast<std::size_t>(context)])
      .subspan(offset(prefix), static_cast<std::size_t>(vocab_));
}

double ToyModel::reward(std::span<const TokenId> prefix, TokenId token) const {
  const auto v = static_cast<std::size_t>(token);
  return std::log(probabilities(ToyContext::Positive, prefix)[v]) -
         std::log(probabilities(ToyContext::Negative, prefix)[v]);
}

}  // namespace counterbeam
