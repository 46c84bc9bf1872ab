#include "base/unicode_normalize.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/unicode.h"
#include "base/unicode_data.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

// Hangul syllables are composed by arithmetic (Unicode, section 3.12).
constexpr char32_t kHangulS = 0xAC00, kHangulL = 0x1100, kHangulV = 0x1161, kHangulT = 0x11A7;
constexpr char32_t kCountL = 19, kCountV = 21, kCountT = 28, kCountN = kCountV * kCountT;

enum Kind : std::uint32_t { kComposes = 0, kExcluded = 1, kCompatibility = 2 };

struct Decomposition {
  Kind kind;
  std::uint32_t begin, length;  // in Tables::points
};

// Bit f of `changes` is set when the point may change, or change its neighbours, in form f.
struct Tables {
  std::vector<char32_t> points;
  std::unordered_map<char32_t, Decomposition> decompositions;
  std::unordered_map<std::uint64_t, char32_t> compositions;
  std::vector<std::uint8_t> classes, changes;

  Tables() : classes(kLastPoint + 1), changes(kLastPoint + 1) {
    read_classes();
    read_decompositions();
    for (const auto& [point, entry] : decompositions)
      if (entry.kind == kComposes && has_compatibility(entry))
        changes[point] |= bit(NormalForm::Nfkc);
    for (char32_t s = kHangulS; s < kHangulS + kCountL * kCountN; ++s)
      changes[s] |= bit(NormalForm::Nfd) | bit(NormalForm::Nfkd);
    for (char32_t v = kHangulV; v < kHangulV + kCountV; ++v) changes[v] |= composed();
    for (char32_t t = kHangulT + 1; t < kHangulT + kCountT; ++t) changes[t] |= composed();
  }

  static std::uint8_t bit(NormalForm form) {
    return static_cast<std::uint8_t>(1 << static_cast<int>(form));
  }
  static std::uint8_t composed() { return bit(NormalForm::Nfc) | bit(NormalForm::Nfkc); }

  void read_classes() {
    char32_t point = 0;
    for (unicode_data::Numbers numbers(unicode_data::kCombiningClasses); !numbers.done();) {
      point += numbers.next();
      classes[point] = static_cast<std::uint8_t>(numbers.next());
      changes[point] = 0xF;
    }
  }

  void read_decompositions() {
    char32_t point = 0;
    std::vector<char32_t> before(20);
    for (unicode_data::Numbers numbers(unicode_data::kDecompositions); !numbers.done();) {
      point += numbers.next();
      const std::uint32_t head = numbers.next();
      const Decomposition entry{static_cast<Kind>(head % 4),
                                static_cast<std::uint32_t>(points.size()), head / 4};
      for (std::uint32_t i = 0; i < entry.length; ++i) {
        before[i] += static_cast<char32_t>(numbers.next_signed());
        points.push_back(before[i]);
      }
      decompositions.emplace(point, entry);
      mark(point, entry);
    }
  }

  // Some canonical decompositions contain characters that have compatibility decompositions.
  bool has_compatibility(const Decomposition& entry) const {
    for (std::uint32_t i = 0; i < entry.length; ++i) {
      const auto part = decompositions.find(points[entry.begin + i]);
      if (part != decompositions.end() &&
          (part->second.kind == kCompatibility || has_compatibility(part->second)))
        return true;
    }
    return false;
  }

  void mark(char32_t point, const Decomposition& entry) {
    changes[point] |= bit(NormalForm::Nfkd);
    if (entry.kind == kCompatibility) {
      changes[point] |= bit(NormalForm::Nfkc);
      return;
    }
    changes[point] |= bit(NormalForm::Nfd);
    if (entry.kind == kExcluded) {
      changes[point] |= composed();
      return;
    }
    const char32_t first = points[entry.begin], second = points[entry.begin + 1];
    compositions.emplace(std::uint64_t{first} << 32 | second, point);
    changes[second] |= composed();
  }
};

const Tables& tables() {
  static const Tables instance;
  return instance;
}

void decompose(char32_t point, bool compatibility, std::vector<char32_t>& out) {
  if (point >= kHangulS && point < kHangulS + kCountL * kCountN) {
    const char32_t index = point - kHangulS;
    out.push_back(kHangulL + index / kCountN);
    out.push_back(kHangulV + index % kCountN / kCountT);
    if (index % kCountT) out.push_back(kHangulT + index % kCountT);
    return;
  }
  const Tables& data = tables();
  const auto found = data.decompositions.find(point);
  if (found == data.decompositions.end() ||
      (found->second.kind == kCompatibility && !compatibility)) {
    out.push_back(point);
    return;
  }
  for (std::uint32_t i = 0; i < found->second.length; ++i)
    decompose(data.points[found->second.begin + i], compatibility, out);
}

// Sorts each run of combining marks by combining class; the sort is stable.
void order_marks(std::vector<char32_t>& points) {
  const auto& classes = tables().classes;
  for (auto at = points.begin(); at != points.end();) {
    if (classes[*at] == 0) {
      ++at;
      continue;
    }
    const auto end = std::find_if(at, points.end(), [&](char32_t p) { return classes[p] == 0; });
    std::stable_sort(at, end, [&](char32_t a, char32_t b) { return classes[a] < classes[b]; });
    at = end;
  }
}

// The character that the two compose to, or 0.
char32_t composition(char32_t first, char32_t second) {
  if (first >= kHangulL && first < kHangulL + kCountL && second >= kHangulV &&
      second < kHangulV + kCountV)
    return kHangulS + (first - kHangulL) * kCountN + (second - kHangulV) * kCountT;
  if (first >= kHangulS && first < kHangulS + kCountL * kCountN &&
      (first - kHangulS) % kCountT == 0 && second > kHangulT && second < kHangulT + kCountT)
    return first + (second - kHangulT);
  const auto& known = tables().compositions;
  const auto found = known.find(std::uint64_t{first} << 32 | second);
  return found == known.end() ? 0 : found->second;
}

void compose(std::vector<char32_t>& points) {
  const auto& classes = tables().classes;
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t starter = kNone, kept = 0;
  int last_class = -1;  // of the last point kept after the starter; -1 when none is
  for (const char32_t point : points) {
    const int own_class = classes[point];
    if (starter != kNone && last_class < own_class) {
      if (const char32_t joined = composition(points[starter], point)) {
        points[starter] = joined;
        continue;
      }
    }
    if (own_class == 0) starter = kept;
    last_class = own_class == 0 ? -1 : own_class;
    points[kept++] = point;
  }
  points.resize(kept);
}

}  // namespace

bool surely_normal(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return true;
  const Tables& data = tables();
  const std::uint8_t mask = Tables::bit(form);
  for (std::size_t at = 0; at < text.size();) {
    unsigned length;
    if (data.changes[char_at(text, at, length)] & mask) return false;
    at += length;
  }
  return true;
}

std::string normalize(std::string_view text, NormalForm form) {
  if (surely_normal(text, form)) return std::string(text);
  const bool compatibility = form == NormalForm::Nfkc || form == NormalForm::Nfkd;
  std::vector<char32_t> points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    unsigned length;
    decompose(char_at(text, at, length), compatibility, points);
    at += length;
  }
  order_marks(points);
  if (form == NormalForm::Nfc || form == NormalForm::Nfkc) compose(points);
  std::string out;
  out.reserve(text.size());
  for (const char32_t point : points) append_utf8(out, point);
  return out;
}

}  // namespace counterbeam
