#include "grade/lexer.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "grade/latex_words.h"
#include "grade/units.h"
#include "grade/words.h"

namespace counterbeam::grade {
namespace {

class Lexer {
 public:
  Lexer(std::string_view text, Commas commas) : text_(text), commas_(commas) {}

  std::vector<Token> run() {
    lex(text_, false);
    spaced_ = false;
    push(TokenKind::End, "");
    return std::move(tokens_);
  }

 private:
  void push(TokenKind kind, std::string_view text) {
    tokens_.push_back({kind, std::string(text), spaced_});
    spaced_ = false;
  }

  void lex(std::string_view s, bool prose) {
    std::size_t i = 0;
    while (i < s.size()) {
      const char c = s[i];
      if (std::isspace(static_cast<unsigned char>(c)) || c == '~') {
        spaced_ = true;
        ++i;
      } else if (is_digit(c) || (c == '.' && i + 1 < s.size() && is_digit(s[i + 1]))) {
        i = number(s, i);
      } else if (is_letter(c)) {
        i = letters(s, i, prose);
      } else if (c == '\\') {
        i = command(s, i);
      } else {
        i = punctuation(s, i);
      }
    }
  }

  // The length of a thousands separator at `i` that is followed by exactly three digits; 0 if none.
  std::size_t separator(std::string_view s, std::size_t i) const {
    std::size_t length = 0;
    const std::string_view rest = s.substr(i);
    if (rest.starts_with("{,}")) {
      length = 3;
    } else if (rest.starts_with(" {, }")) {
      length = 5;
    } else if (rest.starts_with(",\\!")) {
      length = 3;
      while (i + length < s.size() && s[i + length] == ' ') ++length;
    } else if (rest.starts_with("\\,")) {
      length = 2;
    } else if (rest.starts_with(",") && depth_ == 0 && commas_ == Commas::Thousands) {
      length = 1;
    } else if (rest.starts_with(" ") && depth_ == 0) {
      length = 1;
    }
    if (length == 0) return 0;
    const std::size_t d = i + length;
    if (d + 3 > s.size() || !is_digit(s[d]) || !is_digit(s[d + 1]) || !is_digit(s[d + 2])) return 0;
    return d + 3 < s.size() && is_digit(s[d + 3]) ? 0 : length;
  }

  std::size_t number(std::string_view s, std::size_t i) {
    std::string literal;
    while (i < s.size() && is_digit(s[i])) literal += s[i++];
    if (!literal.empty() && literal.size() <= 3 && literal[0] != '0') {
      const char kind = i < s.size() ? s[i] : ' ';
      for (std::size_t n; i < s.size() && s[i] == kind && (n = separator(s, i)) > 0; i += n + 3)
        literal += s.substr(i + n, 3);
    }
    if (i < s.size() && s[i] == '.' && !(i + 1 < s.size() && s[i + 1] == '.')) {
      const bool digits_follow = i + 1 < s.size() && is_digit(s[i + 1]);
      const bool repeats = mark_of_repetition(s, i + 1) > 0;
      ++i;
      if (digits_follow || repeats) {
        literal += '.';
        while (i < s.size() && is_digit(s[i])) literal += s[i++];
      }
    }
    i = exponent(s, i, literal);
    push(TokenKind::Number, literal);
    const std::size_t mark = mark_of_repetition(s, i);
    if (mark > 0 && literal.find('.') != literal.npos)
      push(TokenKind::Command, "overline"), i += mark;
    return i;
  }

  // 0.\overline{3}, 0.\bar{3}, 0.\dot{3}: the length of the command, 0 if there is none.
  static std::size_t mark_of_repetition(std::string_view s, std::size_t i) {
    for (const std::string_view mark : {"\\overline", "\\bar", "\\dot"})
      if (s.substr(std::min(i, s.size())).starts_with(mark) &&
          !(i + mark.size() < s.size() && is_letter(s[i + mark.size()])))
        return mark.size();
    return 0;
  }

  // "6.7e-5": only without white space before the digits.
  static std::size_t exponent(std::string_view s, std::size_t i, std::string& literal) {
    std::size_t k = i;
    if (k >= s.size() || (s[k] != 'e' && s[k] != 'E')) return i;
    ++k;
    if (k < s.size() && (s[k] == '-' || s[k] == '+')) ++k;
    const std::size_t digits = k;
    while (k < s.size() && is_digit(s[k])) ++k;
    if (k == digits || k - digits > 4 || (k < s.size() && is_letter(s[k]))) return i;
    literal += s.substr(i, k - i);
    return k;
  }

  bool after_value() const {
    if (tokens_.empty()) return false;
    const Token& last = tokens_.back();
    return last.kind == TokenKind::Number || last.text == ")" || last.text == "]" ||
           last.text == "}" || last.text == "\\}";
  }

