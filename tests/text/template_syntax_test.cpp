// The syntax of templates in its corners. What is rendered is what Jinja 3.1.6 renders, with the
// settings of transformers; what it refuses is refused, in its words where they help.
#include <gtest/gtest.h>

#include "base/error.h"
#include "text/chat_template.h"

namespace counterbeam {
namespace {

const Json kQuestion = {{{"role", "user"}, {"content", "hi"}}};

TEST(TemplateSyntax, CornersRenderAsInJinja) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\r\nb\rc\n", "a\nb\nc"},
      {"", ""},
      {"x{", "x{"},
      {"{{ 1 }}{", "1{"},
      {"{%- raw -%} {{ x }} {%- endraw -%} y", "{{ x }}y"},
      {"{% raw %}{% endraw x %}{% endraw %}", "{% endraw x %}"},
      {"{% raw %}{% if %}{% endraw %}", "{% if %}"},
      {" {#- c -#} a", "a"},
      {"{##}a", "a"},
      {"{#-#}a", "a"},
      {"{#", ""},
      {"a {#+ b +#} c", "a  c"},
      {"{{ 0xfF_1 }} {{ 0b101 }} {{ 0o17 }}", "4081 5 15"},
      {"{{ 1e+5 }} {{ 2E-1 }} {{ 1_0.5 }}", "100000.0 0.2 10.5"},
      {"{{ [[1, 2], 3].0.1 }}", "2"},
      {"{{ +1 }} {{ -1 }} {{ - - 1 }}", "1 -1 1"},
      {"{{ {'a': 1,}.a }}{{ {} }}", "1{}"},
      {"{{ [1, 2].1 }}", "2"},
      {"{{ 'abcdef'[1:5:2] }}{{ 'abc'[::] }}{{ 'abc'[:] }}{{ 'abc'[::-1] }}", "bdabcabccba"},
      {"{{ range(3,)|list }}", "[0, 1, 2]"},
      {"{{ range(*[1, 3])|list }}", "[1, 2]"},
      {"{{ dict(**{'a': 1}).a }}", "1"},
      {"{{ dict(a=1,).a }}", "1"},
      {"{{ range(*[1], **{}) |list}}", "[0]"},
      {"{% if false %}{{ 1|nosuch }}{{ 1 is nosuch }}{% endif %}ok", "ok"},
      {"{{ 4 is divisibleby 2.0 }}", "True"},
      {"{{ {} is eq {} }}{{ 1 is in [1] }}", "TrueTrue"},
      {"{% macro m(caller=none) %}{{ caller() }}{% endmacro %}{% call m() %}x{% endcall %}", "x"},
      {"{% macro m(kwargs, varargs) %}{{ kwargs }}{{ varargs }}{% endmacro %}{{ m(1, 2) }}", "12"},
      {"{% block a scoped %}x{% endblock a %}", "x"},
      {"{% print 1, 'b' %}", "1b"},
      {"{% with %}x{% endwith %}{% with a=1, b=2 %}{{ a }}{{ b }}{% endwith %}", "x12"},
      {"{{ 1 if false }}|", "|"},
      {"{{ (1,) }}{{ () }}", "(1,)()"},
      {"{{ 1, 2 }}", "(1, 2)"},
      {"{{ 2 ** 3 ** 2 }} {{ 7 // 2 }} {{ 7 % 3 }}", "64 3 1"},
      {"{{ not 1 == 1 }}{{ 1 not in [2] }}", "FalseTrue"},
      {"{{ 'a' 'b' }}", "ab"},
      {"{{ é }}|", "|"},
      {"{%+ if true %} a{% endif %}", " a"},
      {"{{- 1 -}} b", "1b"},
      {"{{ {(1, 2): 3}[1, 2] }}", "3"},
      {"{% set loop = 1 %}{{ loop }}", "1"},
  };
  for (const auto& [source, text] : cases)
    EXPECT_EQ(ChatTemplate::parse(source, "t").render(kQuestion), text) << source;
}

