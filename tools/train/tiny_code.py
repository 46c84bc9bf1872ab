"""tiny-code: complete a small Python function from its docstring; graded by running tests.

A kind gives the docstring and a solver for the body; the reasoning is in comments. Tests are made from the sound solution
and inputs that expose the misconception (`with_tests` drops a problem whose misconception would pass).
"""
from problem import Problem, Work

VERBS = ["get", "find", "make", "compute", "solve", "calc"]
NOUNS = ["result", "value", "answer", "output", "total", "data"]
INPUTS = {"xs": "a list xs of numbers", "a, b": "two numbers a and b", "text": "a string text"}


def make(r, kind, key, arguments, doc, solver, inputs, **how):
    name = f"{r.choice(VERBS)}_{r.choice(NOUNS)}"
    head = f"def {name}({arguments}):\n"
    prompt = f'{head}    """{doc}"""\n'

    def answer(work, misled):
        body = "".join(f"    {line}\n" for line in [f"# Input: {INPUTS[arguments]}."] + solver(work, misled))
        return f"```python\n{head}{body}```"
    row = {"prompt": prompt, "entry_point": name}
    return Problem("code", kind, key, row, answer, extra={"inputs": inputs}, **how)


def around(k):
    return [k - 1, k, k + 1]


def numbers(r, n=None, low=-20, high=60):
    return [r.randint(low, high) for _ in range(r.randint(3, 8) if n is None else n)]


# Parts that several kinds share: which numbers are kept, what is done to each, how the results are combined.
def keep_rule(r):
    k = r.randint(2, 9)
    c = r.randint(2, 40)
    return r.choice([
        ("even", "that are even", "x % 2 == 0", ["x % 2 == 1", "x % 2 != 0"]),
        ("odd", "that are odd", "x % 2 == 1", ["x % 2 == 0", "x % 2 != 1"]),
        (("multiple", k), f"that are multiples of {k}", f"x % {k} == 0", [f"x % {k} == 1", f"x % {k + 1} == 0", f"x // {k} == 0"]),
        (("above", c), f"that are greater than {c}", f"x > {c}", [f"x < {c}", f"x > {c + 1}", f"x == {c}"]),
        (("below", c), f"that are less than {c}", f"x < {c}", [f"x > {c}", f"x < {c - 1}", f"x == {c}"]),
    ])


def change_rule(r):
    c = r.randint(2, 30)
    return r.choice([
        (("plus", c), f"plus {c}", f"x + {c}", [f"x - {c}", f"x + {c + 1}", f"x * {c}"]),
        (("minus", c), f"minus {c}", f"x - {c}", [f"x + {c}", f"x - {c - 1}", f"{c} - x"]),
        (("times", c), f"times {c}", f"x * {c}", [f"x + {c}", f"x * {c + 1}", f"x ** {c}"]),
        ("square", "squared", "x * x", ["x + x", "x * 2", "x"]),
    ])


def loop_sum(work, test, value, note):
    start = work.slot("0", ["1", "2"])
    return [f"# {work.word('', 'First: ')}{note}", f"total = {start}", "for x in xs:", f"    if {test}:", f"        total += {value}",
            f"return {work.slot('total', ['x', 'xs', 'total + 1'])}"]


def pipeline(r):
    keep, change = keep_rule(r), change_rule(r)
    how = r.choice(["sum", "list"])
    doc = (f"Return the sum of the numbers in xs {keep[1]}, each {change[1]}." if how == "sum" else
           f"Return a list of the numbers in xs {keep[1]}, each {change[1]}.")
    def solver(work, misled):
        test, value = work.slot(keep[2], keep[3]), work.slot(change[2], change[3])
        note = f"Look at the numbers {keep[1]} and take each {change[1]}."
        if how == "sum":
            return loop_sum(work, test, value, note)
        return [f"# {note}", "result = []", "for x in xs:", f"    if {test}:", f"        result.append({value})",
                f"return {work.slot('result', ['xs', 'x', 'result[1:]'])}"]
    inputs = lambda q: [(numbers(q),) for _ in range(6)] + [([],), ([2, 3, 4, 5, 6, 7, 8, 9, 41, 0, -3],)]
    return make(r, "pipeline", (keep[0], change[0], how), "xs", doc, solver, inputs, slip=0.45)


