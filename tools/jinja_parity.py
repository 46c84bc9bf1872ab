#!/usr/bin/env python3
"""Compares Counterbeam's chat templates with Jinja2, configured as in transformers.

  tools/jinja_parity.py golden FILE         write tests/text/golden/jinja_cases.jsonl
  tools/jinja_parity.py generate N FILE     write N generated cases of the same format
  tools/jinja_parity.py templates DIR FILE  cases of every *.jinja in DIR over many conversations

A case is {"template", "messages", "args", "text" | "error"}. test_text runs the golden file, and
another one named by COUNTERBEAM_JINJA_CASES. Needs: pip install jinja2.
"""
import copy
import datetime
import functools
import itertools
import json
import pathlib
import random
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

    def _run(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


ENV = environment()
compiled = functools.lru_cache(maxsize=64)(ENV.from_string)


def expect(template, messages, args):
    case = {"template": template, "messages": messages, "args": args}
    context = {"tools": None, "documents": None, "add_generation_prompt": False,
               "bos_token": "<s>", "eos_token": "</s>", "messages": messages, **copy.deepcopy(args)}
    try:
        text = compiled(template).render(**context)
        text.encode()
        case["text"] = text
    except Exception as error:  # of any kind: ours must fail too
        case["error"] = f"{type(error).__name__}: {error}"
    return case


DATA = {
    "s": "Hello, World", "empty": "", "space": "  a b \n", "uni": "Grüße, 数学 🧮 ß", "lines": "one\ntwo\n\n  three\n",
    "html": "<b>\"x\" & 'y'</b>", "num": 42, "neg": -7, "zero": 0, "pi": 3.14159, "big": 1e20, "small": 1e-7,
    "half": 2.5, "yes": True, "no": False, "nil": None, "list": [3, 1, 2], "words": ["b", "A", "c", "a"],
    "mixed": [1, "a", None, True, 2.0], "nested": [[1, 2], [3, [4]]], "none_list": [],
    "d": {"b": 1, "a": [1, {"x": None}], "C": "three"}, "nodict": {},
    "users": [{"name": "Bo", "age": 30, "tag": {"k": "x"}}, {"name": "al", "age": 25, "tag": {"k": "y"}},
              {"name": "Cy", "age": 30}],
    "digits": "12345", "hex": "ff", "float_text": " 2.5 ", "quote": "it's", "both": "it's \"q\"",
    "long": "the quick brown fox jumps over the lazy dog and runs away over the hills",
}
NAMES = list(DATA)

FILTERS = [
    "abs", "attr('name')", "batch(2)|list", "batch(2, 'x')|list", "capitalize", "center(20)", "count", "d('D')",
    "default('D', true)", "default", "dictsort", "dictsort(true)", "dictsort(by='value')",
    "dictsort(reverse=true)", "e", "escape", "filesizeformat", "filesizeformat(true)", "first", "float",
    "float(1.5)", "forceescape", "format(1)", "groupby('age')", "groupby('age')|map(attribute='grouper')|list",
    "indent", "indent(2, true)", "indent(width='>>', first=true, blank=true)", "int", "int(9)", "int(base=16)",
    "int(0, 16)", "items|list", "join", "join(', ')", "join('|', attribute='name')", "last", "length", "list",
    "lower", "map('upper')|list", "map(attribute='name')|list", "map(attribute='tag.k', default='?')|list",
    "map('int')|list", "max", "max(attribute='age')", "min", "reject('none')|list", "rejectattr('tag')|list",
    "rejectattr('age', 'equalto', 30)|list", "replace('l', 'L')", "replace('o', '0', 1)", "replace('', '-')",
    "reverse|list", "reverse", "round", "round(1)", "round(2, 'floor')", "round(0, 'ceil')", "round(-1)", "safe",
    "select|list", "select('string')|list", "select('gt', 1)|list", "selectattr('tag', 'defined')|list",
    "selectattr('name', 'in', ['Bo'])|list", "slice(2)|list", "slice(3, 'x')|list", "sort", "sort(reverse=true)",
    "sort(case_sensitive=true)", "sort(attribute='age,name')|map(attribute='name')|list", "string", "striptags",
    "sum", "sum(attribute='age')", "sum(start=5)", "title", "tojson", "tojson(indent=2)",
    "tojson(ensure_ascii=true)", "tojson(separators=(',', ':'))", "tojson(sort_keys=true)", "trim", "trim('H ')",
    "truncate(9)", "truncate(20, true)", "truncate(11, false, '!', 0)", "unique|list", "unique(true)|list",
    "upper", "urlencode", "wordcount", "wordwrap(10)", "wordwrap(15, false)", "xmlattr", "nosuchfilter",
]
TESTS = ["defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number", "string",
         "mapping", "sequence", "iterable", "callable", "even", "odd", "divisibleby(3)", "divisibleby 7", "lower",
         "upper", "in [1, 2, 42]", "in 'Hello, World!'", "sameas none", "sameas(true)", "eq 42", "equalto('')",
         "ne(3)", "gt 1", "ge(2.5)", "lt 3", "le 3", "escaped", "filter", "test", "nosuchtest"]
METHODS = [
    "upper()", "lower()", "strip()", "strip('Hd')", "lstrip()", "rstrip('\\n')", "split()", "split(' ')",
    "split('o', 1)", "split(none, 1)", "rsplit(None, 1)", "rsplit('o', 1)", "splitlines()", "splitlines(true)", "startswith('H')",
    "endswith(('d', 'x'))", "startswith('l', 2)", "replace('l', 'r')", "replace('l', 'r', 1)", "find('o')",
    "rfind('o')", "find('z')", "index('l')", "index('zz')", "count('l')", "title()", "capitalize()", "swapcase()",
    "center(21, '*')", "ljust(15)", "rjust(15, '.')", "zfill(7)", "isdigit()", "isalpha()", "isalnum()",
    "isspace()", "isupper()", "islower()", "istitle()", "isnumeric()", "isdecimal()", "isidentifier()",
    "isprintable()", "isascii()", "partition(',')", "rpartition('o')", "removeprefix('He')", "removesuffix('ld')",
    "join(['a', 'b'])", "format(1, x=2)", "casefold()", "expandtabs(4)", "encode", "items()", "keys()", "values()",
    "items()|list", "get('b')", "get('zz')", "get('zz', 7)", "copy()", "append(1)", "pop()", "update({})",
    "count(1)", "index(2)", "name", "b", "a", "nosuch", "nosuch.more", "real", "bit_length()", "is_integer()",
    "clear", "__class__", "setdefault('q', 1)", "sort()", "items",
]
SUBSCRIPTS = ["[0]", "[-1]", "[99]", "['b']", "['name']", "['zz']", "[1:]", "[:2]", "[::-1]", "[1:-1]", "[::2]",
              "[-2:]", "[5:1]", "[:]", "[1:5:2]", "[-1:0:-1]", "['items']", "[true]", "[1.0]", "[none]", "[0][0]",
              "[::0]", "['a':]", "[nil]"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]


def operand(rng):
    return rng.choice(NAMES + ["1", "2", "-3", "0", "1.5", "'a'", "'%s!'", "'l'", "[]", "[1]", "(1, 2)", "{}",
                               "{'b': 2}", "true", "none", "missing", "''", "range(3)"])


SNIPPETS = [
    "{% for x in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}"
    "{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ x }};{% endfor %}",
    "{% for x in list if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ ',' if not loop.last }}{% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}",
    "{% for x in list %}{% break %}{% else %}else{% endfor %}",
    "{% for x in list %}{% continue %}{% else %}else{% endfor %}",
    "{% for x in list %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% else %}else{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}",
    "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for c in 'héß' %}{{ c }}.{% endfor %}",
    "{% for x in list %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}",
    "{% for x in list %}{{ loop.cycle('odd', 'even') }}{% endfor %}",
    "{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}",
    "{% for x in nested recursive %}{% if x is sequence %}[{{ loop(x) }}]{% else %}{{ x }}@{{ loop.depth }}"
    "{% endif %}{% endfor %}",
    "{% for x in list %}{% for y in list %}{{ loop.index }}{% if y == x %}{% break %}{% endif %}{% endfor %};"
    "{% endfor %}",
    "{% for x in list %}{% set outer = loop %}{% for y in [1] %}{{ outer.index }}{% endfor %}{% endfor %}",
    "{% set ns = namespace(n=0, found=false) %}{% for x in list %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}"
    "{{ ns.found }}",
    "{% set ns = namespace(stop=false) %}{% for x in list if not ns.stop %}{{ x }}{% set ns.stop = true %}"
    "{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}",
    "{% if true %}{% set x = 5 %}{% endif %}{{ x }}",
    "{% for i in [1, 2] %}{% if q is defined %}again{% endif %}{% set q = 1 %}{% endfor %}{{ q }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = [1, 2, 3] %}{{ a }}",
    "{% set x %}block {{ num }}{% set inner = 1 %}{% endset %}{{ x|upper }}{{ inner }}",
    "{% set x | upper | trim %}  block {% endset %}[{{ x }}]", "{% filter upper %}a{{ s }}{% endfilter %}",
    "{% filter trim|replace('a', 'b') %} a a {% endfilter %}",
    "{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% with %}{% set z = 3 %}{{ z }}{% endwith %}{{ z }}",
    "{% macro m(a, b='x', c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}{{ m(1, c=2) }}{{ m(b=3, a=4) }}"
    "{{ m() }}",
    "{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, k=4) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}body{{ num }}{% endcall %}",
    "{% macro m() %}[{{ caller(1, 2) }}]{% endmacro %}{% call(a, b=5) m() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{{ caller }}{% endmacro %}{{ m() }}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.caller }}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", "{% set late = 1 %}{% macro m() %}{{ late }}{% endmacro %}{% set late = 2 %}{{ m() }}",
    "{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{{ 'a' if yes }}|{{ 'a' if no }}|{{ 'a' if no else 'b' if no else 'c' }}", "{{ (1 if no) is defined }}",
    "{{ 1 < 2 < 3 }}{{ 1 < 2 > 3 }}{{ 3 > 2 == 2 }}", "{{ not a is defined }}{{ not 1 == 2 }}{{ -1|abs }}{{ (-1)|abs }}",
    "{{ 2 ** 3 ** 2 }}{{ -2 ** 2 }}{{ 7 // -2 }}{{ -7 % 3 }}{{ 7.5 // 2 }}{{ -7.5 % 2 }}{{ 1 / 3 }}{{ 6 / 2 }}",
    "{{ 1 + 2 ~ 3 + 4 }}{{ 1 ~ 2 * 3 }}{{ 'a' 'b' }}{{ 1_000 }}{{ 0x1F }}{{ 0b11 }}{{ 0o17 }}{{ 1e3 }}{{ 1.5e-3 }}",
    "{{ 'a\\tb\\x41\\u00e9\\\\\\'\\q\\101' }}", "{{ \"it's\" }}{{ 'say \"x\"' }}",
    "{{ [1, 2] + [3] }}{{ (1,) + (2,) }}{{ [0] * 3 }}{{ 'ab' * 2 }}{{ 2 * 'x' }}{{ () }}{{ (1,) }}{{ (1, 2) }}{{ [1,] }}",
    "{{ {'a': 1, 2: [none, true], (1, 2): 'x'} }}{{ {}['x'] }}{{ {1: 'one'}[1.0] }}{{ {True: 'T'}[1] }}",
    "{{ mixed }}{{ quote }}{{ [quote, both, html, lines, uni, '\\\\', '\\x00\\x7f\\u200b\\xa0'] }}", "{{ [1.0, 1e16, 1e15, 1.5e300, 1e-5, 0.0001, -0.0, 123456789.123] }}",
    "{{ none }}{{ true }}{{ missing }}{{ [missing] }}{{ missing|string }}{{ missing ~ 'x' }}", "{{ missing.x }}", "{{ missing['x'] }}", "{{ missing() }}", "{{ missing + 1 }}", "{{ nil.x }}{{ nil['x'] }}{{ num.x }}",
    "{{ missing == missing2 }}{{ missing == none }}{{ missing in [1] }}{{ 1 in missing }}", "{{ missing|length }}{{ missing|list }}{{ missing|tojson }}",
    "{{ '%s-%d-%5.2f|%-5s|%05d|%x|%r|%%|%+d|%e|%c' % ('a', 3.7, 2.555, 'b', 42, 255, 'q', 3, 12345.678, 'z') }}",
    "{{ '%(a)s %(b)03d' % {'a': 1, 'b': 2} }}{{ '%s' % 'x' }}{{ '%s' % [1] }}{{ '%d%%' % 5 }}", "{{ '%s %s' % 'a' }}", "{{ '%s' % ('a', 'b') }}", "{{ 'x' % 1 }}",
    "{{ '{} {} {0}'.format(1, 2) }}", "{{ '{} {x} {{}} {y[0]} {z.name}'.format(1, x=2, y=[3], z={'name': 4}) }}", "{{ '{:>8}|{:<8}|{:^8}|{:*^9}|{:08.3f}|{:,}|{:+d}|{:x}|{:#b}|{:.2%}|{:e}|{:g}'.format('a', 'b', 'c', 'd', 3.14159, 1234567, 5, 255, 5, 0.256, 1234.5, 0.00001) }}",
    "{{ '{!r:>6} {:{}}'.format('a', 'b', 4) }}", "{{ 'a%sb'|format('X') }}{{ '%(k)s'|format(k=1) }}", "{{ '{:d}'.format(1.5) }}", "{{ '{:10.3}|{:5}|{:_}|{:010,}'.format('abcdef', 3, 1234567, 1234567) }}",
    "{{ 1.0|string }}{{ 10|float }}{{ 3.9|int }}{{ '3.9'|int }}{{ 'x'|int(5) }}{{ 2.5|round }}{{ 3.5|round }}{{ 2.675|round(2) }}{{ 1234|round(-2) }}",
    "{{ range(5)|list }}{{ range(1, 10, 3) }}{{ range(5)[1:3] }}{{ range(5)[-1] }}{{ range(10, 0, -3)|list }}{{ range(3)|length }}", "{{ range(200000)|length }}",
    "{{ dict(a=1, b=2) }}{{ dict([('x', 1)]) }}{{ dict({'y': 1}, z=2) }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}",
    "{% set j = joiner('|') %}{% for x in list %}{{ j() }}{{ x }}{% endfor %}", "{{ raise_exception('no') }}", "{{ strftime_now('%Y-%m-%d %H:%M:%S %B %b %A %a %j %p %I %y %-d %% %e') }}",
    "{% raw %}{{ x }} {% if %}{% endraw %}|", "  {% raw %}\n a {% endraw %}\n b", "{%- raw -%}  x  {%- endraw -%}  y", "a{# comment #}b\n{# line #}\nc {#- strip -#} d",
    "  {% if yes %}\n  a\n  {% endif %}\n  b\n", "  {%+ if yes %}\n a{% endif +%}\n b", "a\n  {{- s -}}  \n b", "{{ s }}\n\n{{ s }}\n", "{% if yes -%}  \n x \n {%- endif %}\ny", "x  {%- set a = 1 -%}  y", "\t{% set a = 1 %}\n\n  {% set b = 2 %}z",
    "{% generation %}a{{ s }}{% endgeneration %}b", "{% for x in list %}{% generation %}{{ x }}{{ loop.index }}{% set zz = 1 %}{% endgeneration %}{{ zz }}{% endfor %}", "{% print 1, 2 %}", "{% block b %}in{{ num }}{% endblock %}", "{% autoescape false %}{{ html }}{% endautoescape %}",
    "{{ (html|safe) + '<i>' }}{{ html|e }}{{ (html|safe).upper() }}{{ '<' ~ (html|safe) }}{{ [html|safe] }}", "{{ ('<'|safe) is escaped }}{{ ('<b>'|safe) % () }}{{ ('%s'|safe) % '<' }}{{ ('{}'|safe).format('<') }}{{ (','|safe).join(['<', '>'|safe]) }}",
    "{% include 'x' %}", "{% if no %}{% include 'x' %}{% endif %}ok", "{% if no %}{{ 1|nosuch }}{% endif %}ok", "{{ 1|nosuch if no else 2 }}", "{% do 1 %}", "{% if %}", "{% for %}", "{{ }}", "{{ 1 +", "{% if 1 %}", "{% endif %}", "{% break %}", "{{ 'a }}", "{{ (1 }}", "{# x", "{% raw %}", "{{ a b }}", "{% set 1 = 2 %}", "{% set loop = 1 %}{{ loop }}", "{% for loop in [1] %}{% endfor %}", "{{ 1 is defined is none }}", "{{ x is not defined }}", "{{ [1, 2, 3] is not sequence }}", "{{ f(a=1, 2) }}", "{% macro m(a, a) %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}",
    "{{ users|map(attribute='name')|map('lower')|join(', ') }}{{ users|selectattr('age', '>=', 30)|map(attribute='name')|list }}{{ (users|first).name }}{{ (users|last).age }}", "{% for g, us in users|groupby('age') %}{{ g }}:{{ us|length }};{% endfor %}", "{{ users|sum('age') }}{{ (users|map(attribute='age'))|max }}", "{% if users|selectattr('nope') %}truthy{% endif %}", "{{ (list|map('string'))[0] }}{{ list|map('string')|length }}", "{% set g = list|select %}{{ g|list }}{{ g|list }}", "{% set g = list|map('string') %}{{ g|first }}{{ g|join }}",
    "{{ d.a[1].x }}{{ d['a'][0] }}{{ d.get('b') }}{{ d.items()|length }}{{ d.keys()|list }}{{ d.values() }}{{ d.items() }}{{ 'b' in d }}{{ d|length }}{{ d|list }}{{ d|first }}", "{{ s[0] }}{{ s[-1] }}{{ s[1:4] }}{{ uni[2:5] }}{{ uni[::-1] }}{{ uni|length }}{{ uni|upper }}{{ uni|title }}{{ uni[100] }}",
    "{{ list.append(4) }}", "{% set x = list.append(4) %}", "{{ list.pop }}x", "{{ d.update is defined }}{{ d.pop is defined }}", "{{ ''.__class__ }}x", "{{ ''.__class__.__mro__ }}", "{{ namespace(x=1).x }}", "{{ ns.x }}", "{% set d.x = 1 %}", "{{ tools is none }}{{ tools is defined }}{{ documents }}{{ add_generation_prompt }}{{ bos_token }}", "{{ messages|length }}", "{{ 10 is divisibleby 5 and 3 is odd }}{{ 'a' is in 'abc' }}{{ 1 is eq 1 }}", "{{ pi.is_integer() }}", "{{ d|tojson(indent=4) }}{{ {'a': [], 'b': {}, 'c': [[]]}|tojson(indent=1) }}", "{{ [1.0, 1e100, none, true, 'é\\n\\x01\"/\\\\']|tojson }}", "{{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }}", "{{ {'a': missing}|tojson }}", "{{ (1, 2)|tojson }}{{ '</script>'|tojson }}{{ range(3)|tojson }}", "{{ list|sort|join }}{{ words|sort }}{{ mixed|sort }}", "{{ [[2, 'b'], [1, 'a']]|sort }}{{ [(1, 2), (1, 1)]|sort }}", "{{ 'a,b,,c'.split(',') }}{{ ' a  b '.split() }}{{ 'a b c d'.split(' ', 2) }}{{ 'a--b'.split('--') }}{{ ''.split(',') }}{{ ''.split() }}", "{{ 'abc'.split('') }}", "{{ 'x'.join([1]) }}", "{{ 'a' < 'B' }}{{ [1, 2] < [1, 3] }}{{ 'a' < 1 }}", "{{ 1 == 1.0 == true }}{{ [1] == (1,) }}{{ {'a': 1} == {'a': 1.0} }}{{ none == false }}", "{{ ('a', 'b')|join('-') }}{{ 'abc'|list }}{{ 'abc'|reverse }}{{ [3, 1]|reverse|list }}{{ {'a': 1, 'b': 2}|reverse|list }}", "{{ 'Hello'|replace('l', 'L', 1)|upper|lower|title|trim('h') }}", "{{ 5|default(1) }}{{ ''|default('x') }}{{ ''|default('x', true) }}{{ missing|default }}{{ none|default('n') }}", "{%- for m in messages %}{{ m.role }}: {{ m['content']|trim }}{{ '\\n' if not loop.last }}{%- endfor %}",
]
MESSAGES = [{"role": "system", "content": "Be brief. "}, {"role": "user", "content": " <|im_end|> hi\n"},
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}]


