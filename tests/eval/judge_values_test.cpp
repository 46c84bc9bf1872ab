// Values on their way between the test and the program: identity, iterators that are read on
// demand, and calls from several threads; and replies that break the format, none of which passes.
#include "eval/code_judge.h"
#include "eval/sandbox_programs.h"

namespace counterbeam {
namespace {

CodeVerdict judge_values(const std::string& program, const std::string& checks,
                         double seconds = 30) {
  SandboxLimits limits;
  limits.wall_seconds = seconds;
  limits.memory_bytes = 512 << 20;
  std::string body;
  std::istringstream lines(checks);
  for (std::string line; std::getline(lines, line);) body += "    " + line + "\n";
  return CodeJudge(limits).judge({"def solve(n):\n    \"\"\"\"\"\"\n",
                                  "def check(candidate):\n" + body + "    pass\n", "solve"},
                                 program);
}

void expect_pass(const std::string& program, const std::string& checks) {
  const CodeVerdict verdict = judge_values(program, checks);
  EXPECT_EQ(to_string(verdict.state), "pass") << verdict.detail << "\n" << program << checks;
}

TEST(CodeJudge, ThreadsOfTheTestMayCall) {
  CB_NEEDS_SANDBOX();
  const std::string program =
      "def solve(x):\n    if x < 0: raise ValueError('below')\n    return x + 1";
  expect_pass(program, R"(
import threading
out = {}
def work(i):
    for j in range(20): out[i, j] = candidate(i + j)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[one.start() for one in threads]
[one.join() for one in threads]
assert out == {(i, j): i + j + 1 for i in range(8) for j in range(20)}, out)");
  expect_pass(program, R"(
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(candidate, range(100))) == list(range(1, 101)))");
  // Exceptions on their way through one thread while another one calls.
  expect_pass(program, R"(
from concurrent.futures import ThreadPoolExecutor
def ask(x):
    try: return candidate(x)
    except ValueError: return None
with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(ask, [1, -1] * 200)) == [2, None] * 200
    kept = [pool.submit(candidate, -1) for _ in range(50)]
    for one in kept:
        try: one.result()
        except ValueError: continue
        assert False)");
}

TEST(CodeJudge, IteratorsAreReadOnDemand) {
  CB_NEEDS_SANDBOX();
  expect_pass(
      "def solve(x):\n    while True:\n        if all(x % d for d in range(2, x)): yield x\n"
      "        x += 1",
      "from itertools import islice\nassert list(islice(candidate(2), 3)) == [2, 3, 5]");
  expect_pass("def solve(x):\n    yield 1\n    yield 2\n    while True: pass",
              "one = candidate(0)\nassert next(one) == 1 and next(one) == 2");
  expect_pass("def solve(x): yield from range(x)",
              "assert sum(1 for _ in candidate(200000)) == 200000\n"
              "assert list(candidate(1000)) == list(range(1000)) and list(candidate(0)) == []\n"
              "a, b = candidate(50), candidate(50)\nassert list(zip(a, b))[49] == (49, 49)");
  // An exception comes after the items before it; the kind of the iterator is kept.
  expect_pass(
      "def solve(n):\n    yield from range(n)\n    raise KeyError('end')",
      "import inspect\nassert inspect.isgenerator(candidate(3))\nseen = []\ntry:\n"
      "    for one in candidate(100): seen.append(one)\nexcept KeyError: seen.append('end')\n"
      "assert seen == [*range(100), 'end']");
  expect_pass("def solve(n): return map(abs, range(n)), {'inner': (x for x in range(n))}, n",
              "import inspect\na, b, n = candidate(4)\nassert not inspect.isgenerator(a)\n"
              "assert iter(a) is a and [*a] == [*b['inner']] == [0, 1, 2, 3] and [*a] == []");
  // Iterators of iterators, and the same one twice.
  expect_pass("import itertools\ndef solve(s): return itertools.groupby(s)",
              "assert [(k, len(list(g))) for k, g in candidate('aabccc')] == "
              "[('a', 2), ('b', 1), ('c', 3)]");
  expect_pass("kept = iter(range(5))\ndef solve(n): return [kept, kept]",
              "a, b = candidate(0)\nassert a is b and next(a) == 0 and next(b) == 1\n"
              "assert next(candidate(0)[0]) == 2");
  // A generator that changes its arguments.
  expect_pass("def solve(l):\n    while l: yield l.pop()",
              "l = [1, 2, 3]\none = candidate(l)\nassert l == [1, 2, 3]\n"
              "assert next(one) == 3 and l == [1, 2] and list(one) == [2, 1] and l == []");
  expect_pass("def solve(l):\n    while l: yield l.pop()",
              "l = [*range(20000)]\nassert len(list(candidate(l))) == 20000 and l == []");
  // Replies that cannot be sent leave nothing behind; iterators go back to the program.
  expect_pass(
      "def solve(l):\n    if not l: return [iter([7]), 'x' * (33 << 20)]\n"
      "    return (l.pop() for _ in range(2))",
      "try: candidate([])\nexcept ValueError: pass\nelse: assert False\n"
      "l = [1, 2, 3]\none = candidate(l)\nassert list(one) == [3, 2] and l == [1]");
  expect_pass("def solve(x): return (2 * one for one in x)",
              "assert list(candidate(candidate(candidate(range(100))))) == [*range(0, 800, 8)]");
  expect_pass("def solve(n): return map(abs, range(n))",
              "from concurrent.futures import ThreadPoolExecutor\none = candidate(500)\n"
              "with ThreadPoolExecutor(4) as pool:\n"
              "    parts = list(pool.map(lambda _: list(one), range(4)))\n"
              "assert sorted(x for part in parts for x in part) == list(range(500))");
  // The test goes on with what it holds.
  expect_pass("def solve(l):\n    l.sort()\n    yield 1\n    yield 2",
              "l = [2, 1]\none = candidate(l)\nassert next(one) == 1 and l == [1, 2]\n"
              "l.append(0)\nassert next(one) == 2 and l == [1, 2, 0]");
}

