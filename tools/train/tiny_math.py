"""tiny-math: arithmetic and word problems of two to seven steps.

Each kind returns a Problem, or None if the drawn numbers do not give integers or the misconception would not matter.
"""
from problem import Problem

NAMES = ["Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo", "Ida", "Jonas", "Lena", "Max", "Nora", "Oscar"]
ITEMS = ["pens", "apples", "books", "cards", "coins", "eggs", "shells", "stamps", "tiles", "toys"]
GOODS = ["coat", "lamp", "chair", "bike", "phone", "table", "radio", "watch"]


def boxed(work, thoughts, value):
    thoughts = [work.word("Let us see.", "We think step by step.")] + thoughts
    return f"<think> {' '.join(thoughts)} </think> <answer> \\boxed{{{value}}} </answer>"


def make(kind, key, text, solver, answer, **how):
    return Problem("math", kind, key, {"problem": text, "answer": str(answer)}, solver, **how)


def settled(kind, key, text, solver, **how):
    """A problem whose answer is the sound solver's; dropped if the misconception gives the same answer."""
    from problem import Work
    value = lambda misled: solver(Work(None), misled).split("\\boxed{")[1].split("}")[0]
    answer = value(False)
    if how.get("mislead") and value(True) == answer:
        return None
    if len(answer) > 5:
        return None
    return make(kind, key, text, solver, answer, **how)


def show(e):
    return " ".join(str(t) for t in e).replace("( ", "(").replace(" )", ")").replace(" ^ ", "^")


def reduce_flat(work, e, thoughts, left_first):
    """Evaluates a + - * expression without brackets step by step, products first unless left_first."""
    e = list(e)
    while len(e) > 1:
        k = 1 if left_first or "*" not in e else e.index("*")
        value, text = work.calc(e[k - 1], e[k], e[k + 1])
        e[k - 1:k + 2] = [value]
        thoughts.append(f"{text}." if len(e) == 1 else f"{text}, which leaves {show(e)}.")
    return e[0]


def precedence(r):
    n = r.randint(3, 5)
    e = [r.randint(2, 30)]
    for _ in range(n - 1):
        e += [r.choice("+-"), r.randint(2, 30)]
    k = r.randrange(3, len(e), 2)
    e[k], e[k - 1], e[k + 1] = "*", r.randint(2, 12), r.randint(2, 9)
    def solver(work, misled):
        thoughts = [f"We work out {show(e)}.",
                    "We go from left to right." if misled else "The product comes first."]
        return boxed(work, thoughts, reduce_flat(work, e, thoughts, misled))
    return settled("precedence", (*e,), f"Compute {show(e)}.", solver, mislead=0.60)


def brackets(r):
    a, b, c, d = r.randint(20, 90), r.randint(10, 40), r.randint(2, 9), r.randint(2, 30)
    s, t = r.choice("+-"), r.choice("+-")
    e = [a, "-", "(", b, s, c, ")", t, d]
    def solver(work, misled):
        thoughts = [f"We work out {show(e)}."]
        if misled:
            flat = [a, "-", b, s, c, t, d]
            thoughts.append(f"Without the brackets this is {show(flat)}.")
        else:
            inner, text = work.calc(b, s, c)
            flat = [a, "-", inner, t, d]
            thoughts.append(f"The bracket comes first. {text}, which leaves {show(flat)}.")
        return boxed(work, thoughts, reduce_flat(work, flat, thoughts, True))
    return settled("brackets", (a, s, b, t, c, d), f"Compute {show(e)}.", solver, mislead=0.42)


def power(r):
    a, b, c, s = r.randint(2, 9), r.randint(2, 12), r.randint(2, 60), r.choice("+-")
    if a * b > 36:
        return None
    e = [a, "*", b, "^", 2, s, c]
    def solver(work, misled):
        thoughts = [f"We work out {show(e)}."]
        if misled:
            p, text = work.calc(a, "*", b)
            q, text2 = work.calc(p, "*", p)
            thoughts += [f"The product comes first. {text}.", f"Its square is {text2}."]
        else:
            p, text = work.calc(b, "*", b)
            q, text2 = work.calc(a, "*", p)
            thoughts += [f"The power comes first. {text}.", f"The product is {text2}."]
        value, text = work.calc(q, s, c)
        thoughts.append(f"Then {text}.")
        return boxed(work, thoughts, value)
    return settled("power", (a, b, s, c), f"Compute {show(e)}.", solver, mislead=0.63)


def fence(r):
    gap, n, cost = r.randint(2, 9), r.randint(4, 25), r.randint(2, 12)
    length = gap * n
    what = r.choice(["fence", "road", "path", "wall"]), r.choice(["post", "lamp", "tree"])
    text = (f"A {what[0]} is {length} meters long. There is a {what[1]} every {gap} meters, at both ends too. "
            f"Each {what[1]} costs {cost} dollars. What do they cost together?")
    def solver(work, misled):
        gaps, t1 = work.calc(length, "/", gap)
        thoughts = [f"The {what[0]} has {length} meters in gaps of {gap} meters.", f"There are {t1} gaps."]
        if misled:
            count = gaps
            thoughts.append(f"One belongs to each gap, so there are {count} of the {what[1]}s.")
        else:
            count, t2 = work.calc(gaps, "+", 1)
            thoughts.append(f"Both ends count, so there are {t2} of the {what[1]}s.")
        value, t3 = work.calc(count, "*", cost)
        thoughts.append(f"The cost is {t3} dollars.")
        return boxed(work, thoughts, value)
    return settled("fence", (gap, n, cost), text, solver, mislead=0.45)


