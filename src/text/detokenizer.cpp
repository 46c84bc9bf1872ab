#include "text/detokenizer.h"

#include <optional>

#include "base/utf8.h"
#include "text/byte_level.h"

namespace counterbeam {
namespace {

std::string replace_all(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t found = what.empty() ? text.npos : text.find(what, at);
    out.append(text, at, found == text.npos ? text.npos : found - at);
    if (found == text.npos) return out;
    out.append(by);
    at = found + what.size();
  }
}

std::string_view stripped(std::string_view text, const Detokenizer::Strip& strip) {
  for (std::size_t i = 0; i < strip.start && text.starts_with(strip.content); ++i)
    text.remove_prefix(strip.content.size());
  for (std::size_t i = 0; i < strip.stop && text.ends_with(strip.content); ++i)
    text.remove_suffix(strip.content.size());
  return text;
}

// Whether the step needs the whole joined text before it can produce any output.
bool needs_whole(const Detokenizer::Step& step) {
  if (const auto* strip = std::get_if<Detokenizer::Strip>(&step)) return strip->stop > 0;
  if (const auto* replace = std::get_if<Detokenizer::Replace>(&step)) return !replace->one_char;
  return !std::holds_alternative<Detokenizer::Fuse>(step) &&
         !std::holds_alternative<Detokenizer::Metaspace>(step);
}

}  // namespace

std::optional<unsigned char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : token.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9', letter = (c | 32) >= 'a' && (c | 32) <= 'f';
    if (!digit && !letter) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit ? c - '0' : (c | 32) - 'a' + 10);
  }
  return static_cast<unsigned char>(value);
}

// What each step does with one token, or with a fragment of the joined text.
struct FeedStep {
  DetokenizerStream& stream;
  std::size_t step;
  std::string_view text;

  DetokenizerStream::State& state() const { return stream.states_[step]; }
  void next(std::string_view result) const { stream.feed(step + 1, result); }

  void operator()(const Detokenizer::ByteLevel&) const {
    std::string& held = state().held;
    append_token_bytes(text, held);
    const std::size_t ready = complete_prefix(held);
    if (ready == 0) return;
    next(to_valid_utf8(std::string_view(held).substr(0, ready)));
    held.erase(0, ready);
  }
  void operator()(const Detokenizer::ByteFallback&) const {
    if (const auto byte = fallback_byte(text)) {
      state().held.push_back(static_cast<char>(*byte));
      return;
    }
    stream.flush_fallback(step);
    next(text);
  }
  void operator()(const Detokenizer::Fuse&) const { next(text); }
  void operator()(const Detokenizer::Spaces&) const {
    if (state().seen++ > 0) next(" ");
    next(text);
  }
  void operator()(const Detokenizer::Strip& strip) const {
    if (!state().fused) return next(stripped(text, strip));
    std::string_view rest = text;
    while (state().cutting && !rest.empty()) {
      state().cutting = state().seen < strip.start && rest.starts_with(strip.content);
      if (!state().cutting) break;
      rest.remove_prefix(strip.content.size());
      ++state().seen;
    }
    if (!rest.empty()) next(rest);
  }
  void operator()(const Detokenizer::Metaspace& meta) const {
    const bool first = state().fused || state().seen++ == 0;
    next(replace_all(text, meta.mark, first && meta.drop_first ? "" : " "));
  }
  void operator()(const Detokenizer::Replace& replace) const {
    next(replace.pattern.replace(text, replace.by, stream.scratch_));
  }
  void operator()(const Detokenizer::Suffix& suffix) const {
    if (state().seen++ > 0) next(replace_all(state().held, suffix.suffix, " "));
    state().held = text;
  }
};

DetokenizerStream::DetokenizerStream(const Detokenizer& detokenizer)
    : detokenizer_(&detokenizer), states_(detokenizer.steps().size()) {
  bool fused = false;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].fused = fused;
    const auto& step = detokenizer.steps()[i];
    fused = fused || std::holds_alternative<Detokenizer::Fuse>(step) ||
            std::holds_alternative<Detokenizer::ByteLevel>(step);
  }
}

void DetokenizerStream::feed(std::size_t step, std::string_view text) {
  if (step == states_.size()) {
    out_.append(text);
    return;
  }
  if (states_[step].fused && needs_whole(detokenizer_->steps()[step]))
    states_[step].held.append(text);
  else
    std::visit(FeedStep{*this, step, text}, detokenizer_->steps()[step]);
}

// If the run of bytes is not valid UTF-8, every byte of it becomes U+FFFD.
void DetokenizerStream::flush_fallback(std::size_t step) {
  const std::string held = std::exchange(states_[step].held, {});
  if (held.empty()) return;
  if (is_valid_utf8(held)) return feed(step + 1, held);
  for (std::size_t i = 0; i < held.size(); ++i) feed(step + 1, "\uFFFD");
}

void DetokenizerStream::close(std::size_t step) {
  State& state = states_[step];
  const Detokenizer::Step& kind = detokenizer_->steps()[step];
  if (state.fused && needs_whole(kind)) {
    const std::string whole = std::exchange(state.held, {});
    state.fused = false;
    std::visit(FeedStep{*this, step, whole}, kind);
  }
  if (std::holds_alternative<Detokenizer::ByteLevel>(kind)) {
    if (!state.held.empty()) feed(step + 1, to_valid_utf8(std::exchange(state.held, {})));
  } else if (std::holds_alternative<Detokenizer::ByteFallback>(kind)) {
    flush_fallback(step);
  } else if (const auto* suffix = std::get_if<Detokenizer::Suffix>(&kind)) {
    if (state.seen > 0) feed(step + 1, replace_all(state.held, suffix->suffix, ""));
  }
}

void DetokenizerStream::finish() {
  for (std::size_t step = 0; step < states_.size(); ++step) close(step);
}

}  // namespace counterbeam