def generated(rng):
    kind = rng.randrange(9)
    name = rng.choice(NAMES)
    if kind == 0:
        return "{{ %s|%s }}" % (name, rng.choice(FILTERS))
    if kind == 1:
        return "{{ %s is %s }}" % (name, rng.choice(TESTS))
    if kind == 2:
        return "{{ %s.%s }}" % (name, rng.choice(METHODS))
    if kind == 3:
        return "{{ %s%s }}" % (name, rng.choice(SUBSCRIPTS))
    if kind == 4:
        return "{{ %s %s %s }}" % (operand(rng), rng.choice(BINARY), operand(rng))
    if kind == 5:
        return "{{ %s %s %s %s %s }}" % (operand(rng), rng.choice(BINARY), operand(rng), rng.choice(BINARY), operand(rng))
    if kind == 6:
        return "{{ %s|%s|%s }}" % (name, rng.choice(FILTERS), rng.choice(FILTERS))
    if kind == 7:
        return whitespace(rng)
    return "{%% for x in %s %%}{{ x|%s }};{{ loop.last }}{%% else %%}-{%% endfor %%}" % (name, rng.choice(FILTERS))


def whitespace(rng):
    gaps = ["", " ", "\n", "  \n", "\n\n", "\t", " \n ", "x", " x ", "\r\n", "\u00a0"]
    tags = ["if yes", "endif", "set q = 1"]
    out = rng.choice(gaps)
    for tag in [tags[2], tags[0], tags[1], tags[2]]:
        left, right = rng.choice(["", "-", "+", ""]), rng.choice(["", "-", "+", ""])
        out += "{%%%s %s %s%%}" % (left, tag, right) + rng.choice(gaps)
        if rng.random() < 0.3:
            out += "{#%s c %s#}" % (rng.choice(["", "-", "+"]), rng.choice(["", "-", "+"])) + rng.choice(gaps)
        if rng.random() < 0.4:
            out += "{{%s s %s}}" % (rng.choice(["", "-"]), rng.choice(["", "-"])) + rng.choice(gaps)
    return out