def new_mean(r):
    n, mean, late = r.randint(3, 7), r.randint(5, 40), r.randint(2, 90)
    if (n * mean + late) % (n + 1) or (mean + late) % 2:
        return None
    text = f"The mean of {n} numbers is {mean}. The number {late} is added to them. What is the mean now?"
    def solver(work, misled):
        thoughts = [f"The old mean is {mean} and the new number is {late}."]
        if misled:
            total, t1 = work.calc(mean, "+", late)
            value, t2 = work.calc(total, "/", 2)
            thoughts += [f"Together they make {t1}.", "A mean lies in the middle of the old one and the new one.",
                         f"The middle of the two is {t2}."]
        else:
            old, t1 = work.calc(n, "*", mean)
            total, t2 = work.calc(old, "+", late)
            value, t3 = work.calc(total, "/", n + 1)
            thoughts += [f"The old sum is {t1}.", f"The new sum is {t2}.", f"There are {n + 1} numbers, so the mean is {t3}."]
        return boxed(work, thoughts, value)
    return settled("new mean", (n, mean, late), text, solver, mislead=0.60, aware=0.9)


def percent_of(work, percent, price):
    """One step of working out a percentage of a price in hundreds or tens."""
    part = price * percent // 100
    if work.slips():
        part += work.rng.choice([-10, 10, -1, 1, 5])
    return part, f"{percent}% of {price} is {part}"