  // Whether the position follows a value or an incomplete unit: 10 m, 4\pi m, 3 m/s.
  bool after_quantity() const {
    if (after_value()) return true;
    if (tokens_.empty()) return false;
    const Token& last = tokens_.back();
    const bool joins = last.text == "/" || last.text == "*";
    if (joins && tokens_.size() > 1) return tokens_[tokens_.size() - 2].kind == TokenKind::Word;
    return last.kind == TokenKind::Word || (last.kind == TokenKind::Symbol && last.text == "pi");
  }

  bool after_degrees() const {
    const std::size_t n = tokens_.size();
    return n > 0 && (tokens_[n - 1].text == "deg" ||
                     (n > 1 && tokens_[n - 1].text == "}" && tokens_[n - 2].text == "deg"));
  }

  static std::string lower(std::string_view s) {
    std::string out(s);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
  }

  std::size_t letters(std::string_view s, std::size_t i, bool prose) {
    std::size_t end = i;
    while (end < s.size() && is_letter(s[end])) ++end;
    if (end - i == 1 && end + 1 < s.size() && s[end] == '.' &&
        (s[end + 1] == 'm' || s[end + 1] == 'M') &&
        any_of(lower(s.substr(i, 1)), {"a", "p"})) {  // p.m.
      push(TokenKind::Word, lower(s.substr(i, 1)) + "m");
      end += 2;
      return end < s.size() && s[end] == '.' ? end + 1 : end;
    }
    run_of_letters(s.substr(i, end - i), prose, i > 0 && (is_digit(s[i - 1]) || s[i - 1] == ')'));
    return end;
  }

  void run_of_letters(std::string_view run, bool prose, bool tight) {
    if (tight && run.size() > 2 && run.size() <= 4 && run.starts_with("or") && !is_function(run)) {
      push(TokenKind::Operator, "or");
      return run_of_letters(run.substr(2), prose, false);
    }
    if (run == "and" || run == "or") return push(TokenKind::Operator, run);
    if (run == "pi") return push(TokenKind::Symbol, "pi");
    if (run == "sqrt") return push(TokenKind::Command, "sqrt");
    if (any_of(run, {"infty", "inf", "infinity", "oo"})) return push(TokenKind::Symbol, "infty");
    if (any_of(run, {"percent", "pct", "percentage"})) return push(TokenKind::Operator, "%");
    if (any_of(run, {"degrees", "degree"})) return push(TokenKind::Operator, "deg");
    if (run == "cup" || (run == "U" && after_value())) return push(TokenKind::Operator, "cup");
    if (after_value() && any_of(run, {"AM", "PM", "am", "pm"}))
      return push(TokenKind::Word, lower(run));
    if (after_degrees() && (run == "C" || run == "F"))
      return push(TokenKind::Word, run == "C" ? "celsius" : "fahrenheit");
    if (prose && is_unit_letter(run) && after_quantity()) return push(TokenKind::Word, lower(run));
    if (run == "to" && after_value()) return push(TokenKind::Word, run);
    if (run == "cis") return push(TokenKind::Function, run);
    if (!prose && is_function(run) && run != "deg") return push(TokenKind::Function, run);
    if (run.size() == 1) return push(TokenKind::Symbol, run);
    const bool unit =
        after_value() && any_of(run, {"cm", "mm", "km", "kg", "mg", "ml", "mL", "ft", "mi", "lb",
                                      "lbs", "oz", "hr", "hrs", "min", "mph"});
    const bool english =
        any_of(lower(run), {"the", "is", "of", "are", "sum", "for", "not", "yes", "but", "was",
                            "has", "one", "two", "six", "ten", "no"});
    const bool capitals = std::all_of(run.begin(), run.end(), [](char c) { return c < 'a'; });
    const bool goes_on = spaced_ && !tokens_.empty() && tokens_.back().kind == TokenKind::Word;
    if (prose || unit || goes_on || (english && !capitals) || (run.size() >= 4 && !capitals))
      return push(TokenKind::Word, lower(run));
    for (const char& c : run) push(TokenKind::Symbol, std::string_view(&c, 1));
  }

