// Turns the text of an answer (LaTeX, plain or mixed) into tokens: symbols of many spellings become
// one, spacing and styling vanish, written numbers keep their literal. Never fails on bytes: what
// it does not know becomes a Junk token, which no parse accepts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace counterbeam::grade {

enum class TokenKind {
  Number,    // text: the literal without separators, "1234.5"
  Symbol,    // a variable or constant: "x", "alpha", "pi"
  Word,      // two letters and more that are not mathematics: "miles"; lower case
  Function,  // "sin", "log", "gcd"
  Operator,  // "+", "<=", "(", "\\{", "cup", "deg", "pm", "and", "or", ...
  Command,   // "frac", "sqrt", "binom", "begin", ...
  Junk,
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;
  bool spaced = false;  // white space before it
};

// How a comma between digits is read at the top level: as a thousands separator where the groups
// fit, or always as the separator of a list.
enum class Commas { Thousands, List };

std::vector<Token> tokenize(std::string_view text, Commas commas);

// Other spellings made one: Unicode mathematics to LaTeX, foreign digits to ASCII, doubled
// backslashes before a command outside an environment to single ones.
std::string plain_spelling(std::string_view text);

}  // namespace counterbeam::grade
