#include "text/regex_parse.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace counterbeam {
namespace {

using Kind = RegexNode::Kind;
using Greed = RegexNode::Greed;

constexpr int kMaxRegexDepth = 64;
constexpr unsigned kMaxRepeat = 1000;

struct Flags {
  bool ignore_case = false, dot_all = false, extended = false;
};

[[noreturn]] void refuse(std::string what) {
  throw RegexProblem{std::move(what)};
}

RegexNode node(Kind kind) {
  RegexNode result;
  result.kind = kind;
  return result;
}

RegexNode node(Kind kind, RegexNode child) {
  RegexNode result = node(kind);
  result.children.push_back(std::move(child));
  return result;
}

RegexNode set_node(PointSet set) {
  RegexNode result = node(Kind::Set);
  result.set = std::move(set);
  return result;
}

RegexNode repeat(RegexNode child, unsigned min, unsigned max, Greed greed) {
  RegexNode result = node(Kind::Repeat, std::move(child));
  result.min = min, result.max = max, result.greed = greed;
  return result;
}

class Parser {
 public:
  explicit Parser(std::string_view pattern) : text_(pattern) {}

  RegexNode all() {
    RegexNode result = either(Flags{});
    if (!done()) refuse("there is a ) without its (");
    return result;
  }

 private:
  bool done() const { return at_ == text_.size(); }
  bool looking_at(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  bool take(std::string_view what) {
    if (!looking_at(what)) return false;
    at_ += what.size();
    return true;
  }
  char32_t next() {
    if (done()) refuse("it ends too early");
    unsigned length;
    const char32_t point = char_at(text_, at_, length);
    at_ += length;
    return point;
  }

  RegexNode either(Flags flags) {
    if (++depth_ > kMaxRegexDepth) refuse("it is nested too deeply");
    RegexNode result = node(Kind::Either);
    do {
      result.children.push_back(concat(flags));
    } while (take("|"));
    --depth_;
    return result.children.size() == 1 ? std::move(result.children[0]) : result;
  }

  RegexNode concat(Flags flags) {
    RegexNode result = node(Kind::Concat);
    while (!done() && !looking_at("|") && !looking_at(")")) {
      if (flags.extended && skip_extended()) continue;
      if (looking_at("(?#")) {
        while (next() != ')') {
        }
        continue;
      }
      if (looking_at("*") || looking_at("+") || looking_at("?"))
        refuse(fmt::format("nothing stands before {}", text_[at_]));
      result.children.push_back(repeated(atom(flags)));
    }
    return result.children.size() == 1 ? std::move(result.children[0]) : result;
  }

  bool skip_extended() {
    if (take(" ") || take("\t") || take("\n") || take("\r")) return true;
    if (!take("#")) return false;
    while (!done() && next() != '\n') {
    }
    return true;
  }

  RegexNode repeated(RegexNode child) {
    for (int times = 0;; ++times) {
      if (times > kMaxRegexDepth) refuse("it is nested too deeply");
      unsigned min, max;
      bool interval = false;
      if (take("*")) {
        min = 0, max = RegexNode::kNoLimit;
      } else if (take("+")) {
        min = 1, max = RegexNode::kNoLimit;
      } else if (take("?")) {
        min = 0, max = 1;
      } else if (take_interval(min, max)) {
        interval = true;
      } else {
        return child;
      }
      if (child.kind == Kind::Look) refuse("a look-around cannot be repeated");
      Greed greed = Greed::Greedy;
      // In Ruby's flavour a{2}? is (a{2})? and a{2,3}+ is (a{2,3})+.
      if (!(interval && min == max) && take("?"))
        greed = Greed::Lazy;
      else if (!interval && take("+"))
        greed = Greed::Possessive;
      child = repeat(std::move(child), min, max, greed);
    }
  }

  // Parses {n} {n,} {,m} {n,m}. In any other case the brace is a literal.
  bool take_interval(unsigned& min, unsigned& max) {
    std::size_t at = at_;
    const auto digits = [&](unsigned& value) {
      const std::size_t begin = at;
      value = 0;
      for (; at < text_.size() && text_[at] >= '0' && text_[at] <= '9'; ++at) {
        value = value * 10 + static_cast<unsigned>(text_[at] - '0');
        if (value > kMaxRepeat) refuse(fmt::format("a repeat above {} is refused", kMaxRepeat));
      }
      return at > begin;
    };
    if (at >= text_.size() || text_[at++] != '{') return false;
    const bool has_min = digits(min);
    bool has_max = has_min;
    max = min;
    if (at < text_.size() && text_[at] == ',') {
      ++at;
      has_max = digits(max);
      if (!has_max) max = RegexNode::kNoLimit;
    }
    if (at >= text_.size() || text_[at] != '}' || (!has_min && !has_max)) return false;
    if (max < min) refuse("a repeat has its bounds in the wrong order");
    at_ = at + 1;
    return true;
  }

  RegexNode atom(Flags flags) {
    if (take("(")) return group(flags);
    if (take("[")) return set_node(char_class(flags));
    if (take(".")) return flags.dot_all ? any() : set_node(PointSet{{'\n', '\n'}}.inverted());
    if (take("^")) return node(Kind::LineStart);
    if (take("$")) return node(Kind::LineEnd);
    if (take("\\")) return escape(flags);
    return point(next(), flags);
  }

  static RegexNode any() { return set_node(PointSet{{0, kLastPoint}}); }

  static RegexNode point(char32_t value, Flags flags) {
    const PointSet set{{value, value}};
    return set_node(flags.ignore_case ? set.closed_under_case() : set);
  }

  RegexNode group(Flags flags) {
    if (!take("?")) return close(either(flags));
    if (take(":")) return close(either(flags));
    if (take(">")) return node(Kind::Atomic, close(either(flags)));
    if (take("=")) return look(flags, false, false);
    if (take("!")) return look(flags, false, true);
    if (take("<=")) return look(flags, true, false);
    if (take("<!")) return look(flags, true, true);
    if (take("<")) {
      while (next() != '>') {
      }
      return close(either(flags));
    }
    return options(flags);
  }

  RegexNode close(RegexNode inner) {
    if (!take(")")) refuse("there is a ( without its )");
    return inner;
  }

  RegexNode look(Flags flags, bool behind, bool negated) {
    RegexNode result = node(Kind::Look, close(either(flags)));
    result.behind = behind, result.negated = negated;
    return result;
  }

  // (?i-m:...) sets options for its group, (?i) for the rest of the enclosing group.
  RegexNode options(Flags flags) {
    bool value = true;
    for (;;) {
      const char32_t letter = next();
      if (letter == '-')
        value = false;
      else if (letter == 'i')
        flags.ignore_case = value;
      else if (letter == 'm')
        flags.dot_all = value;
      else if (letter == 'x')
        flags.extended = value;
      else if (letter == ':')
        return close(either(flags));
      else if (letter == ')')
        return either(flags);
      else
        refuse(fmt::format("the group option (?{} is not supported", to_utf8(letter)));
    }
  }

  RegexNode escape(Flags flags) {
    const std::size_t start = at_;
    const char32_t letter = next();
    switch (letter) {
      case 'A':
        return node(Kind::TextStart);
      case 'z':
        return node(Kind::TextEnd);
      case 'Z':
        return node(Kind::TextEndOrNewline);
      case 'b':
        return node(Kind::WordBorder);
      case 'B':
        return node(Kind::NotWordBorder);
      case 'N':
        return set_node(PointSet{{'\n', '\n'}}.inverted());
      case 'O':
        return any();
      case 'R':
        return line_break();
      case 'G':
      case 'K':
      case 'X':
      case 'k':
      case 'g':
      case 'y':
      case 'Y':
        refuse(fmt::format("\\{} is not supported", to_utf8(letter)));
      default:
        break;
    }
    if (letter >= '1' && letter <= '9') refuse("references back to a group are not supported");
    at_ = start;
    PointSet set;
    if (shorthand(set, false)) return set_node(set);  // not affected by (?i)
    return point(escaped_point(), flags);
  }

  static RegexNode line_break() {
    RegexNode pair = node(Kind::Concat);
    pair.children = {set_node({{'\r', '\r'}}), set_node({{'\n', '\n'}})};
    RegexNode choice = node(Kind::Either);
    choice.children = {std::move(pair), set_node({{10, 13}, {0x85, 0x85}, {0x2028, 0x2029}})};
    return node(Kind::Atomic, std::move(choice));
  }

  // Parses what follows a backslash: d s w h and their negations, p{...}.
  bool shorthand(PointSet& set, bool in_class) {
    const char letter = done() ? '\0' : text_[at_];
    switch (letter) {
      case 'd':
      case 'D':
        set = PointSet::of_categories(category_bit(Category::Nd));
        break;
      case 's':
      case 'S':
        set = PointSet::white_space();
        break;
      case 'w':
      case 'W':
        set = in_class ? PointSet::word() : PointSet::lone_word();
        break;
      case 'h':
      case 'H':
        set = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
        break;
      case 'p':
      case 'P':
        ++at_;
        set = property(letter == 'P', in_class);
        return true;
      default:
        return false;
    }
    if (letter < 'a') set = set.inverted();
    ++at_;
    return true;
  }

  PointSet property(bool inverted, bool in_class) {
    if (!take("{")) refuse("\\p must be followed by a name in braces");
    if (take("^")) inverted = !inverted;
    const std::size_t end = text_.find('}', at_);
    if (end == text_.npos) refuse("\\p{ has no closing brace");
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end + 1;
    auto set = named_set(name);
    if (!in_class && set == PointSet::word()) set = PointSet::lone_word();
    if (!set) refuse(fmt::format("the property \\p{{{}}} is not known here", name));
    return inverted ? set->inverted() : *set;
  }

  char32_t escaped_point() {
    const char32_t letter = next();
    switch (letter) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 'f':
        return '\f';
      case 'v':
        return '\v';
      case 'a':
        return '\a';
      case 'e':
        return 0x1B;
      case 'c':
        return next() & 0x1F;
      case 'u':
        return number(16, 4, 4);
      case 'x':
        if (take("{")) {
          const char32_t value = number(16, 1, 8);
          if (!take("}")) refuse("\\x{ has no closing brace");
          return value;
        }
        return number(16, 1, 2);
      default:
        break;
    }
    if (letter >= '0' && letter <= '7') {
      --at_;
      return number(8, 1, 3);
    }
    return letter;
  }

