#include "text/normalizer.h"

#include <algorithm>

#include "base/unicode.h"
#include "base/utf8.h"
#include "text/byte_level.h"

namespace counterbeam {
namespace {

std::size_t first_length(std::string_view text) {
  unsigned length = 0;
  if (!text.empty()) char_at(text, 0, length);
  return length;
}

// Rewrites the text one code point at a time: change(point, out) appends the replacement.
template <typename Change>
void rewrite(StagedText& staged, Change change) {
  std::string out;
  out.reserve(staged.text.size());
  std::size_t first_bytes = 0;
  for (std::size_t at = 0; at < staged.text.size();) {
    unsigned length;
    const char32_t point = char_at(staged.text, at, length);
    change(point, out);
    at += length;
    if (at <= staged.first_bytes) first_bytes = out.size();
  }
  staged = {std::move(out), first_bytes};
}

void keep_if(StagedText& staged, auto keep) {
  rewrite(staged, [&](char32_t point, std::string& out) {
    if (keep(point)) append_utf8(out, point);
  });
}

void lowercase(StagedText& staged) {
  rewrite(staged, [](char32_t point, std::string& out) {
    if (point == 0x130)
      out += "i\u0307";  // U+0130 is the only letter whose lower case is two characters
    else
      append_utf8(out, to_lower(point));
  });
}

struct ApplyNormalization {
  StagedText& staged;
  SplitPattern::Scratch& scratch;

  void operator()(NormalForm form) const {
    if (surely_normal(staged.text, form)) return;
    const bool from_start = staged.first_bytes > 0;
    staged.text = normalize(staged.text, form);
    staged.first_bytes = from_start ? std::max(first_length(staged.text), std::size_t{1}) : 0;
  }
  void operator()(Normalizer::Lowercase) const { lowercase(staged); }
  void operator()(Normalizer::Strip strip) const {
    std::string& text = staged.text;
    std::size_t end = text.size(), begin = 0;
    unsigned length;
    while (strip.left && begin < end && is_white_space(char_at(text, begin, length)))
      begin += length;
    while (strip.right && end > begin &&
           is_white_space(char_at(text, char_before(text, end), length)))
      end = char_before(text, end);
    if (begin > 0) staged.first_bytes = staged.first_bytes > begin ? staged.first_bytes - begin : 0;
    text = text.substr(begin, end - begin);
  }
  void operator()(Normalizer::StripAccents) const {
    keep_if(staged, [](char32_t point) { return !is_mark_of_9(point); });
  }
  void operator()(Normalizer::Nmt) const {
    rewrite(staged, [](char32_t c, std::string& out) {
      const bool dropped = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                           c == 0x8F || c == 0x9F;
      const bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                         c == 0x2581 || c == 0xFEFF || c == kReplacement;
      if (!dropped) append_utf8(out, space ? U' ' : c);
    });
  }
  void operator()(Normalizer::ByteLevel) const {
    rewrite(staged,
            [](char32_t point, std::string& out) { out += bytes_to_chars(to_utf8(point)); });
  }
  void operator()(const Normalizer::Prepend& prepend) const {
    if (staged.text.empty()) return;
    staged.text.insert(0, prepend.text);
    if (staged.first_bytes > 0) staged.first_bytes += prepend.text.size();
  }
  void operator()(const Normalizer::Replace& replace) const {
    replace.pattern.find(staged.text, scratch);
    if (scratch.matches.empty()) return;
    const TextSpan first = scratch.matches[0];
    if (first.begin == 0 && first.end <= staged.first_bytes)
      staged.first_bytes = replace.by.size();
    else if (first.begin < staged.first_bytes)
      staged.first_bytes = first.begin;
    staged.text = replace.pattern.replace(staged.text, replace.by, scratch);
  }
  void operator()(Normalizer::Bert bert) const {
    constexpr CategorySet kKept = category_bit(Category::Cs);
    if (bert.clean)
      rewrite(staged, [&](char32_t c, std::string& out) {
        const bool space = is_white_space(c);
        if (c == 0 || c == kReplacement || (!space && is_in(c, kOthers & ~kKept))) return;
        append_utf8(out, space ? U' ' : c);
      });
    if (bert.chinese)
      rewrite(staged, [](char32_t c, std::string& out) {
        const bool chinese = (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
                             (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
                             (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
                             (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
        out += chinese ? " " : "";
        append_utf8(out, c);
        out += chinese ? " " : "";
      });
    if (bert.strip_accents) {
      (*this)(NormalForm::Nfd);
      keep_if(staged, [](char32_t c) { return category(c) != Category::Mn; });
    }
    if (bert.lowercase) lowercase(staged);
  }
};

}  // namespace

bool Normalizer::keeps(std::string_view text) const {
  return std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    const auto* form = std::get_if<NormalForm>(&step);
    return form && surely_normal(text, *form);
  });
}

void Normalizer::apply(StagedText& staged, SplitPattern::Scratch& scratch) const {
  for (const Step& step : steps_) std::visit(ApplyNormalization{staged, scratch}, step);
}

}  // namespace counterbeam
