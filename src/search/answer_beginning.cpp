#include "search/answer_beginning.h"

#include "text/jinja/chars.h"

namespace counterbeam {
namespace {

// The first `size` bytes of the pieces, then `more`, which the template did not write.
std::vector<PromptPiece> with_end(std::vector<PromptPiece> pieces, std::size_t size,
                                  std::string_view more) {
  std::vector<PromptPiece> kept;
  for (PromptPiece& piece : pieces) {
    if (size == 0) break;
    if (piece.text.size() > size) piece.text.resize(size);
    size -= piece.text.size();
    kept.push_back(std::move(piece));
  }
  if (more.empty()) return kept;
  if (kept.empty() || kept.back().trusted) kept.push_back({"", false});
  kept.back().text += more;
  return kept;
}

// Where the last occurrence of `words` in untrusted text ends.
std::optional<std::size_t> last_end_of(std::string_view words,
                                       const std::vector<PromptPiece>& pieces, std::size_t size) {
  for (std::size_t i = pieces.size(); i-- > 0;) {
    size -= pieces[i].text.size();
    if (pieces[i].trusted) continue;
    const auto place = pieces[i].text.rfind(words);
    if (place != std::string::npos) return size + place + words.size();
  }
  return std::nullopt;
}

}  // namespace

std::string joined(const std::vector<PromptPiece>& pieces) {
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

std::optional<std::vector<PromptPiece>> cut_after_beginning(
    std::vector<PromptPiece> pieces, const std::optional<std::string>& before,
    std::string_view beginning) {
  const std::size_t end = jinja::trim_end(beginning);
  const std::string_view kept = jinja::trim_space(beginning);
  const std::string text = joined(pieces);
  if (before && text.starts_with(*before)) {
    const std::string_view rest = std::string_view(text).substr(before->size());
    for (const std::string_view form : {beginning.substr(0, end), kept})
      if (rest.starts_with(form))
        return with_end(std::move(pieces), before->size() + form.size(), beginning.substr(end));
  }
  const auto place = last_end_of(kept, pieces, text.size());
  if (!place) return std::nullopt;
  return with_end(std::move(pieces), *place, beginning.substr(end));
}

}  // namespace counterbeam
