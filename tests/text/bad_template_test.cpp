// Malformed and hostile templates: each quickly gives an error that says what is wrong and where.
#include <gtest/gtest.h>

#include <chrono>

#include "base/error.h"
#include "text/chat_template.h"

namespace counterbeam {
namespace {

struct BadTemplate {
  std::string source;
  std::string fragment;  // expected in the message
};

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::vector<BadTemplate> malformed() {
  return {
      {"{% if %}x{% endif %}", "line 1: Expected an expression"},
      {"\n\n{% if x %}", "line 3: Unexpected end of template. 'elif' or 'else' or 'endif'"},
      {"{% endif %}", "unknown tag 'endif'"},
      {"{% if a %}{% endfor %}", "unknown tag 'endfor'. The innermost block"},
      {"{% for x %}{% endfor %}", "expected token 'in'"},
      {"{% for 1 in x %}{% endfor %}", "can't assign"},
      {"{% for loop in x %}{% endfor %}", "special loop variable"},
      {"{% set 'a' = 1 %}", "can't assign"},
      {"{% do x %}", "unknown tag 'do'"},
      {"{{ a b }}", "expected token 'end of print statement', got 'b'"},
      {"{{ 'open }}", "has no end"},
      {"{{ (1 }}", "unexpected '}', expected ')'"},
      {"{{ 1) }}", "unexpected ')'"},
      {"{{ a ? b }}", "unexpected char '?'"},
      {"{{ 99999999999999999999 }}", "does not fit in 64 bits"},
      {"{{ '\\x4' }}", "hex digits"},
      {"{{ '\\ud800' }}", "hex digits"},
      {"{# never closed", "Missing end of comment"},
      {"{% raw %} x", "Missing end of raw"},
      {"{{ 1|nosuch }}", "No filter named 'nosuch'"},
      {"{{ 1 is nosuch }}", "No test named 'nosuch'"},
      {"{% break %}", "'break' outside loop"},
      {"{% macro m(a=1, b) %}{% endmacro %}", "non-default argument"},
      {"{% macro m(a, a) %}{% endmacro %}", "'a' occurs twice"},
      {"{% call x %}{% endcall %}", "expected call"},
      {"{{ f(a=1, 2) }}", "invalid syntax for function call"},
      {"{{ f(a=1, a=2) }}", "repeated: a"},
      {"{{ x is a is b }}", "cannot chain"},
      {"\xff", "not valid UTF-8"},
      {std::string(3 << 20, 'x'), "more than the limit"},
  };
}

std::vector<BadTemplate> failing() {
  return {
      {"a\n{{ missing.x }}", "t, line 2: 'missing' is undefined"},
      {"{{ messages[0].x.y }}", "'dict' has no attribute 'x'"},
      {"{{ 1 + 'a' }}", "unsupported operand type(s) for +: 'int' and 'str'"},
      {"{{ 1 / 0 }}", "division by zero"},
      {"{{ messages.append(1) }}", "unsafe"},
      {"{{ ''.__class__.__mro__ }}", "has no attribute '__class__'"},
      {"{{ raise_exception('no ' ~ 'way') }}", "no way"},
      {"{% include 'x' %}", "'include' of another template"},
      {"{% extends 'x' %}", "'extends' of another template"},
      {"{% autoescape true %}{% endautoescape %}", "autoescape"},
      {"{{ [1, 'a']|sort }}", "'<' not supported"},
      {"{{ missing|tojson }}", "not JSON serializable"},
      {"{{ {[]: 1} }}", "unhashable"},
      {"{% set a, b = 1, 2, 3 %}", "too many values to unpack"},
      {"{{ 5() }}", "not callable"},
      {"{{ 'x'.split('') }}", "empty separator"},
      {"{{ messages|random }}", "the same every time"},
  };
}

std::vector<BadTemplate> hostile() {
  const std::string loop = "{% for a in range(99999) %}";
  return {
      {loop + loop + loop + "{% endfor %}{% endfor %}{% endfor %}", "steps"},
      {"{{ range(10000000000) }}", "Range too big"},
      {"{{ range(-9223372036854775807, 9223372036854775807) }}", "Range too big"},
      {"{{ 'a' * 10000000000 }}", "too large"},
      {"{{ [0] * 10000000000 }}", "memory"},
      {"{{ 'x'|center(10000000000) }}", "more than the limit"},
      {"{{ 'x'.ljust(4000000000) }}", "more than the limit"},
      {"{{ 'x'|indent(10000000000) }}", "more than the limit"},
      {"{{ [1]|tojson(indent=10000000000) }}", "more than the limit"},
      {"{{ '%4000000000d' % 1 }}", "too large"},
      {"{{ '{:999999999999}'.format(1) }}", "too large"},
      {"{{ '%.999999999f' % 1.0 }}", "too large"},
      {"{{ 9 ** 9 ** 9 }}", "64 bits"},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion depth"},
      {"{% macro m(n) %}{{ m(n ~ n) }}{% endmacro %}{{ m('ab') }}", "more than"},
      {"{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", "recursion depth"},
      {"{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% "
       "endfor %}",
       "more than the limit"},
      {"{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% "
       "endfor %}",
       "memory"},
      {"{% set ns = namespace(s=[]) %}{% for i in range(999) %}{% set ns.s = [ns.s] %}{% endfor %}",
       "nests deeper"},
      {"{% set ns = namespace(s=[1]) %}{% for i in range(50) %}{% set ns.s = [ns.s, ns.s] %}"
       "{% endfor %}{{ ns.s }}",
       "steps"},
      {"{% set ns = namespace(s=[1]) %}{% for i in range(50) %}{% set ns.s = [ns.s, ns.s] %}"
       "{% endfor %}{{ ns.s == ns.s|list }}{{ ns.s|tojson }}",
       "steps"},
      {"{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}", "too deeply"},
      {loop + "{{ messages[0].content * 1000 }}{% endfor %}", "limit"},
      {loop + loop + "{% macro m() %}{% endmacro %}{% endfor %}{% endfor %}", "more than"},
      {loop + loop + "{% set x = namespace(a=1) %}{% endfor %}{% endfor %}", "more than"},
      {"{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}", "nested deeper"},
      {"{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}", "nested deeper"},
      {"{{ " + repeated("not ", 5000) + "1 }}", "nested deeper"},
      {"{{ " + repeated("-", 5000) + "1 }}", "nested deeper"},
      {"{{ 1" + repeated(" + 1", 5000) + " }}", "nests deeper"},
      {"{{ x" + repeated("|string", 5000) + " }}", "nests deeper"},
      {"{{ x" + repeated(".a", 5000) + " }}", "nests deeper"},
      {repeated("{% if 1 %}", 5000), "nested deeper"},
      {"{{ 1" + repeated(" if 1 else 1", 5000) + " }}", "nested deeper"},
      {"{% set ns = namespace(g=[1]) %}{% for i in range(999) %}{% set ns.g = ns.g|map('string') %}"
       "{% endfor %}{{ ns.g|list }}",
       "nests deeper"},
      {"{{ 'a'.replace('', 'x' * 100000) * 10000 }}", "too large"},
      {loop + "{{ [1, 2, 3]|batch(1000000, 0)|list }}{% endfor %}", "more than"},
      {"{{ [1]|slice(900000000000)|list }}", "memory"},
  };
}

// Reference cycles in a template that fails; the leak sanitizer would report them.
std::vector<BadTemplate> reference_cycles() {
  return {
      {"{% for x in [1] %}{{ loop.changed(loop) }}{{ 1 / 0 }}{% endfor %}", "division by zero"},
      {"{% for x in [1] %}{% macro m() %}{{ m }}{% endmacro %}{{ 1 / 0 }}{% endfor %}",
       "division by zero"},
      {"{% set ns = namespace() %}{% set ns.a = [ns] %}{% macro m() %}{% set ns.m = m %}"
       "{{ 1 / 0 }}{% endmacro %}{% call m() %}{% endcall %}",
       "macro 'm'"},
  };
}

void check(const std::vector<BadTemplate>& cases) {
  const Json messages = {{{"role", "user"}, {"content", "hello"}}};
  for (const BadTemplate& bad : cases) {
    const std::string shown = bad.source.substr(0, 100);
    const auto start = std::chrono::steady_clock::now();
    std::string message = "no error";
    try {
      ChatTemplate::parse(bad.source, "t").render(messages);
    } catch (const Error& error) {
      message = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_NE(message.find(bad.fragment), std::string::npos)
        << shown << "\n  message: " << message << "\n  expected: " << bad.fragment;
    EXPECT_EQ(message.substr(0, 1), "t") << "the message names the template: " << message;
    EXPECT_LT(took.count(), 20.0) << shown;
  }
}

TEST(BadTemplate, Malformed) {
  check(malformed());
}

TEST(BadTemplate, RuntimeErrorsNameTheLine) {
  check(failing());
}

TEST(BadTemplate, ReferenceCyclesAreFreed) {
  check(reference_cycles());
}

TEST(BadTemplate, HostileOnesAreStopped) {
  check(hostile());
}

}  // namespace
}  // namespace counterbeam