def discount(r):
    price, x, y, fee = 50 * r.randint(2, 18), 10 * r.randint(1, 5), 10 * r.randint(1, 4), r.randint(2, 30)
    if price * x % 100 or (price - price * x // 100) * y % 100 or price * (x + y) % 100:
        return None
    thing = r.choice(GOODS)
    text = (f"A {thing} costs {price} dollars. Its price falls by {x}% and then by {y}% again. "
            f"Sending it costs {fee} dollars. What is paid in all?")
    def solver(work, misled):
        thoughts = [f"The {thing} costs {price} dollars at first."]
        if misled:
            total, t1 = work.calc(x, "+", y)
            part, t2 = percent_of(work, total, price)
            now, t3 = work.calc(price, "-", part)
            thoughts += [f"Both falls together are {t1}% as one large fall.", f"{t2}, so it costs {t3}."]
        else:
            part, t1 = percent_of(work, x, price)
            then, t2 = work.calc(price, "-", part)
            part, t3 = percent_of(work, y, then)
            now, t4 = work.calc(then, "-", part)
            thoughts += [f"{t1}, so it costs {t2}.", f"{t3}, so it costs {t4}."]
        value, t5 = work.calc(now, "+", fee)
        thoughts.append(f"With sending it is {t5}.")
        return boxed(work, thoughts, value)
    return settled("discount", (price, x, y, fee), text, solver, mislead=0.58)


def up_and_down(r):
    price, x, fee = 100 * r.randint(1, 9), 10 * r.randint(1, 5), r.randint(2, 50)
    if price * x % 100 or (price + price * x // 100) * x % 100:
        return None
    thing = r.choice(GOODS)
    text = (f"A {thing} costs {price} dollars. Its price rises by {x}% and then falls by {x}%. "
            f"Sending it costs {fee} dollars. What is paid in all?")
    def solver(work, misled):
        thoughts = [f"The {thing} costs {price} dollars at first."]
        if misled:
            now = price
            thoughts.append(f"It rises by {x}% and falls by {x}%, so the two cancel. "
                            f"The {thing} is back where it was and costs {price} dollars.")
        else:
            part, t1 = percent_of(work, x, price)
            then, t2 = work.calc(price, "+", part)
            part, t3 = percent_of(work, x, then)
            now, t4 = work.calc(then, "-", part)
            thoughts += [f"{t1}, so it costs {t2}.", f"{t3}, so it costs {t4}."]
        value, t5 = work.calc(now, "+", fee)
        thoughts.append(f"With sending it is {t5}.")
        return boxed(work, thoughts, value)
    return settled("up and down", (price, x, fee), text, solver, mislead=0.64, aware=0.12)


def mean_speed(r):
    v, w, t, hours = r.randint(2, 40), r.randint(2, 40), r.randint(1, 6), r.randint(2, 12)
    way = v * t
    if v == w or way % w or 2 * way % (t + way // w) or (v + w) % 2:
        return None
    back = way // w
    who = r.choice(NAMES)
    text = (f"{who} goes {way} km at {v} km per hour and comes back the same way at {w} km per hour. "
            f"How far would a ride of {hours} hours at the mean speed of the whole trip be?")
    def solver(work, misled):
        thoughts = [f"The way is {way} km long, out at {v} and back at {w}."]
        if misled:
            total, t1 = work.calc(v, "+", w)
            value, t2 = work.calc(total, "/", 2)
            thoughts += [f"Both ways are equally long, so both speeds count alike.", f"The sum of the speeds is {t1}.",
                         f"The mean is {t2}."]
        else:
            a, t1 = work.calc(way, "/", v)
            b, t2 = work.calc(way, "/", w)
            both, t3 = work.calc(a, "+", b)
            whole, t4 = work.calc(2, "*", way)
            value, t5 = work.calc(whole, "/", both)
            thoughts += [f"The hours are {t1} and {t2}, in all {t3}.", f"The whole way is {t4}.", f"The mean is {t5}."]
        value, t6 = work.calc(value, "*", hours)
        thoughts.append(f"In {hours} hours this makes {t6}.")
        return boxed(work, thoughts, value)
    return settled("mean speed", (v, w, t, hours), text, solver, mislead=0.63, aware=0.12)


def clock(r):
    h, m, g, n = r.randint(1, 8), r.randint(31, 58), r.randint(1, 4), r.randint(1, 29)
    k = h + g
    text = f"A film starts at {h}:{m:02d} and ends at {k}:{n:02d}. How many minutes does it last?"
    def solver(work, misled):
        thoughts = [f"The film runs from {h}:{m:02d} to {k}:{n:02d}."]
        unit = 100 if misled else 60
        a, t1 = work.calc(k, "*", unit)
        a2, t2 = work.calc(a, "+", n)
        b, t3 = work.calc(h, "*", unit)
        b2, t4 = work.calc(b, "+", m)
        value, t5 = work.calc(a2, "-", b2)
        thoughts += [f"The end is {t1} and {t2}.", f"The start is {t3} and {t4}.", f"It lasts {t5} minutes."]
        return boxed(work, thoughts, value)
    return settled("clock", (h, m, k, n), text, solver, mislead=0.44)


def shop(r):
    n, k, extra, gone, price = r.randint(3, 15), r.randint(3, 9), r.randint(5, 40), r.randint(2, 20), r.randint(2, 9)
    who, what = r.choice(NAMES), r.choice(ITEMS)
    text = (f"{who} has {n} boxes with {k} {what} each and finds {extra} more. {gone} of the {what} break. "
            f"{who} sells the rest for {price} dollars each. How many dollars is that?")
    def solver(work, misled):
        a, t1 = work.calc(n, "*", k)
        b, t2 = work.calc(a, "+", extra)
        c, t3 = work.calc(b, "-", gone)
        value, t4 = work.calc(c, "*", price)
        return boxed(work, [f"The boxes hold {t1} {what}.", f"With the {extra} more there are {t2}.",
                      f"After {gone} break there are {t3}.", f"At {price} dollars each this makes {t4} dollars."], value)
    return settled("shop", (n, k, extra, gone, price), text, solver, slip=0.45)


VERBS = {"+": "add {}", "-": "take away {}", "*": "multiply by {}"}


def chain(r):
    n = r.randint(4, 6)
    start, steps = r.randint(2, 30), []
    while len(steps) < n:
        op = r.choice("++--*")
        steps.append((op, r.randint(2, 4) if op == "*" else r.randint(2, 50)))
    if sum(op == "*" for op, _ in steps) > 3:
        return None
    words = [VERBS[op].format(b) for op, b in steps]
    text = f"Start with {start}, {', '.join(words[:-1])} and {words[-1]}. What number comes out?"
    def solver(work, misled):
        value, thoughts = start, [f"We start with {start}."]
        for word, (op, b) in zip(words, steps):
            value, t = work.calc(value, op, b)
            thoughts.append(f"We {word}: {t}.")
        return boxed(work, thoughts, value)
    return settled("chain", (start, tuple(steps)), text, solver, slip=0.45)


def machines(r):
    rate, count, hours, bad, box = r.randint(3, 15), r.randint(2, 6), r.randint(2, 8), r.randint(2, 20), r.randint(3, 9)
    good = rate * count * hours - bad
    if good <= 0 or good % box:
        return None
    text = (f"{count} machines each make {rate} parts per hour and run for {hours} hours. {bad} of the parts are bad. "
            f"The good ones are packed {box} to a box. How many boxes are filled?")
    def solver(work, misled):
        a, t1 = work.calc(count, "*", rate)
        b, t2 = work.calc(a, "*", hours)
        c, t3 = work.calc(b, "-", bad)
        value, t4 = work.calc(c, "/", box)
        return boxed(work, [f"Per hour the machines make {t1} parts.", f"In {hours} hours they make {t2}.",
                      f"Without the bad ones there are {t3}.", f"That fills {t4} boxes."], value)
    return settled("machines", (rate, count, hours, bad, box), text, solver, slip=0.45)


KINDS = [precedence, brackets, power, fence, new_mean, discount, up_and_down, mean_speed, clock, shop, chain, machines]