def is_random(case):
    """Whether the text contains addresses, which differ from run to run."""
    return " at 0x" in case.get("text", "") or " object " in case.get("text", "")


TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather \"now\" <here>", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "City", "enum": ["Köln", "Rom"]},
                                     "days": {"type": ["integer", "null"], "default": 3},
                                     "opts": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}}},
    "required": ["city"]}, "return": {"type": "string"}}}]


def conversations():
    u = lambda c: {"role": "user", "content": c}
    a = lambda c, **k: {"role": "assistant", "content": c, **k}
    s = lambda c: {"role": "system", "content": c}
    call = {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": 2}}}
    text_call = {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Köln\"}"}}
    tool = {"role": "tool", "content": "12°C, <|im_end|>", "tool_call_id": "call00001", "name": "get_weather"}
    return [
        [u("What is 2+2?")], [s(" Be brief.\n"), u("Hi")], [s("S"), u("a"), a("b"), u("c")], [u("a"), a("b")],
        [u("a"), a("<think>\nhm\n</think>\n\nb"), u("c"), a("d", reasoning_content="why"), u("e")],
        [u("w?"), a("", tool_calls=[call]), tool, a("It is 12"), u("ok")], [u("w?"), a(None, tool_calls=[call, text_call]), tool, tool],
        [u("w?"), a("Let me see", tool_calls=[text_call]), tool, u("thanks")],
        [u([{"type": "text", "text": "look"}, {"type": "image"}]), a([{"type": "text", "text": "seen"}]), u("more")],
        [s([{"type": "text", "text": "Sys"}]), u([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}])],
        [a("first")], [], [u("a"), u("b")], [s("only")], [{"role": "developer", "content": "dev"}, u("x")],
        [u("  \n "), a(""), u("数学 🧮 'q' \"dq\" <b>&</b>")], [{"role": "odd", "content": "x"}],
    ]


