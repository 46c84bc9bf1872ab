// Makes a byte-pair tokenizer of the input up to the first zero byte (two bytes per merge rule) and
// compares its ids for the rest with byte-pair encoding as it is defined: merge the adjacent pair
// of lowest rank, leftmost first, until no rule applies.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include "base/json.h"
#include "scratch_file.h"
#include "text/tokenizer.h"

using namespace counterbeam;

namespace {

constexpr std::string_view kAlphabet = "abcdefgh";

struct Rules {
  std::vector<std::string> tokens;                                  // by id
  std::map<std::pair<std::string, std::string>, std::size_t> rank;  // of a merge
  std::vector<std::pair<std::string, std::string>> merges;
};

Rules rules_of(std::string_view bytes) {
  Rules rules;
  for (const char letter : kAlphabet) rules.tokens.emplace_back(1, letter);
  for (std::size_t i = 0; i + 1 < bytes.size() && rules.merges.size() < 64; i += 2) {
    const auto pick = [&](char c) {
      return rules.tokens[static_cast<std::uint8_t>(c) % rules.tokens.size()];
    };
    const std::pair pair(pick(bytes[i]), pick(bytes[i + 1]));
    const std::string merged = pair.first + pair.second;
    if (merged.size() > 64 || !rules.rank.emplace(pair, rules.merges.size()).second) continue;
    rules.merges.push_back(pair);
    if (std::find(rules.tokens.begin(), rules.tokens.end(), merged) == rules.tokens.end())
      rules.tokens.push_back(merged);
  }
  return rules;
}

Tokenizer tokenizer_of(const Rules& rules) {
  Json vocabulary = Json::object(), merges = Json::array();
  for (std::size_t id = 0; id < rules.tokens.size(); ++id) vocabulary[rules.tokens[id]] = id;
  for (const auto& [left, right] : rules.merges) merges.push_back({left, right});
  const Json json = {{"version", "1.0"},
                     {"added_tokens", Json::array()},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", nullptr},
                     {"post_processor", nullptr},
                     {"decoder", nullptr},
                     {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
  return Tokenizer::parse(to_line(json), "tokenizer.json", "", "");
}

std::vector<std::string> naive(const Rules& rules, const std::string& text) {
  std::vector<std::string> parts;
  for (const char letter : text) parts.emplace_back(1, letter);
  for (;;) {
    std::size_t best = std::numeric_limits<std::size_t>::max(), at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      if (const auto found = rules.rank.find({parts[i], parts[i + 1]});
          found != rules.rank.end() && found->second < best) {
        best = found->second;
        at = i;
      }
    if (best == std::numeric_limits<std::size_t>::max()) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const Rules rules = rules_of(next_part(rest));
  std::string text;
  for (const char c : rest.substr(0, 300)) text += kAlphabet[static_cast<std::uint8_t>(c) % 8];
  const Tokenizer tokenizer = tokenizer_of(rules);
  const std::vector<TokenId> ids = tokenizer.encode(text);
  const std::vector<std::string> expected = naive(rules, text);
  CB_CHECK(ids.size() == expected.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    CB_CHECK(rules.tokens[static_cast<std::size_t>(ids[i])] == expected[i]);
  return 0;
}