  std::size_t command(std::string_view s, std::size_t i) {
    std::size_t end = i + 1;
    while (end < s.size() && is_letter(s[end])) ++end;
    if (end == i + 1) return escaped(s, i);
    std::string_view name = s.substr(i + 1, end - i - 1);
    if (name.starts_with("quad") || name.starts_with("qquad")) {  // \quadx
      spaced_ = true;
      return i + 1 + (name[0] == 'q' && name[1] == 'q' ? 5 : 4);
    }
    if (is_text_command(name)) return text_argument(s, end);
    if (is_styling(name)) {
      spaced_ = true;
      const bool sizing = name == "left" || name == "right";
      return sizing && end < s.size() && s[end] == '.' ? end + 1 : end;
    }
    if (any_of(name, {"frac", "dfrac", "tfrac", "cfrac"})) {
      push(TokenKind::Command, "frac");
      return digit_arguments(s, end);
    }
    if (any_of(name, {"binom", "dbinom", "tbinom"})) {
      push(TokenKind::Command, "binom");
      return digit_arguments(s, end);
    }
    if (name == "emptyset" || name == "varnothing") {
      push(TokenKind::Command, "emptyset");
    } else if (name == "mathbb" || name == "Bbb") {
      push(TokenKind::Command, "mathbb");
    } else if (any_of(name, {"ldots", "dots", "cdots", "dotsc"})) {
      push(TokenKind::Junk, "...");
    } else if (is_function(name) && name != "deg") {
      push(TokenKind::Function, name);
    } else if (is_greek(name)) {
      if (name == "prime")
        push(TokenKind::Operator, "'");
      else if (name != "angle" && name != "triangle")
        push(TokenKind::Symbol, name);
      else if (name == "angle" && !tokens_.empty() && tokens_.back().text == "m")
        tokens_.pop_back();  // m\angle A: the measure of the angle
    } else {
      const std::string_view op = operator_of(name);
      if (!op.empty())
        operators(op);
      else
        push(TokenKind::Command, name);
    }
    return end;
  }

  // \frac12 is 1/2: an argument without braces is one digit.
  std::size_t digit_arguments(std::string_view s, std::size_t i) {
    for (int n = 0; n < 2; ++n) {
      std::size_t k = i;
      while (k < s.size() && s[k] == ' ') ++k;
      if (k >= s.size() || !is_digit(s[k])) break;
      push(TokenKind::Number, s.substr(k, 1));
      i = k + 1;
    }
    return i;
  }

  void operators(std::string_view text) {
    if (text == "(" || text == "[" || text == "\\{") ++depth_;
    if (text == ")" || text == "]" || text == "\\}") --depth_;
    push(TokenKind::Operator, text);
  }

  // \text{...}: words are Word tokens; single letters and numbers are mathematics.
  std::size_t text_argument(std::string_view s, std::size_t i) {
    while (i < s.size() && s[i] == ' ') ++i;
    if (i >= s.size() || s[i] != '{') return i;
    std::size_t depth = 0, end = i;
    for (; end < s.size(); ++end) {
      if (s[end] == '{') ++depth;
      if (s[end] == '}' && --depth == 0) break;
    }
    if (nesting_++ < 20) lex(s.substr(i + 1, end - i - 1), true);
    --nesting_;
    return end < s.size() ? end + 1 : end;
  }

  std::size_t escaped(std::string_view s, std::size_t i) {
    const char c = i + 1 < s.size() ? s[i + 1] : '\0';
    if (c == '\\')
      push(TokenKind::Operator, "\\\\");
    else if (c == '{' || c == '}')
      operators(c == '{' ? "\\{" : "\\}");
    else if (c == '%')
      push(TokenKind::Operator, "%");
    else if (c == '$')
      push(TokenKind::Operator, "dollar");
    else if (c == '|')
      push(TokenKind::Operator, "|");
    else if (c == '&')
      push(TokenKind::Operator, "&");
    else
      spaced_ = true;  // \, \; \! and a lone trailing backslash
    return std::min(i + 2, s.size());
  }

  std::size_t punctuation(std::string_view s, std::size_t i) {
    const std::string_view two = s.substr(i, 2);
    if (any_of(two, {"<=", ">=", "!=", "=="})) {
      push(TokenKind::Operator, two == "==" ? "=" : two);
      return i + 2;
    }
    if (two == "**") return push(TokenKind::Operator, "^"), i + 2;
    if (s.substr(i, 3) == "{,}") return push(TokenKind::Operator, ","), i + 3;
    const char c = s[i];
    if (c == '$' || c == '"' || c == '`') {
      if (c == '$' && i + 1 < s.size() && is_digit(s[i + 1]) && s.find('$', i + 1) == s.npos &&
          tokens_.empty())
        push(TokenKind::Operator, "dollar");
      else
        spaced_ = true;
      return i + 1;
    }
    if (s.substr(i, 3) == "...") return push(TokenKind::Junk, "..."), i + 3;
    if (c == '.') {
      if (s.find_first_not_of(" \n.$\\", i) == s.npos) return s.size();  // a final full stop
      push(TokenKind::Junk, ".");
      return i + 1;
    }
    if (std::string_view("+-*/^_=<>()[]{}|,;:!'%&").find(c) == std::string_view::npos)
      push(TokenKind::Junk, s.substr(i, 1));
    else
      operators(s.substr(i, 1));
    return i + 1;
  }

  std::string_view text_;
  Commas commas_;
  std::vector<Token> tokens_;
  bool spaced_ = false;
  int depth_ = 0;  // of (, [ and \{
  int nesting_ = 0;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, Commas commas) {
  return Lexer(text, commas).run();
}

}  // namespace counterbeam::grade