def template_cases(folder):
    variants = [{}, {"add_generation_prompt": True}, {"add_generation_prompt": True, "enable_thinking": False},
                {"add_generation_prompt": True, "enable_thinking": True, "tools": TOOLS},
                {"tools": TOOLS, "documents": [{"title": "T", "text": "D"}], "add_generation_prompt": True}]
    for path in sorted(pathlib.Path(folder).glob("*.jinja")):
        for messages, args in itertools.product(conversations(), variants):
            yield expect(path.read_text(encoding="utf-8"), messages, args)


def write(path, cases):
    with open(path, "w", encoding="utf-8") as out:
        for case in cases:
            if not is_random(case):
                out.write(json.dumps(case, ensure_ascii=False) + "\n")


def used(template):
    return {name: value for name, value in DATA.items() if name in template}


def main():
    mode = sys.argv[1]
    rng = random.Random(7)
    if mode == "golden":
        snippets = list(dict.fromkeys(SNIPPETS + [generated(rng) for _ in range(420)]))
        write(sys.argv[2], (expect(t, MESSAGES if "messages" in t else [], used(t)) for t in snippets))
    elif mode == "generate":
        rng = random.Random(int(sys.argv[2]))
        write(sys.argv[3], (expect(t, [], used(t)) for t in (generated(rng) for _ in range(int(sys.argv[2])))))
    else:
        write(sys.argv[3], template_cases(sys.argv[2]))


if __name__ == "__main__":
    main()