TEST(TemplateSyntax, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"{# x", "Missing end of comment tag"},
      {"{% raw %}x", "Missing end of raw directive"},
      {"{% raw x %}{% endraw %}", "Encountered unknown tag 'raw'."},
      {"{{ ²a }}", "Invalid character in identifier"},
      {"{{ 0x }}", "expected token 'end of print statement', got 'x'"},
      {"{{ 0xg }}", "expected token 'end of print statement', got 'xg'"},
      {"{{ 1e }}", "expected token 'end of print statement', got 'e'"},
      {"{{ 1. }}", "expected name or number"},
      {"{{ 5", "unexpected end of template, expected 'end of print statement'."},
      {"{{ 0", "unexpected end of template, expected 'end of print statement'."},
      {"{{ 1.", "expected name or number"},
      {"{{ 1e", "expected token 'end of print statement', got 'e'"},
      {"{{ 1_", "expected token 'end of print statement', got '_'"},
      {"{{ a", "unexpected end of template, expected 'end of print statement'."},
      {"{{ 1 not 2 }}", "expected token 'end of print statement', got 'not'"},
      {"{{ a.'x' }}", "expected name or number"},
      {"{{ a.", "expected name or number"},
      {"{{ 1 'a' }}", "expected token 'end of print statement', got 'string'"},
      {"{{ (1 }}", "unexpected '}', expected ')'"},
      {"{{ (1", "unexpected end of template, expected ')'."},
      {"{{ 1", "unexpected end of template, expected 'end of print statement'."},
      {"{% macro 1() %}", "expected token 'name', got '1'"},
      {"{{ 1|2 }}", "expected token 'name', got '2'"},
      {"{% 1 %}", "tag name expected"},
      {"{% macro", "unexpected end of template, expected 'name'."},
      {"{% macro m", "unexpected end of template, expected '('."},
      {"{{ f(*a, *b) }}", "invalid syntax for function call expression"},
      {"{{ f(**a, **b) }}", "invalid syntax for function call expression"},
      {"{{ f(**a, *b) }}", "invalid syntax for function call expression"},
      {"{{ f(*a, 1) }}", "invalid syntax for function call expression"},
      {"{{ f(a=1, 2) }}", "invalid syntax for function call expression"},
      {"{{ f(**a, b=1) }}", "invalid syntax for function call expression"},
      {"{{ f(**a, 1) }}", "invalid syntax for function call expression"},
      {"{{ f(1 2) }}", "expected token ',', got '2'"},
      {"{{ 1|a.b }}", "No filter named 'a.b'."},
      {"{{ 1 is a.b }}", "No test named 'a.b'."},
      {"{% for loop in [1] %}{% endfor %}",
       "Can't assign to special loop variable in for-loop target"},
      {"{% for x in [1] %}{% for loop in [1] %}{{ loop }}{% endfor %}{{ loop }}{% endfor %}",
       "Can't assign to special loop variable in for-loop target"},
      {"{% for x in [1] %}{% set loop = 1 %}{{ loop.index }}{% endfor %}",
       "Can't assign to special loop variable in for-loop target"},
      {"{% with a=1", "unexpected end of template, expected 'end of statement block'."},
      {"{% with a 1 %}", "expected token '=', got '1'"},
      {"{% print 1", "unexpected end of template, expected 'end of statement block'."},
      {"{% print 1 2 %}", "expected token ',', got '2'"},
      {"{% include 'x'", "unexpected end of template, expected 'end of statement block'."},
      {"{% block a required %}{% endblock %}", "a required block has no child template to fill it"},
      {"{{ 'a'|upper()('b') }}", "'str' object is not callable"},
      {"{{ {'a' 1} }}", "expected token ':', got '1'"},
      {"{{ {'a': 1 'b'} }}", "expected token ',', got 'string'"},
      {"{{ [1 2] }}", "expected token ',', got '2'"},
      {"{% if 1 %}",
       "Unexpected end of template. 'elif' or 'else' or 'endif' of the tag 'if' is missing."},
      {"{{ 12345678901234567890 }}", "the integer 12345678901234567890 does not fit in 64 bits"},
      {"{% call 1 %}{% endcall %}", "expected call"},
      {"{% for 1 in x %}{% endfor %}", "can't assign to this expression"},
      {"{% for x of y %}{% endfor %}", "expected token 'in', got 'of'"},
      {"{% nosuch %}", "Encountered unknown tag 'nosuch'."},
      {"{% if 1 %}{% nosuch %}{% endif %}",
       "Encountered unknown tag 'nosuch'. The innermost block that needs to be closed is 'if'."},
      {"{{ 'abc", "the string that opens with ' has no end"},
      {"{{ 'a\\", "the string that opens with ' has no end"},
      {"{{ ) }}", "unexpected ')'"},
      {"{{ (] }}", "unexpected ']', expected ')'"},
      {"{{ $ }}", "unexpected char '$'"},
      {"{% set 1 = 2 %}", "can't assign to this expression"},
      {"{{ a is b is c }}", "You cannot chain multiple tests with is"},
      {"{% filter %}{% endfilter %}", "expected token 'name', got 'end of statement block'"},
      {"{{ 1 if 2 else }}", "unexpected 'end of print statement'"},
      {"{% if %}{% endif %}", "Expected an expression, got 'end of statement block'"},
      {"{% else %}", "Encountered unknown tag 'else'."},
      {"{% set a.b.c = 1 %}", "expected token 'end of statement block', got '.'"},
      {"{{ 007 }}", "expected token 'end of print statement', got '7'"},
  };
  for (const auto& [source, message] : cases) {
    try {
      ChatTemplate::parse(source, "t").render(kQuestion);
      ADD_FAILURE() << "was accepted: " << source;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::BadInput) << source;
      EXPECT_EQ(error.what(), std::string("t, line 1: ") + message) << source;
    }
  }
}

}  // namespace
}  // namespace counterbeam
