"""Translates CUDA sources for the compiler of the host: translate.py SOURCE_FOLDER TO FILE...

Replaces what only nvcc parses: inline assembly by ptx<"text">(operands), launches with <<<>>>, and
declarations of shared memory. Everything else is kept, on its line. A .cu becomes a .cpp."""
import pathlib
import re
import sys

EMULATOR = "::counterbeam::emulated::"
PLACES = {"threadIdx": "current->index", "blockIdx": "current->block->index",
          "gridDim": "current->block->grid"}
CLOSING = {"(": ")", "[": "]", "{": "}"}


def end_of(text, at):
    """Behind the string or the parenthesis that begins at `at`."""
    if text[at] == '"':
        return text.index('"', at + 1) + 1
    closing, at = CLOSING[text[at]], at + 1
    while text[at] != closing:
        at = end_of(text, at) if text[at] in '"([{' else at + 1
    return at + 1


def split(text, separator):
    """The parts between separators that are in no string or parenthesis."""
    parts, begin, at = [], 0, 0
    while at < len(text):
        if text[at] in '"([{':
            at = end_of(text, at)
            continue
        if text[at] == separator:
            parts.append(text[begin:at])
            begin = at + 1
        at += 1
    return parts + [text[begin:]]


def call(assembly):
    """What stands in the parentheses of an asm statement, as a call."""
    template, *lists = split(assembly, ":")
    operands = [operand[operand.index("(") + 1:operand.rindex(")")]
                for one in lists[:2] for operand in split(one, ",") if operand.strip()]
    return f'{EMULATOR}ptx<{template.strip()}>({", ".join(operands)})'


def without_assembly(text):
    out, at = "", 0
    for found in re.finditer(r"\basm(?: volatile)?\(", text):
        end = end_of(text, found.end() - 1)
        lines = text[found.start():end].count("\n")
        statement = call(text[found.end():end - 1]).replace("\n", " ")
        out += text[at:found.start()] + statement + "\n" * lines
        at = end
    return out + text[at:]


def without_launches(text):
    while (found := re.search(r"(\w+)<<<(.*?)>>>\(", text, re.DOTALL)) is not None:
        end = end_of(text, found.end() - 1)
        body = f"[&] {{ {found[1]}{text[found.end() - 1:end]}; }}"
        text = f"{text[:found.start()]}{EMULATOR}launch_body({found[2]}, {body}){text[end:]}"
    return text


def translated(text):
    text = without_launches(without_assembly(text))
    text = re.sub(r"extern __shared__ (\S+) (\w+)\[\];",
                  rf"auto* \2 = reinterpret_cast<\1*>({EMULATOR}dynamic_shared());", text)
    text = re.sub(r"__shared__ (?:alignas\(\d+\) )?(\S+) (\w+)((?:\[[^\]]+\])*);",
                  rf"static char key_of_\2; auto& \2 = {EMULATOR}shared_array<\1\3>(&key_of_\2);", text)
    return re.sub(rf"(?<![.\w])({'|'.join(PLACES)})\b",
                  lambda found: EMULATOR + PLACES[found[1]], text)


source, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
for name in sys.argv[3:]:
    to = target / re.sub(r"\.cu$", ".cpp", name)
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(f'#line 1 "{source / name}"\n' + translated((source / name).read_text()))