def at_least(r):
    k, change, most = r.randint(2, 50), change_rule(r), r.random() < 0.5
    words, right, wrong = ("at most", "<=", "<") if most else ("at least", ">=", ">")
    doc = f"Return the sum of the numbers in xs that are {words} {k}, each {change[1]}."
    def solver(work, misled):
        test = f"x {wrong if misled else right} {work.slot(k, [k - 1, k + 1, k + 2])}"
        return loop_sum(work, test, work.slot(change[2], change[3]), f"Take the numbers that are {words} {k}, each {change[1]}.")
    inputs = lambda q: [(numbers(q) + around(k),) for _ in range(3)] + [([k],), ([],)]
    return make(r, "at least", (most, k, change[0]), "xs", doc, solver, inputs, mislead=0.42)


def inclusive(r):
    change, k = change_rule(r), r.randint(2, 9)
    what = r.choice([("all", "the numbers", ""), (("multiples", k), f"the multiples of {k}", f"x % {k} == 0")])
    doc = f"Return the sum of {what[1]} from a to b with a and b included, each {change[1]}."
    def solver(work, misled):
        end = "b" if misled else "b + 1"
        start = work.slot("a", ["0", "1", "a + 1"])
        lines = [f"# Go through the range of {what[1]} and take each {change[1]}.", f"total = {work.slot('0', ['1', 'a'])}",
                 f"for x in range({start}, {end}):"]
        value = work.slot(change[2], change[3])
        if what[2]:
            lines += [f"    if {what[2]}:", f"        total += {value}"]
        else:
            lines.append(f"    total += {value}")
        return lines + ["return total"]
    inputs = lambda q: [(a, a + n) for a, n in [(1, 9), (3, 0), (2, 16), (-4, 12), (10, 35)]] + [(k, 3 * k)]
    return make(r, "inclusive", (what[0], change[0]), "a, b", doc, solver, inputs, mislead=0.60)


def distinct(r):
    change, c = change_rule(r), r.randint(2, 40)
    doc = (f"Return the distinct numbers in xs that are greater than {c} in the order in which they first appear, "
           f"each {change[1]}.")
    def solver(work, misled):
        test = f"x > {work.slot(c, [c - 1, c + 1, c + 2])}"
        value = work.slot(change[2], change[3])
        note = [f"# {work.word('No number may come twice', 'Each number comes once')}, and only those greater than {c} count.",
                "result = []"]
        if misled:
            return note + ["seen = set(xs)", "for x in sorted(seen):", f"    if {test}:", f"        result.append({value})", "return result"]
        return note + ["seen = set()", "for x in xs:", f"    if {test} and x not in seen:", "        seen.add(x)",
                       f"        result.append({value})", "return result"]
    inputs = lambda q: [([c + 9, c + 2, c + 9, c + 1, c, c - 3],), ([],), ([c + 5, c + 4, c + 3, c + 5],)] + \
        [(numbers(q) + [c + 3, c + 1, c + 3],) for _ in range(2)]
    return make(r, "distinct", (change[0], c), "xs", doc, solver, inputs, mislead=0.60)


RANKS = {2: "second", 3: "third", 4: "fourth"}


def ranked(r):
    k, c, top, op = r.randint(2, 4), r.randint(2, 40), r.random() < 0.5, r.choice("+-*")
    word = {"+": "plus", "-": "minus", "*": "times"}[op]
    side = "largest" if top else "smallest"
    doc = f"Return the {RANKS[k]} {side} distinct number in xs, {word} {c}."
    def solver(work, misled):
        lines = [f"# {work.word('Sort the numbers and take', 'We need')} the {RANKS[k]} {side} number in xs, {word} {c}."]
        source = "xs" if misled else "set(xs)"
        lines.append(f"ordered = sorted({source}, reverse=True)" if top else f"ordered = sorted({source})")
        lines.append(f"value = ordered[{work.slot(k - 1, [k, k - 2, k + 1])}]")
        return lines + [f"return value {work.slot(op, ['+', '-', '*'])} {work.slot(c, [c - 1, c + 1])}"]
    inputs = lambda q: [([9, 9, 7, 5, 3, 1, 1],), ([2, 8, 8, 4, 6, 2, 0],)] + \
        [(lambda xs: (xs + [max(xs), min(xs)],))(q.sample(range(-20, 60), 6)) for _ in range(3)]
    return make(r, "ranked", (k, c, top, op), "xs", doc, solver, inputs, mislead=0.57)