  char32_t number(unsigned base, int least, int most) {
    char32_t value = 0;
    int digits = 0;
    for (; digits < most && !done(); ++digits, ++at_) {
      const char c = text_[at_];
      const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                             : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                             : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                    : 99;
      if (digit >= base) break;
      value = value * base + digit;
    }
    if (digits < least) refuse("an escape lacks its digits");
    if (value > kLastPoint || (value >= 0xD800 && value < 0xE000))
      refuse("an escape names no character");
    return value;
  }

  // Parses what follows "[". Intersections bind loosest: [a-z&&[^b]].
  PointSet char_class(Flags flags) {
    if (++depth_ > kMaxRegexDepth) refuse("it is nested too deeply");
    const bool inverted = take("^");
    PointSet whole{{0, kLastPoint}}, part;
    bool first = true;
    while (first || !looking_at("]")) {
      if (done()) refuse("a character class has no closing ]");
      if (take("&&")) {
        whole = whole.intersected(part);
        part = PointSet();
      } else if (first && looking_at("]") && text_.find(']', at_ + 1) == text_.npos) {
        refuse("a character class is empty");
      } else {
        class_item(part, flags);
      }
      first = false;
    }
    ++at_;
    --depth_;
    PointSet result = whole.intersected(part);
    if (flags.ignore_case) result = result.closed_under_case();
    return inverted ? result.inverted() : result;
  }

