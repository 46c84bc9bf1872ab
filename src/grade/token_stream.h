// The token cursor of the parser.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "grade/lexer.h"
#include "grade/tree.h"

namespace counterbeam::grade {

// Throws an Error that parse() catches: the text is not mathematics.
[[noreturn]] inline void refuse(const char* why) {
  bad_input("not an expression: {}", why);
}

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is(std::string_view text, std::size_t ahead = 0) const {
    const Token& token = peek(ahead);
    return (token.kind == TokenKind::Operator || token.kind == TokenKind::Command) &&
           token.text == text;
  }
  bool is(TokenKind kind, std::size_t ahead = 0) const { return peek(ahead).kind == kind; }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!is(TokenKind::Word) || peek().text != word) return false;
    next();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) refuse("a delimiter is missing");
  }
  std::size_t position() const { return at_; }
  void rewind(std::size_t position) { at_ = position; }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace counterbeam::grade