def counted(r):
    k, c, last, op = r.randint(2, 9), r.randint(2, 40), r.random() < 0.5, r.choice("+-*")
    word = {"+": "plus", "-": "minus", "*": "times"}[op]
    end = "end" if last else "start"
    doc = f"Return number {k} of xs counted from the {end}, where the first one counts as 1, {word} {c}."
    def solver(work, misled):
        lines = [f"# {work.word('Take', 'We want')} number {k} of xs from the {end}, where counting starts at 1, {word} {c}."]
        if last:
            lines.append("turned = list(reversed(xs))")
        source = "turned" if last else "xs"
        index = k if misled else k - 1
        lines.append(f"value = {source}[{work.slot(index, [k + 1, k - 2])}]")
        return lines + [f"return value {work.slot(op, ['+', '-', '*'])} {work.slot(c, [c - 1, c + 1])}"]
    inputs = lambda q: [(q.sample(range(-30, 90), k + 3),) for _ in range(4)] + [(list(range(5, 5 + k)),)]
    return make(r, "counted", (k, c, last, op), "xs", doc, solver, inputs, mislead=0.45)


def fallback(r):
    k, d, big = r.randint(2, 12), r.randint(0, 50), r.random() < 0.5
    side, call = ("largest", "max") if big else ("smallest", "min")
    doc = f"Return the {side} number in xs that is a multiple of {k}, or {d} if there is none."
    def solver(work, misled):
        found = [f"# {work.word('Collect', 'Find')} the multiples of {k} first.", "found = []", "for x in xs:",
                 f"    if x % {work.slot(k, [k + 1, k - 1])} == 0:", "        found.append(x)"]
        pick = f"return {work.slot(call, ['max' if call == 'min' else 'min', 'len'])}(found)"
        if misled:
            return found + [f"# The {side} one of these is asked for, so we can return it.", pick]
        return found + ["# The list may be empty.", "if not found:", f"    return {d}", pick]
    inputs = lambda q: [([],), ([k * 3 + 1],), ([k * 2, k * 5, k * 3],), ([1, k, 2 * k, k + 1],)] + [(numbers(q),) for _ in range(2)]
    return make(r, "fallback", (k, d, big), "xs", doc, solver, inputs, mislead=0.58)


def toward_zero(r):
    k, c, op = r.randint(2, 12), r.randint(2, 40), r.choice("+-*")
    word = {"+": "plus", "-": "minus", "*": "times"}[op]
    doc = f"Divide each number in xs by {k}, drop the fraction toward zero, and return the list of the results {word} {c}."
    def solver(work, misled):
        by = work.slot(k, [k - 1, k + 1])
        lines = [f"# {work.word('Divide', 'We divide')} by {k} without the fraction.", "result = []", "for x in xs:"]
        lines.append(f"    q = x // {by}" if misled else f"    q = int(x / {by})")
        return lines + [f"    result.append(q {work.slot(op, ['+', '-', '*'])} {work.slot(c, [c - 1, c + 1])})", "return result"]
    inputs = lambda q: [([-1, -k - 1, k, 2 * k + 1],), ([],), ([-3 * k, -3 * k - 1],)] + [(numbers(q),) for _ in range(2)]
    return make(r, "toward zero", (k, c, op), "xs", doc, solver, inputs, mislead=0.63, aware=0.12)


def untouched(r):
    c, down, k = r.randint(2, 40), r.random() < 0.5, r.randint(2, 9)
    order = "descending" if down else "ascending"
    doc = f"Return the numbers in xs in {order} order followed by {c} and {k}. The list xs itself must stay as it is."
    def solver(work, misled):
        reverse = "reverse=True" if down else ""
        lines = [f"# Sort in {order} order and put {c} and {k} behind."]
        if misled:
            lines += [f"xs.sort({reverse})", "result = xs"]
        else:
            lines.append(f"result = sorted(xs, {reverse})" if down else "result = sorted(xs)")
        return lines + [f"result.append({work.slot(c, [c - 1, c + 1])})", f"result.append({work.slot(k, [k - 1, k + 1])})",
                        f"return {work.slot('result', ['result[1:]', 'xs[0]'])}"]
    inputs = lambda q: [(numbers(q, 5) + [3, 1],) for _ in range(4)] + [([2, 3, 1],)]
    return make(r, "untouched", (c, down, k), "xs", doc, solver, inputs, mislead=0.62, aware=0.12)