  void class_item(PointSet& part, Flags flags) {
    if (looking_at("[:") && posix_class(part)) return;
    if (take("[")) return part.add(char_class(flags));
    char32_t first;
    if (take("\\")) {
      PointSet set;
      if (shorthand(set, true)) {
        if (looking_at("-") && !looking_at("-]")) refuse("a range starts with a class");
        return part.add(set);
      }
      first = class_escape();
    } else {
      first = next();
    }
    if (!looking_at("-") || looking_at("-]")) return part.add(first, first);
    ++at_;
    if (looking_at("[")) {
      part.add(first, first);
      return part.add('-', '-');
    }
    const char32_t last = take("\\") ? range_end_escape() : next();
    if (last < first) refuse("a range in a character class runs backwards");
    part.add(first, last);
  }

  char32_t class_escape() {
    if (take("b")) return '\b';
    return escaped_point();
  }

  char32_t range_end_escape() {
    PointSet set;
    if (shorthand(set, true)) refuse("a range ends with a class");
    return class_escape();
  }

  bool posix_class(PointSet& part) {
    const std::size_t end = text_.find(":]", at_ + 2);
    if (end == text_.npos) return false;
    std::string_view name = text_.substr(at_ + 2, end - at_ - 2);
    const bool inverted = name.starts_with('^');
    if (inverted) name.remove_prefix(1);
    const auto is_letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
    if (!std::all_of(name.begin(), name.end(), is_letter)) return false;
    const auto set = posix_set(name);
    if (!set) refuse(fmt::format("the class [:{}:] is not known here", name));
    at_ = end + 2;
    part.add(inverted ? set->inverted() : *set);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

RegexNode parse_regex(std::string_view pattern) {
  return Parser(pattern).all();
}

}  // namespace counterbeam
