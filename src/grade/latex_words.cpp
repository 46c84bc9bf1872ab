#include "grade/latex_words.h"

#include <algorithm>
#include <initializer_list>

#include "grade/words.h"

namespace counterbeam::grade {
namespace {

struct Renamed {
  std::string_view from, to;
};
constexpr Renamed kOperators[] = {
    {"cdot", "*"},
    {"times", "*"},
    {"ast", "*"},
    {"div", "/"},
    {"pm", "pm"},
    {"mp", "mp"},
    {"cup", "cup"},
    {"cap", "cap"},
    {"setminus", "setminus"},
    {"backslash", "setminus"},
    {"in", "in"},
    {"le", "<="},
    {"leq", "<="},
    {"leqslant", "<="},
    {"ge", ">="},
    {"geq", ">="},
    {"geqslant", ">="},
    {"lt", "<"},
    {"gt", ">"},
    {"ne", "!="},
    {"neq", "!="},
    {"approx", "~="},
    {"sim", "~="},
    {"simeq", "~="},
    {"doteq", "~="},
    {"equiv", "="},
    {"colon", ":"},
    {"mid", "mid"},
    {"vert", "|"},
    {"lvert", "|"},
    {"rvert", "|"},
    {"circ", "deg"},
    {"degree", "deg"},
    {"land", "and"},
    {"wedge", "and"},
    {"lor", "or"},
    {"vee", "or"},
    {"langle", "("},
    {"rangle", ")"},
    {"lbrace", "\\{"},
    {"rbrace", "\\}"},
    {"lbrack", "["},
    {"rbrack", "]"},
    {"lfloor", "lfloor"},
    {"rfloor", "rfloor"},
    {"lceil", "lceil"},
    {"rceil", "rceil"},
    {"euro", "dollar"},
    {"pounds", "dollar"},
    {"textdollar", "dollar"},
    {"to", "to"},
    {"lparen", "("},
    {"rparen", ")"},
    {"bmod", "bmod"},
    {"pmod", "pmod"},
    {"percent", "%"},
};

}  // namespace

bool is_function(std::string_view s) {
  return any_of(s, {"sin",    "cos",    "tan",  "cot",  "sec",  "csc", "arcsin", "arccos",
                    "arctan", "arccot", "sinh", "cosh", "tanh", "log", "ln",     "lg",
                    "exp",    "gcd",    "lcm",  "max",  "min",  "det", "mod",    "deg"});
}

bool is_greek(std::string_view s) {
  return any_of(s, {"alpha",  "beta",  "gamma",    "delta", "epsilon", "varepsilon", "zeta",
                    "eta",    "theta", "vartheta", "iota",  "kappa",   "lambda",     "mu",
                    "nu",     "xi",    "rho",      "sigma", "tau",     "upsilon",    "phi",
                    "varphi", "chi",   "psi",      "omega", "Gamma",   "Delta",      "Theta",
                    "Lambda", "Xi",    "Pi",       "Sigma", "Phi",     "Psi",        "Omega",
                    "pi",     "ell",   "infty",    "hbar",  "prime",   "angle",      "triangle"});
}

bool is_styling(std::string_view s) {
  return any_of(
      s, {"left",     "right",       "big",          "Big",       "bigg",       "Bigg",
          "bigl",     "bigr",        "Bigl",         "Bigr",      "biggl",      "biggr",
          "Biggl",    "Biggr",       "displaystyle", "textstyle", "limits",     "quad",
          "qquad",    "scriptstyle", "nolimits",     "hfill",     "hspace",     "vspace",
          "enspace",  "thinspace",   "negthinspace", "medspace",  "middle",     "nonumber",
          "phantom",  "bf",          "rm",           "it",        "cal",        "tt",
          "noindent", "boxed",       "fbox",         "mathbf",    "boldsymbol", "bm",
          "mathit",   "mathcal",     "mathsf",       "vec",       "hat",        "overrightarrow",
          "bar",      "tilde",       "underline",    "emph",      "ensuremath", "mathop"});
}

bool is_text_command(std::string_view s) {
  return any_of(s, {"text", "mbox", "textbf", "textit", "textrm", "textnormal", "mathrm",
                    "operatorname", "hbox", "textsf", "texttt", "textup"});
}

std::string_view operator_of(std::string_view word) {
  const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                   [&](const Renamed& r) { return r.from == word; });
  return found == std::end(kOperators) ? std::string_view() : found->to;
}

}  // namespace counterbeam::grade