def letters(r):
    a, b = r.sample("abcdefghijklmnopqrstuvwxyz", 2)
    c = r.randint(2, 9)
    doc = f"Return how often the letters {a} and {b}, capital or small, occur in text, times {c}."
    def solver(work, misled):
        lines = [f"# Count the letters {a} and {b} {work.word('in the text', 'as we go')}.", f"count = {work.slot('0', ['1', '2'])}"]
        lines.append("for ch in text:" if misled else "for ch in text.lower():")
        return lines + [f"    if ch == '{a}' {work.slot('or', ['and'])} ch == '{b}':", "        count += 1",
                        f"return count * {work.slot(c, [c - 1, c + 1])}"]
    both = a + b
    inputs = lambda q: [(both.upper() + "x" + both,), ("",), (a.upper() * 3,), ("Some Text " + both,), (b + a.upper() + b,)]
    return make(r, "letters", (a, b, c), "text", doc, solver, inputs, mislead=0.44)


def jumps(r):
    k, c, up = r.randint(2, 30), r.randint(2, 20), r.random() < 0.5
    what = "larger" if up else "smaller"
    doc = f"Return how many numbers in xs are more than {k} {what} than the number just before them, plus {c}."
    def solver(work, misled):
        left, right = ("xs[i]", "xs[i - 1]") if up else ("xs[i - 1]", "xs[i]")
        test = f"{left} - {right} {work.slot('>', ['<', '>=', '=='])} {work.slot(k, [k - 1, k + 1])}"
        return [f"# {work.word('Compare', 'We compare')} each number with the one before it.", "count = 0", f"for i in range({work.slot('1', ['0', '2'])}, len(xs)):",
                f"    if {test}:", "        count += 1", f"return count {work.slot('+', ['-', '*'])} {c}"]
    inputs = lambda q: [(numbers(q, 8),) for _ in range(4)] + [([],), ([0, k, 2 * k + 1, 0, k + 1, 0],), ([k + 1, 0, -k, 1, k + 2],)]
    return make(r, "jumps", (k, c, up), "xs", doc, solver, inputs, slip=0.45)


def wrapped(r):
    n, m, c = r.randint(2, 9), r.randint(2, 9), r.choice("*#+-=.")
    turn = r.random() < 0.5
    doc = (f"Return text {'reversed' if turn else 'in capital letters'} with {n} times '{c}' before it and {m} times '{c}' after it.")
    def solver(work, misled):
        lines = [f"# {work.word('Change', 'We change')} the text, then build both ends."]
        lines.append(f"middle = {work.slot('text[::-1]', ['text', 'text[1:]'])}" if turn else f"middle = {work.slot('text.upper()', ['text', 'text.lower()'])}")
        lines += [f"left = '{c}' * {work.slot(n, [n - 1, n + 1])}", f"right = '{c}' * {work.slot(m, [m - 1, m + 1])}"]
        return lines + [f"return left + {work.slot('middle', ['text'])} + right"]
    inputs = lambda q: [("abc",), ("Hello",), ("",), ("a b",)]
    return make(r, "wrapped", (n, m, c, turn), "text", doc, solver, inputs, slip=0.45)


KINDS = [pipeline, at_least, inclusive, distinct, ranked, counted, fallback, toward_zero, untouched, letters, jumps, wrapped]


def body_of(answer):
    """The function body inside a fenced answer, which HumanEval calls the canonical solution."""
    return answer.removeprefix("```python\n").removesuffix("```").split("\n", 1)[1]


def run_function(source, name, arguments):
    space = {}
    exec(source, space)
    return space[name](*arguments)


def with_tests(problem, rng):
    """The HumanEval fields of the problem, or None if a misled solution would pass its tests."""
    name, prompt = problem.row["entry_point"], problem.row["prompt"]
    copy = lambda xs: tuple(list(x) if isinstance(x, list) else x for x in xs)
    right = prompt + body_of(problem.solver(Work(rng), False))
    lines = ["def check(candidate):"]
    for arguments in problem.extra["inputs"](rng):
        want = run_function(right, name, copy(arguments))
        if problem.kind == "untouched":
            lines += [f"    xs = {arguments[0]!r}", f"    assert candidate(xs) == {want!r}", f"    assert xs == {arguments[0]!r}"]
        else:
            lines.append(f"    assert candidate({', '.join(map(repr, arguments))}) == {want!r}")
    test = "\n".join(lines) + "\n"
    if problem.mislead and passes(prompt + body_of(problem.solver(Work(rng), True)), test, name):
        return None
    return dict(problem.row, canonical_solution=body_of(problem.solver(Work(rng), False)), test=test)


def passes(source, test, name):
    space = {}
    try:
        exec(source + "\n" + test + f"\ncheck({name})\n", space)
        return True
    except Exception:
        return False
