#include "text/added_tokens.h"

#include <algorithm>

#include "base/unicode.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

// A word character as Hugging Face's tokenizers define it, which includes the two joiners.
bool is_wordlike(char32_t point) {
  return is_word(point) || point == 0x200C || point == 0x200D;
}

bool stands_alone(std::string_view text, TextSpan span) {
  unsigned length;
  if (span.begin > 0 && is_wordlike(char_at(text, char_before(text, span.begin), length)))
    return false;
  return span.end == text.size() || !is_wordlike(char_at(text, span.end, length));
}

std::uint32_t without_space_before(std::string_view text, std::uint32_t begin) {
  unsigned length;
  while (begin > 0) {
    const std::size_t before = char_before(text, begin);
    if (!is_white_space(char_at(text, before, length))) break;
    begin = static_cast<std::uint32_t>(before);
  }
  return begin;
}

std::uint32_t without_space_after(std::string_view text, std::uint32_t end) {
  unsigned length;
  while (end < text.size() && is_white_space(char_at(text, end, length))) end += length;
  return end;
}

// The first untrusted span that ends after `at`.
const TextSpan* untrusted_after(const std::vector<TextSpan>& untrusted, std::uint32_t at) {
  const auto found =
      std::upper_bound(untrusted.begin(), untrusted.end(), at,
                       [](std::uint32_t place, const TextSpan& span) { return place < span.end; });
  return found == untrusted.end() ? nullptr : &*found;
}

}  // namespace

std::uint32_t TextFinder::child(std::uint32_t node, char byte) const {
  const auto found = edges_.find(std::uint64_t{node} << 8 | static_cast<unsigned char>(byte));
  return found == edges_.end() ? kNone : found->second;
}

bool TextFinder::add(std::string_view text, std::uint32_t value) {
  std::uint32_t node = 0;
  for (const char byte : text) {
    const auto [edge, fresh] =
        edges_.try_emplace(std::uint64_t{node} << 8 | static_cast<unsigned char>(byte),
                           static_cast<std::uint32_t>(values_.size()));
    if (fresh) values_.push_back(kNone);
    node = edge->second;
  }
  starts_[static_cast<unsigned char>(text[0])] = true;
  if (values_[node] != kNone) return false;
  values_[node] = value;
  return true;
}

std::optional<TextFinder::Found> TextFinder::longest_at(std::string_view text,
                                                        std::size_t at) const {
  std::optional<Found> best;
  std::uint32_t node = 0;
  for (std::size_t end = at; end < text.size();) {
    node = child(node, text[end++]);
    if (node == kNone) break;
    if (values_[node] != kNone)
      best =
          Found{{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)}, values_[node]};
  }
  return best;
}

std::optional<TextFinder::Found> TextFinder::find(std::string_view text, std::size_t from) const {
  for (std::size_t at = from; at < text.size(); ++at)
    if (starts_[static_cast<unsigned char>(text[at])])
      if (auto found = longest_at(text, at)) return found;
  return std::nullopt;
}

bool AddedTokens::add(AddedToken token, std::string pattern) {
  const auto index = static_cast<std::uint32_t>(tokens_.size());
  if (!pattern.empty() && !(token.normalized ? normal_ : raw_).add(pattern, index)) return false;
  if (token.special) special_.insert(token.content);
  by_id_.insert_or_assign(token.id, index);
  by_content_.insert_or_assign(token.content, index);
  tokens_.push_back(std::move(token));
  patterns_.push_back(std::move(pattern));
  return true;
}

const AddedToken* AddedTokens::by_id(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::by_content(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

std::optional<std::string_view> AddedTokens::text(TokenId id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return patterns_[found->second];
}

void AddedTokens::cut(std::string_view text, bool normalized,
                      const std::vector<TextSpan>& untrusted, std::vector<Part>& parts) const {
  const TextFinder& finder = normalized ? normal_ : raw_;
  std::uint32_t done = 0;  // everything before this offset is already in `parts`
  std::size_t from = 0;
  while (!finder.empty()) {
    const auto found = finder.find(text, from);
    if (!found) break;
    const AddedToken& token = tokens_[found->value];
    auto [begin, end] = found->span;
    from = end;
    if (token.special) {
      const TextSpan* doubt = untrusted_after(untrusted, begin);
      if (doubt && doubt->begin < end) {
        // Resume inside the rejected match: untrusted text must not hide a token of the template
        // that starts within it.
        from = std::max<std::size_t>(begin + 1, std::min(end, doubt->end));
        continue;
      }
    }
    if (token.single_word && !stands_alone(text, found->span)) continue;
    if (token.lstrip) begin = std::max(without_space_before(text, begin), done);
    if (token.rstrip) end = without_space_after(text, end);
    if (done < begin) parts.push_back({{done, begin}, std::nullopt});
    parts.push_back({{begin, end}, token.id});
    done = end;
  }
  if (done != text.size())
    parts.push_back({{done, static_cast<std::uint32_t>(text.size())}, std::nullopt});
}

}  // namespace counterbeam
