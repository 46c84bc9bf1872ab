"""tiny-choice: four options, one of which is the sound solver's answer and one the misconception's.

A kind gives the question, both ways of reasoning, and values for the other options; `assemble` puts them together.
"""
import math

from problem import Problem, Work

NAMES = ["Ann", "Bob", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal", "Ivy", "Jo", "Kim", "Lou"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def assemble(r, kind, key, question, think, fillers, unit="", **how):
    """think(work, misled) -> (sentences, value). Values are shown followed by the unit."""
    right = think(Work(None), False)[1]
    wrong = think(Work(None), True)[1] if how.get("mislead") else None
    if wrong == right:
        return None
    values = [right] + ([wrong] if wrong is not None else [])
    for value in fillers:
        if value not in values and not (isinstance(value, int) and value <= 0):
            values.append(value)
    if len(values) < 4:
        return None
    values = values[:4]
    r.shuffle(values)
    choices = [f"{v}{unit}" for v in values]

    def solver(work, misled):
        sentences, value = think(work, misled)
        if value not in values or work.slips():
            value = work.rng.choice([v for v in values if v not in (right, wrong)])
        place = values.index(value)
        return f"{' '.join(sentences)} {work.word('The result is', 'So we get')} {choices[place]}.\nThis is option {'ABCD'[place]}.\n\\boxed{{{'ABCD'[place]}}}"
    row = {"question": question, "choices": choices, "answer": values.index(right)}
    return Problem("choice", kind, key, row, solver, **how)


def near(r, *values):
    """Plausible wrong numbers around the given ones."""
    out = []
    for v in values:
        out += [v + r.choice([1, 2, 3]), v - r.choice([1, 2, 3]), v + 10, v * 2, v + 5]
    r.shuffle(out)
    return out


def resistors(r):
    a, b, k = r.randint(2, 24), r.randint(2, 24), r.randint(1, 40)
    volts = math.lcm(a, b, a + b) * k
    if volts > 990 or a == b:
        return None
    q = (f"Two resistors of {a} ohms and {b} ohms are connected in parallel to a battery of {volts} volts. "
         "What is the total current in amperes?")
    def think(work, misled):
        head = [f"The resistors have {a} and {b} ohms and the battery {volts} volts."]
        if misled:
            total, t1 = work.calc(a, "+", b)
            value, t2 = work.calc(volts, "/", total)
            return head + [f"The current passes both of them, so the resistance is {t1}.", f"The current is {t2}."], value
        x, t1 = work.calc(volts, "/", a)
        y, t2 = work.calc(volts, "/", b)
        value, t3 = work.calc(x, "+", y)
        return head + [f"The currents are {t1} and {t2}.", f"The total current is {t3}."], value
    return assemble(r, "resistors", (a, b, volts), q, think, near(r, volts // a, volts // b), " A", mislead=0.60)


def half_life(r):
    n, h, end = r.randint(2, 4), r.randint(2, 30), r.randint(3, 60)
    start = end * 2 ** n
    if start % (2 * n):
        return None
    q = f"A sample of {start} grams decays with a half-life of {h} days. How much of it is left after {h * n} days?"
    def think(work, misled):
        times, t = work.calc(h * n, "/", h)
        out = [f"The number of half-lives is {t}."]
        if misled:
            by, t1 = work.calc(2, "*", times)
            value, t2 = work.calc(start, "/", by)
            return out + [f"Each one takes a half away, so all of them divide it by {t1}.", f"What is left is {t2}."], value
        value = start
        out.append("Each one leaves a half.")
        for _ in range(max(1, min(times, 5))):
            value, t1 = work.calc(value, "/", 2)
            out.append(f"{t1}.")
        return out, value
    return assemble(r, "half-life", (n, h, start), q, think, near(r, end, start // n), " g", mislead=0.58)


def kinetic(r):
    e, k, m = r.randint(4, 60), r.randint(2, 5), r.randint(2, 60)
    q = (f"A body of {m} kg has a kinetic energy of {e} J. Its speed becomes {k} times as large. "
         "What is its kinetic energy then?")
    def think(work, misled):
        out = [f"The energy is {e} J and the speed becomes {k} times as large."]
        if misled:
            value, t = work.calc(e, "*", k)
            return out + [f"The energy grows just as the speed does, {k} times.", f"So it is {t}."], value
        f, t1 = work.calc(k, "*", k)
        value, t2 = work.calc(e, "*", f)
        return out + [f"The energy grows with the square of the speed. {t1}.", f"So it is {t2}."], value
    return assemble(r, "kinetic", (e, k, m), q, think, near(r, e * k, e * k * k), " J", mislead=0.64, aware=0.12)


def area(r):
    a, k, c = r.randint(3, 60), r.randint(2, 6), r.randint(2, 9)
    q = (f"A square field has an area of {a} square meters. Its sides are made {k} times as long. "
         f"How many seeds does it need at {c} seeds per square meter?")
    def think(work, misled):
        out = [f"The field has {a} square meters and its sides become {k} times as long."]
        if misled:
            new, t = work.calc(a, "*", k)
            out.append(f"The area grows by {k} as well, so it becomes {t}.")
        else:
            f, t1 = work.calc(k, "*", k)
            new, t = work.calc(a, "*", f)
            out.append(f"The area grows by {t1}, so it becomes {t}.")
        value, t = work.calc(new, "*", c)
        return out + [f"The seeds are {t}."], value
    return assemble(r, "area", (a, k, c), q, think, near(r, a * k * c, a * k * k * c), " seeds", mislead=0.63, aware=0.12)


def decimals(r):
    lengths = [1, 2, 3, r.choice([2, 3])]
    texts = ["0." + str(r.randint(1, 9)) + "".join(str(r.randint(1, 9)) for _ in range(n - 1)) for n in lengths]
    if len({t[2] for t in texts}) < 4:
        return None
    # the misconception reads the digits as a whole number
    right, wrong = max(texts, key=float), max(texts, key=lambda t: int(t[2:]))
    if right == wrong:
        return None
    shown = texts[:]
    r.shuffle(shown)
    q = f"Four rods are {shown[0]} m, {shown[1]} m, {shown[2]} m and {shown[3]} m long. Which length is the largest?"
    def think(work, misled):
        if misled:
            read = ", ".join(t[2:] for t in shown[:3]) + f" and {shown[3][2:]}"
            best = work.slot(wrong, texts)
            return [f"Behind the point we read {read}.", f"The largest of these is {best[2:]}."], best
        read = ", ".join(t[2] for t in shown[:3]) + f" and {shown[3][2]}"
        best = work.slot(right, texts)
        return [f"The first digits behind the point are {read}.", f"The largest of these is {best[2]}."], best
    return assemble(r, "decimals", (*shown,), q, think, texts, " m", mislead=0.60)


def fractions(r):
    top = r.randint(1, 9)
    bottoms = r.sample(range(top + 2, 40), 4)
    small = r.random() < 0.5
    right = f"{top}/{max(bottoms) if small else min(bottoms)}"
    word, other = ("smallest", "largest") if small else ("largest", "smallest")
    texts = [f"{top}/{b}" for b in bottoms]
    q = f"Four cups are filled to {texts[0]}, {texts[1]}, {texts[2]} and {texts[3]}. Which part is the {word}?"
    wrong = f"{top}/{min(bottoms) if small else max(bottoms)}"
    def think(work, misled):
        out = [f"All four have {top} above the line.", f"Below are {', '.join(t.split('/')[1] for t in texts)}."]
        best = work.slot(wrong if misled else right, texts)
        rule = f"The {word} number below makes the {word} part" if misled else f"The {other} number below makes the {word} part"
        return out + [f"{rule}, and that is {best.split('/')[1]}."], best
    return assemble(r, "fractions", (top, tuple(bottoms), small), q, think, texts, mislead=0.57)


def gears(r):
    k, m, turns, d = r.randint(2, 6), r.randint(5, 20), r.randint(2, 15), r.randint(2, 9)
    big, rounds = k * m, turns * k
    q = (f"A gear with {m} teeth drives a gear with {big} teeth, which winds up {d} cm of rope per turn. "
         f"The first gear turns {rounds} times. How much rope is wound up?")
    def think(work, misled):
        out = [f"The gears have {m} and {big} teeth."]
        ratio, t = work.calc(big, "/", m)
        out.append(f"The ratio is {t}.")
        n, t = work.calc(rounds, "*" if misled else "/", ratio)
        out.append(f"The second gear turns {t} times.")
        value, t = work.calc(n, "*", d)
        return out + [f"The rope is {t}."], value
    return assemble(r, "gears", (m, big, rounds, d), q, think, near(r, turns * d, rounds * d), " cm", mislead=0.45)


def pages(r):
    a, n, p = r.randint(1, 12), r.randint(3, 15), r.randint(3, 30)
    b = a + n
    q = f"{r.choice(NAMES)} reads {p} pages on every day from May {a} to May {b}, both days included. How many pages is that?"
    def think(work, misled):
        days, t = work.calc(b, "-", a)
        out = [f"The days run from {a} to {b}.", f"{t}."]
        if not misled:
            days, t = work.calc(days, "+", 1)
            out.append(f"Both ends count, so it is {t} days.")
        else:
            out.append(f"That is the number, so it is {days} days.")
        value, t = work.calc(days, "*", p)
        return out + [f"The pages are {t}."], value
    return assemble(r, "pages", (a, b, p), q, think, near(r, n * p, (n + 1) * p), " pages", mislead=0.43)


def taps(r):
    a, b, n = r.randint(2, 60), r.randint(2, 60), r.randint(2, 25)
    if a == b or a * b % (a + b) or (a + b) % 2:
        return None
    q = f"One tap fills a tank in {a} minutes, another in {b} minutes. How long do both together need for {n} such tanks?"
    def think(work, misled):
        total, t = work.calc(a, "+", b)
        out = [f"The taps need {a} and {b} minutes.", f"The sum is {t}."]
        if misled:
            one, t1 = work.calc(total, "/", 2)
            out.append(f"Both do their part of the work, so together they need the mean of that, {t1}.")
        else:
            both, t1 = work.calc(a, "*", b)
            one, t2 = work.calc(both, "/", total)
            out += [f"The product is {t1}.", f"For one tank they need {t2}."]
        value, t = work.calc(one, "*", n)
        return out + [f"For all tanks it is {t}."], value
    return assemble(r, "taps", (a, b, n), q, think, near(r, a * n, b * n), " minutes", mislead=0.58)


def order(r):
    names = r.sample(NAMES, 4)
    rank = r.randrange(4)
    place = ["the tallest", "the second tallest", "the third tallest", "the shortest"][rank]
    facts = [(names[0], names[1]), (names[1], names[2]), (names[2], names[3])]
    turned = [r.random() < 0.5 for _ in facts]
    told = [f"{b} is shorter than {a}" if t else f"{a} is taller than {b}" for (a, b), t in zip(facts, turned)]
    shuffled = told[:]
    r.shuffle(shuffled)
    q = f"{shuffled[0]}, {shuffled[1]} and {shuffled[2]}. Who is {place}?"
    def think(work, misled):
        line = names[:]
        if work.slips():
            i = work.rng.randrange(3)
            line[i], line[i + 1] = line[i + 1], line[i]
        who = line[rank]
        out = [f"{told[0]}, {told[1]} and {told[2]}."]
        out.append(f"From tall to short this gives {line[0]}, {line[1]}, {line[2]}, {line[3]}.")
        return out + [f"So {place} is {who}."], who
    return assemble(r, "order", (tuple(names), rank, tuple(shuffled)), q, think, names, slip=0.45)


def weekday(r):
    d, n = r.randrange(7), r.randint(10, 200)
    q = f"Today is {DAYS[d]}. Which day of the week is it in {n} days?"
    def think(work, misled):
        weeks, rest = n // 7, n % 7
        if work.slips():
            rest = (rest + work.rng.choice([1, 6, 2])) % 7
        full, t = work.calc(weeks, "*", 7)
        out = [f"{weeks} full weeks make {t} days, which leaves {rest} days.", f"From {DAYS[d]} we go on {rest} days."]
        day = DAYS[(d + rest) % 7]
        if rest:
            out.append("We pass " + ", ".join(DAYS[(d + i + 1) % 7] for i in range(rest)) + ".")
        return out, day
    others = DAYS[:]
    r.shuffle(others)
    return assemble(r, "weekday", (d, n), q, think, others, slip=0.45)


def force(r):
    m, f, t, v = r.randint(2, 12), r.randint(2, 9), r.randint(2, 9), r.randint(0, 20)
    q = (f"A cart of {m} kg moves at {v} m/s. A force of {m * f} N pushes it for {t} seconds. "
         "What is its speed at the end?")
    def think(work, misled):
        a, t1 = work.calc(m * f, "/", m)
        gain, t2 = work.calc(a, "*", t)
        value, t3 = work.calc(v, "+", gain)
        return [f"The cart has {m} kg and the force is {m * f} N.", f"The acceleration is {t1}.",
                f"In {t} seconds the speed grows by {t2}.", f"At the end it is {t3}."], value
    return assemble(r, "force", (m, f, t, v), q, think, near(r, f * t, v + f * t), " m/s", slip=0.45)


KINDS = [resistors, half_life, kinetic, area, decimals, fractions, gears, pages, taps, order, weekday, force]
