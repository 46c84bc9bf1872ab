// Splits a template into tokens, with the white space options that transformers sets: trim_blocks,
// lstrip_blocks, and one trailing newline removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam::jinja {

enum class TokenKind : std::uint8_t {
  Data,
  BlockBegin,
  BlockEnd,
  VariableBegin,
  VariableEnd,
  Name,
  String,
  Integer,
  Float,
  Operator,
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  int line = 1;
  std::string text;  // the name, the operator, the unescaped string, the data
  std::int64_t integer = 0;
  double real = 0;

  bool is(TokenKind wanted) const { return kind == wanted; }
  bool is_operator(std::string_view op) const { return kind == TokenKind::Operator && text == op; }
  bool is_name(std::string_view name) const { return kind == TokenKind::Name && text == name; }
};

// A syntax error and its line.
struct SyntaxFault {
  std::string message;
  int line;
};

// The last token is End. Throws SyntaxFault.
std::vector<Token> tokenize(std::string_view source);

}  // namespace counterbeam::jinja
