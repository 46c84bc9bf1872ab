#include "text/score_merges.h"

#include <algorithm>
#include <tuple>

#include "base/utf8.h"

namespace counterbeam {
namespace {

struct ScoredMerge {
  float score;
  TokenId left, right;
  std::uint16_t left_chars, right_chars;
};

std::uint16_t count_chars(std::string_view text) {
  const auto starts = std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  });
  return static_cast<std::uint16_t>(starts);
}

}  // namespace

bool add_score_merges(Bpe& bpe, const std::vector<float>& scores,
                      const std::vector<bool>& mergeable, std::size_t most) {
  const Vocabulary& vocabulary = bpe.vocabulary();
  std::vector<ScoredMerge> merges;
  for (TokenId id = 0; id < vocabulary.id_limit(); ++id) {
    const auto index = static_cast<std::size_t>(id);
    if (!mergeable[index]) continue;
    const std::string_view text = *vocabulary.text(id);
    const std::size_t first = merges.size();
    unsigned length = 0;
    for (std::size_t at = 0; at < text.size(); at += length) {
      char_at(text, at, length);
      if (at == 0) continue;
      const auto left = vocabulary.find(text.substr(0, at));
      const auto right = left ? vocabulary.find(text.substr(at)) : std::nullopt;
      if (!right) continue;
      if (merges.size() == most) return false;
      merges.push_back({scores[index], *left, *right, count_chars(text.substr(0, at)),
                        count_chars(text.substr(at))});
    }
    std::sort(merges.begin() + static_cast<std::ptrdiff_t>(first), merges.end(),
              [](const ScoredMerge& a, const ScoredMerge& b) {
                return std::tie(a.left, a.right) < std::tie(b.left, b.right);
              });
  }
  std::stable_sort(merges.begin(), merges.end(), [](const ScoredMerge& a, const ScoredMerge& b) {
    return std::tie(a.score, a.left_chars, a.right_chars) >
           std::tie(b.score, b.left_chars, b.right_chars);
  });
  bpe.reserve_merges(merges.size());
  std::uint32_t rank = 0;
  for (const ScoredMerge& merge : merges) bpe.add_merge(merge.left, merge.right, rank++);
  return true;
}

}  // namespace counterbeam
