#!/usr/bin/env python3
"""Writes the Unicode properties the tokenizers need: unicode_data.cpp and unicode_property_data.cpp.

  tools/unicode_tables.py src/base

Needs three packages from PyPI: unicodedata2==16.0.0 and unicodedataplus (ages, scripts), both at
Unicode 16.0, and regex (Alphabetic and similar properties; points newer than 16.0 are left out).
Categories are those of Unicode 16.0, as in the regular expressions of Hugging Face's tokenizers;
normalisation is that of Unicode 9.0, as in their normalizers. When they strip marks or split at
punctuation they use Unicode 9.0 and 8.0, so marks and punctuation added later are listed separately.

A table is a string of numbers in base 32: six bits per character, the highest of which means that
more digits follow.
"""
import pathlib
import sys

import regex
import unicodedata2 as ucd
import unicodedataplus as ages

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
CATEGORIES = ("Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So "
              "Zl Zp Zs").split()
PROPERTIES = {"Alphabetic Alpha": "Lu Ll Lt Lm Lo Nl", "Lowercase Lower": "Ll", "Uppercase Upper": "Lu",
              "Ideographic Ideo": "", "Emoji": "", "Emoji_Presentation EPres": ""}
COMPOSES, EXCLUDED, COMPATIBILITY = 0, 1, 2


def number(value):
    text = ""
    while value >= 32:
        text += ALPHABET[32 + value % 32]
        value //= 32
    return text + ALPHABET[value]


def signed(value):
    return number(value * 2 if value >= 0 else -value * 2 - 1)


def normalisation_knows(char):
    return ages.age(char) != "" and float(ages.age(char)) <= 9.0


def runs(points):
    """(gap since the last run, length) of sorted code points."""
    text, last, i = "", 0, 0
    while i < len(points):
        length = 1
        while i + length < len(points) and points[i + length] == points[i] + length:
            length += 1
        text += number(points[i] - last) + number(length)
        last = points[i] + length
        i += length
    return text


def late(major, version):
    """The code points of a category assigned after a version."""
    return [c for c in range(0x110000)
            if ucd.category(chr(c))[0] == major and float(ages.age(chr(c))) > version]


def named_runs():
    """(names in lower case without separators, runs) of every script and of PROPERTIES."""
    scripts = {}
    for c in range(0x110000):
        scripts.setdefault(ages.script(chr(c)), []).append(c)
    aliases = ages.property_value_aliases["script"]
    rows = [(" ".join([name, *aliases[name]]), points) for name, points in sorted(scripts.items())]
    for names, categories in PROPERTIES.items():
        has = regex.compile(r"\p{%s}" % names.split()[0]).match
        rows.append((names, [c for c in range(0x110000) if ucd.category(chr(c)) in categories.split() or
                             ucd.category(chr(c)) != "Cn" and has(chr(c))]))
    reserved = [*range(0x1F000, 0x1FB00), *range(0x1FC00, 0x1FFFE)]  # reserved for future pictographs
    rows.append(("Extended_Pictographic ExtPict", sorted(
        {c for c in range(0x110000) if ages.is_extended_pictographic(chr(c))} |
        {c for c in reserved if ucd.category(chr(c)) == "Cn"})))
    return [(" ".join(dict.fromkeys(names.lower().replace("_", "").split())), runs(points))
            for names, points in rows]


def category_runs():
    """(length, category) runs from U+0000 to U+10FFFF."""
    text, start = "", 0
    names = [CATEGORIES.index(ucd.category(chr(c))) for c in range(0x110000)] + [-1]
    for c in range(1, 0x110001):
        if names[c] != names[start]:
            text += number(names[start]) + number(c - start)
            start = c
    return text


def combining_classes():
    """(gap since the last code point, class)."""
    text, last = "", 0
    for c in range(0x110000):
        value = ucd.combining(chr(c))
        if value and normalisation_knows(chr(c)):
            text += number(c - last) + number(value)
            last = c
    return text


def decompositions():
    """(gap, kind + 4 * length, code points as differences from the same place of the last entry)."""
    text, last, before = "", 0, [0] * 20
    for c in range(0x110000):
        mapping = ucd.decomposition(chr(c)).split()
        if not mapping or not normalisation_knows(chr(c)):
            continue
        kind = COMPATIBILITY if mapping[0].startswith("<") else COMPOSES
        points = [int(p, 16) for p in mapping if not p.startswith("<")]
        if kind == COMPOSES and ucd.normalize("NFC", chr(c)) != chr(c):
            kind = EXCLUDED
        text += number(c - last) + number(kind + 4 * len(points))
        for i, point in enumerate(points):
            text += signed(point - before[i])
            before[i] = point
        last = c
    return text


def case_pairs(change):
    """(gap, difference) for every code point that `change` maps to one other code point."""
    text, last = "", 0
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        to = change(chr(c))
        if len(to) == 1 and ord(to) != c:
            text += number(c - last) + signed(ord(to) - c)
            last = c
    return text


def simple_fold(char):
    folded = char.casefold()
    return folded if len(folded) == 1 else char.lower()


def quoted(text):
    return "\n".join(f'    "{text[i:i + 93]}"' for i in range(0, len(text), 93))


def literal(name, text):
    return f"const char* const {name} =\n{quoted(text)};\n"


def write(file, text):
    file.write_text(f"""// Generated by tools/unicode_tables.py from the Unicode Character Database; do not edit.
{text}
}}  // namespace counterbeam::unicode_data
""", encoding="utf-8")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if ucd.unidata_version != "16.0.0" or ages.unidata_version != "16.0.0":
        sys.exit("unicodedata2 and unicodedataplus must both be at Unicode 16.0.0")
    folder = pathlib.Path(sys.argv[1])
    tables = [
        ("kCategoryRuns", category_runs()),
        ("kCombiningClasses", combining_classes()),
        ("kDecompositions", decompositions()),
        ("kLateMarks", runs(late("M", 9.0))),
        ("kLatePunctuation", runs(late("P", 8.0))),
        ("kLowercase", case_pairs(str.lower)),
        ("kCaseFolding", case_pairs(simple_fold)),
    ]
    body = "\n".join(literal(name, text) for name, text in tables)
    write(folder / "unicode_data.cpp", f"""\
// Categories: Unicode 16.0. Normalisation: Unicode 9.0. The tool says how the numbers are packed.
#include "base/unicode_data.h"

namespace counterbeam::unicode_data {{

{body}""")
    body = ",\n".join(f'    {{"{names}",\n{quoted(text)}}}' for names, text in named_runs())
    write(folder / "unicode_property_data.cpp", f"""\
// Scripts and binary properties of Unicode 16.0. The tool says how the numbers are packed.
#include "base/unicode_data.h"

// clang-format off
namespace counterbeam::unicode_data {{
namespace {{

constexpr NamedRuns kRows[] = {{
{body}}};

}}  // namespace

const std::span<const NamedRuns> kNamedRuns(kRows);
""")


main()
