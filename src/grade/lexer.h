// Splits the text of an answer (LaTeX, plain or mixed) into tokens. Different spellings of a symbol
// give the same token, spacing and styling are dropped, numbers keep their literal. It accepts any
// bytes: unknown input becomes a Junk token, which the parser rejects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace counterbeam::grade {

enum class TokenKind {
  Number,    // text: the literal without separators, "1234.5"
  Symbol,    // a variable or constant: "x", "alpha", "pi"
  Word,      // two or more letters that are not mathematics, in lower case: "miles"
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

// How a comma between digits is read at the top level: as a thousands separator if three digits
// follow, or always as a list separator.
enum class Commas { Thousands, List };

std::vector<Token> tokenize(std::string_view text, Commas commas);

// Unifies spellings: converts Unicode mathematics to LaTeX, digits of other scripts to ASCII, and
// doubled backslashes before a command outside of an environment to single ones.
std::string plain_spelling(std::string_view text);

}  // namespace counterbeam::grade