TEST(CodeJudge, LongIteratorsOfTheTestEndInAnError) {
  CB_NEEDS_SANDBOX();
  const std::string checks = "import itertools\nassert candidate(itertools.count()) != 3";
  const CodeVerdict verdict = judge_values("def solve(x): return sum(x)", checks);
  EXPECT_EQ(to_string(verdict.state), "error");
  EXPECT_NE(verdict.detail.find("more than 100000 items cannot be sent"), std::string::npos)
      << verdict.detail;
  expect_pass("def solve(x): return next(x)", checks);
  expect_pass("def solve(x): return sum(x)", "assert candidate(iter([1] * 100000)) == 100000");
}

TEST(CodeJudge, ObjectsKeepTheirIdentity) {
  CB_NEEDS_SANDBOX();
  expect_pass("def solve(x, y):\n    x.append(1)\n    return x is y",
              "l = []\nassert candidate(l, l) and l == [1]\nassert not candidate([], [])");
  expect_pass("def solve(x): x[0][0] = 1",
              "g = [[0] * 2] * 2\ncandidate(g)\nassert g == [[1, 0], [1, 0]] and g[0] is g[1]");
  expect_pass("def solve(x):\n    x.reverse()\n    return x",
              "a, b = [1], [2]\nl = [a, b]\nassert candidate(l) is l and l[0] is b and l[1] is a\n"
              "assert a == [1] and b == [2]");
  expect_pass(
      "def solve(x):\n    x[0] = sorted(x[0])\n    x.append(x[0])\n    return [x[0], x[1]]",
      "a, b = [2, 1], {3: 4}\nl = [a, b]\nr = candidate(l)\nassert a == [2, 1]\n"
      "assert l == [[1, 2], {3: 4}, [1, 2]] and l[0] is l[2] is r[0] and r[1] is b is l[1]");
  expect_pass("def solve(n):\n    row = [0] * n\n    return [row] * n",
              "r = candidate(3)\nr[0][0] = 1\nassert r == [[1, 0, 0]] * 3");
  expect_pass("def solve(n):\n    one = object()\n    return one, one",
              "r = candidate(3)\nassert r[0] is r[1] and r != candidate(3)");
  expect_pass(
      "def solve(d, *, q, b, s):\n    d['x'] = d.pop('a')\n    q.popleft()\n    b += b'x'\n"
      "    s |= {3}",
      "import collections\nd = collections.Counter(a=2)\nq = collections.deque([1, 2])\n"
      "b, s = bytearray(b'a'), {1}\n"
      "candidate(d, q=q, b=b, s=s)\nassert type(d) is collections.Counter and d == {'x': 2}\n"
      "assert list(q) == [2] and b == b'ax' and s == {1, 3}");
  expect_pass("def solve(s): return len(s)",
              "s = {8, 0, 16, 24}\nassert [candidate(s) for _ in s] == [4] * 4");
  // Changes before an exception are seen as well.
  expect_pass("def solve(l):\n    l.append(1)\n    raise ValueError",
              "l = []\ntry: candidate(l)\nexcept ValueError: pass\nassert l == [1]");
}

