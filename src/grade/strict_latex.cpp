// latex_as_text: the rules of the strict grader's converter. A macro consumes the space after it;
// an unknown macro is dropped and its arguments are kept.
#include <algorithm>
#include <cctype>

#include "grade/strict.h"

namespace counterbeam::grade {
namespace {

struct Replacement {
  std::string_view name, text;
};

constexpr Replacement kSymbols[] = {
    {"pi", "\u03c0"},         {"infty", "\u221e"},    {"cup", "\u222a"},
    {"cap", "\u2229"},        {"cdot", "\u00b7"},     {"times", "\u00d7"},
    {"div", "\u00f7"},        {"pm", "\u00b1"},       {"mp", "\u2213"},
    {"le", "\u2264"},         {"leq", "\u2264"},      {"ge", "\u2265"},
    {"geq", "\u2265"},        {"leqslant", "\u2a7d"}, {"geqslant", "\u2a7e"},
    {"neq", "\u2260"},        {"in", "\u2208"},       {"approx", "\u2248"},
    {"sim", "\u223c"},        {"equiv", "\u2261"},    {"circ", "\u2218"},
    {"alpha", "\u03b1"},      {"beta", "\u03b2"},     {"gamma", "\u03b3"},
    {"delta", "\u03b4"},      {"epsilon", "\u03f5"},  {"theta", "\u03b8"},
    {"lambda", "\u03bb"},     {"mu", "\u03bc"},       {"phi", "\u03c6"},
    {"varphi", "\u03c6"},     {"omega", "\u03c9"},    {"sigma", "\u03c3"},
    {"tau", "\u03c4"},        {"rho", "\u03c1"},      {"Delta", "\u0394"},
    {"Omega", "\u03a9"},      {"emptyset", "\u2205"}, {"varnothing", "\u2205"},
    {"ldots", "\u2026"},      {"dots", "\u2026"},     {"cdots", "\u22ef"},
    {"setminus", "\u2216"},   {"angle", "\u2220"},    {"to", "\u2192"},
    {"rightarrow", "\u2192"}, {"ell", "\u2113"},      {"prime", "'"},
    {"quad", "  "},           {"qquad", "    "},      {"mid", "|"},
    {"lvert", "|"},           {"rvert", "|"},         {"langle", "\u27e8"},
    {"rangle", "\u27e9"},     {"lfloor", "\u230a"},   {"rfloor", "\u230b"},
    {"lceil", "\u2308"},      {"rceil", "\u2309"},    {"lbrace", "{"},
    {"rbrace", "}"},          {"sum", "\u2211"},      {"ast", "\u2217"},
    {"backslash", "\\"},      {"sin", "sin"},         {"cos", "cos"},
    {"tan", "tan"},           {"arcsin", "arcsin"},   {"arccos", "arccos"},
    {"arctan", "arctan"},     {"ln", "ln"},           {"log", "log"},
    {"exp", "exp"},           {"max", "max"},         {"min", "min"},
    {"sinh", "sinh"},         {"cosh", "cosh"},       {"tanh", "tanh"},
    {"lim", "lim"},
};

constexpr std::string_view kDropped[] = {"mbox", "textsf", "texttt", "hspace", "vspace"};

class Converter {
 public:
  explicit Converter(std::string_view text) : s_(text) {}

  std::string all() {
    std::string out;
    while (i_ < s_.size()) out += piece(0);
    return out;
  }

 private:
  // One character, group or macro.
  std::string piece(int depth) {
    if (depth > 60 || i_ >= s_.size()) {
      i_ = s_.size();
      return "";
    }
    const char c = s_[i_];
    if (c == '\\') return macro(depth);
    if (c == '{') return group(depth);
    ++i_;
    if (c == '}') return "";
    if (c == '~') return "\u00a0";
    if (c == '&') return "     ";
    return std::string(1, c);
  }

  std::string group(int depth) {
    ++i_;
    std::string out;
    while (i_ < s_.size() && s_[i_] != '}') out += piece(depth + 1);
    if (i_ < s_.size()) ++i_;
    return out;
  }

  std::string argument(int depth) {
    while (i_ < s_.size() && s_[i_] == ' ') ++i_;
    return piece(depth + 1);
  }

  std::string macro(int depth) {
    ++i_;
    if (i_ >= s_.size()) return "";
    if (!std::isalpha(static_cast<unsigned char>(s_[i_]))) {
      const char c = s_[i_++];
      if (c == '\\') return "\n";
      if (c == '!') return "";
      if (c == ',' || c == ';' || c == ':' || c == ' ') return " ";
      return std::string(1, c);
    }
    const std::size_t start = i_;
    while (i_ < s_.size() && std::isalpha(static_cast<unsigned char>(s_[i_]))) ++i_;
    const std::string_view name = s_.substr(start, i_ - start);
    while (i_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[i_]))) ++i_;
    if (name == "frac") {
      const std::string top = argument(depth);
      return top + "/" + argument(depth);
    }
    if (name == "sqrt") return root(depth);
    if (name == "begin") return environment(depth);
    if (name == "mathbf" || name == "mathcal" || name == "mathsf" || name == "mathit" ||
        name == "mathbb")
      return std::string(1, '\x01') + argument(depth);  // separate letters
    if (std::find(std::begin(kDropped), std::end(kDropped), name) != std::end(kDropped)) {
      argument(depth);
      return "";
    }
    for (const Replacement& r : kSymbols)
      if (r.name == name) return std::string(r.text);
    return "";
  }

  std::string root(int depth) {
    if (i_ < s_.size() && s_[i_] == '[') {
      while (i_ < s_.size() && s_[i_] != ']') ++i_;
      if (i_ < s_.size()) ++i_;
    }
    return "\u221a(" + argument(depth) + ")";
  }

  // \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} as [ 1 2; 3 4 ].
  std::string environment(int depth) {
    const std::string name = argument(depth);
    if (name == "array") argument(depth);
    const bool matrix = name == "pmatrix" || name == "bmatrix" || name == "array";
    std::string inside;
    while (i_ < s_.size() && s_.substr(i_, 4) != "\\end") {
      if (matrix && s_.substr(i_, 2) == "\\\\") {
        inside += "; ";
        i_ += 2;
      } else if (matrix && s_[i_] == '&') {
        inside += ' ';
        ++i_;
      } else {
        inside += piece(depth + 1);
      }
    }
    if (i_ < s_.size()) {
      i_ += 4;
      argument(depth);
    }
    return matrix ? "[ " + inside + " ]" : inside;
  }

  std::string_view s_;
  std::size_t i_ = 0;
};

}  // namespace

std::string latex_as_text(std::string_view latex) {
  return Converter(latex).all();
}

}  // namespace counterbeam::grade
