// A pull parser for large, flat JSON (safetensors headers, shard indexes). It builds no tree, so it
// is fast and uses no memory beyond what the caller keeps. It is strict: RFC 8259, valid UTF-8,
// bounded nesting. Detecting duplicate keys is left to the caller.
//
//   cursor.object("the header", [&](std::string key) {
//     sizes[key] = cursor.unsigned_integer(key);
//   });
//   cursor.end();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace counterbeam {

class JsonCursor {
 public:
  // Messages start with `name` and end with `advice` (what to do). All three must outlive the
  // cursor.
  JsonCursor(std::string_view text, std::string_view name, std::string_view advice)
      : text_(text), name_(name), advice_(advice) {}

  // Messages say "in PLACE" until the next call; `place` must stay valid until then.
  void set_place(std::string_view place) { place_ = place; }

  // Calls member(key) for every member; it must consume the value.
  template <typename Member>
  void object(std::string_view what, Member member) {
    open('{', what, "an object");
    if (!close('}')) do {
        std::string key = string("a key");
        expect(':');
        member(std::move(key));
      } while (!closed_or_comma('}'));
    --depth_;
  }

  // Calls element() for every element; it must consume the value.
  template <typename Element>
  void array(std::string_view what, Element element) {
    open('[', what, "an array");
    if (!close(']')) do {
        element();
      } while (!closed_or_comma(']'));
    --depth_;
  }

  std::string string(std::string_view what);
  std::uint64_t unsigned_integer(std::string_view what);  // digits only, below 2^64
  void skip();                                            // skips one value of any kind
  std::string_view raw();                                 // skips one value and returns its text
  char peek();                                            // first character of the next value
  void end();                                             // fails unless only white space is left

  [[noreturn]] void fail(std::string_view problem) const;

 private:
  void space();
  void open(char bracket, std::string_view what, std::string_view kind);
  bool close(char bracket);
  bool closed_or_comma(char bracket);
  void expect(char character);
  void append_escape(std::string& to);
  unsigned hex4();
  void skip_literal(std::string_view word);
  void skip_number();
  std::string found() const;  // the text at the cursor, for messages

  std::string_view text_;
  std::string_view name_, advice_, place_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace counterbeam