TEST(CodeJudge, DeepAndCyclicValuesAreErrors) {
  CB_NEEDS_SANDBOX();
  for (const char* program :
       {"def solve(x):\n    x.append(x)", "def solve(x):\n    x.append([x])\n    return x",
        "def solve(x):\n    y = [x]\n    x.append(y)\n    return y",
        "def solve(x):\n    y = []\n    y.append(y)\n    return y",
        "def solve(x):\n    y = {}\n    y[0] = (y, )\n    return y",
        "def solve(x):\n    for _ in range(300): x = [x]\n    return x",
        "def solve(x):\n    for _ in range(300): x.append([*x])",
        "def solve(x):\n    for _ in range(300): x = (x, )\n    yield x"}) {
    const CodeVerdict verdict =
        judge_values(program, "r = candidate([])\nif hasattr(r, '__next__'): next(r)");
    EXPECT_EQ(to_string(verdict.state), "error") << verdict.detail << "\n" << program;
  }
  expect_pass("def solve(x):\n    for _ in range(190): x = [x]\n    return x",
              "r = candidate(5)\nfor _ in range(190): r, = r\nassert r == 5");
}

// The program writes its own replies, which never count as answers of any kind.
TEST(CodeJudge, RepliesThatBreakTheFormatPassNoTest) {
  CB_NEEDS_SANDBOX();
  // Objects, changes and root of a reply; none, none and 1 would be b'i' + 1 + b'\1'.
  const std::vector<std::string> bodies = {
      "n(0) + n(0) + b'@' + n(3)",                              // no such object
      "n(0) + n(0) + b'@' + n(2**32 - 1)",                      //
      "n(1) + b'l' + n(1) + b'@' + n(2) + n(0) + b'@' + n(2)",  // it contains itself
      "n(1) + b'l' + n(1) + b'@' + n(3) + n(0) + b'N'",         // one that comes later
      "n(2**32 - 1) + n(0) + b'N'",                             // more than there are
      "n(0) + n(2**32 - 1) + b'N'",                             //
      "n(0) + n(1) + n(9) + b'l' + n(0) + b'N'",                // a change of nothing
      "n(0) + n(1) + n(0) + b'S' + n(0) + b'N'",                // a change of the kind
      "n(0) + n(1) + n(0) + b't' + n(0) + b'N'",                //
      "n(0) + n(1) + n(0) + b'N' + b'N'",                       //
      "n(0) + n(1) + n(0) + b'@' + n(1) + b'N'",                //
      "n(0) + n(1) + n(0) + b'l' + n(1) + b'@' + n(0) + b'N'",  // a cycle by a change
      "n(1) + b'l' + n(1) + b'@' + n(0) + n(1) + n(0) + b'l' + n(1) + b'@' + n(2) + b'N'",
      "n(400) + b''.join(b'l' + n(1) + b'@' + n(i + 1) for i in range(400)) + n(0) + b'N'",  // deep
      "n(0) + n(0) + b't' + n(1) + b'l' + n(2**31)",  // a list cut short
      "n(1) + b't' + n(0) + n(0) + b'N'",             // an object without identity
      "n(1) + b'i' + n(0) + n(0) + b'N'",
      "n(0) + n(1) + n(1) + b'?' + n(0) + b'N'",
      "n(0) + n(0) + b'NN'",        // too long
      "n(0) + n(0) + b'X' + n(0)",  // no such kind
      "n(0) + n(0)",
      "b''",
  };
  for (const std::string& body : bodies) {
    const std::string program =
        "import os\ndef n(x): return x.to_bytes(4, 'little')\n"
        "def solve(x):\n    body = b'V' + " +
        body + "\n    os.write(4, n(len(body)) + body)\n    while True: os.read(3, 1 << 16)\n";
    const CodeVerdict verdict = judge_values(program, "candidate([])", 5);
    EXPECT_EQ(to_string(verdict.state), "error") << body << "\n" << verdict.detail;
    EXPECT_TRUE(verdict.detail.starts_with("the answer cannot be read")) << verdict.detail;
  }
}

// Replies to the test's request for more items.
TEST(CodeJudge, HostileIteratorsPassNoTest) {
  CB_NEEDS_SANDBOX();
  for (const char* body : {"b'N'", "b't' + n(0)", "b't' + n(1) + b'N'",  // no answer
                           "b't' + n(1) + b'F'",    // neither an item nor the end
                           "b't' + n(3) + b'FNN'",  // more than was asked for
                           "b'l' + n(2) + b'FN'",   // a list
                           "b'm' + n(2**31)", "b'm' + n(2) + b'ab'"}) {
    const std::string program =
        "import os\ndef n(x): return x.to_bytes(4, 'little')\n"
        "def say(b): os.write(4, n(len(b)) + b)\n"
        "def solve(x):\n    say(b'V' + n(0) + n(0) + b'm' + n(7))\n"
        "    os.read(3, 1 << 16)\n    say(b'V' + n(0) + n(0) + " +
        std::string(body) + ")\n    while True: os.read(3, 1 << 16)\n";
    const CodeVerdict verdict =
        judge_values(program, "for one in candidate(0): break\nelse: pass", 5);
    EXPECT_EQ(to_string(verdict.state), "error") << body << "\n" << verdict.detail;
    EXPECT_TRUE(verdict.detail.starts_with("the answer cannot be read")) << verdict.detail;
  }
}

}  // namespace
}  // namespace counterbeam
