// Exceptions of the program inside a test: those that the test handles are its business, all others
// are errors, also where Python's C code would drop them.
#include "eval/code_judge.h"
#include "eval/sandbox_programs.h"

namespace counterbeam {
namespace {

CodeVerdict judge(const std::string& program, const std::string& checks) {
  SandboxLimits limits;
  limits.wall_seconds = 30;
  limits.memory_bytes = 512 << 20;
  const std::string prompt = "def solve(n):\n    \"\"\"\"\"\"\n";
  return CodeJudge(limits).judge({prompt, "def check(candidate):\n" + checks, "solve"}, program);
}

TEST(CodeJudge, ExceptionsReachTheTest) {
  CB_NEEDS_SANDBOX();
  const std::string checks = R"(
    for kind in (ValueError, KeyError, LookupError):
        try:
            candidate(kind.__name__)
        except kind as error:
            assert 'told' in str(error)
        else:
            assert False
)";
  const std::string program =
      "class Own(LookupError): pass\n"
      "def solve(name):\n"
      "    raise {'ValueError': ValueError, 'KeyError': KeyError, 'LookupError': "
      "Own}[name]('told')";
  const CodeVerdict verdict = judge(program, checks);
  EXPECT_EQ(verdict.state, CodeState::Pass) << verdict.detail;
  // The test cannot catch an early exit of the program.
  EXPECT_EQ(judge("def solve(n): raise SystemExit",
                  "    try: candidate(1)\n    except BaseException: pass\n")
                .state,
            CodeState::Error);
}

// As much of an exception as can be sent: its message however long, its arguments, its name.
TEST(CodeJudge, ExceptionsKeepTheirArguments) {
  CB_NEEDS_SANDBOX();
  const std::string checks = R"py(
    import errno
    def raised(which):
        try: candidate(which)
        except Exception as error: return error
    one = raised('key')
    assert type(one) is KeyError and one.args == ('k',) and str(one) == "'k'"
    one = raised('pair')
    assert type(one) is ValueError and one.args == ('a', [3, (4,)]) and str(one) == "('a', [3, (4,)])"
    one = raised('none')
    assert type(one) is ValueError and one.args == () and str(one) == ''
    one = raised('file')
    assert type(one) is FileNotFoundError and one.errno == errno.ENOENT
    assert type(raised('decode')) is UnicodeDecodeError and raised('decode').start == 1
    assert type(raised('encode')) is UnicodeEncodeError
    one = raised('own')
    assert isinstance(one, LookupError) and type(one).__name__ == 'Own' and str(one) == 'own 5'
    one = raised('own key')
    assert isinstance(one, KeyError) and str(one) == 'plain'
    assert str(raised('long')) == 'x' * 50000
    assert raised('object').args[0] != 3 and isinstance(raised('cycle'), ValueError)
    assert isinstance(raised('group'), Exception) and isinstance(raised('name'), ValueError)
)py";
  const std::string program = R"(
class Own(LookupError):
    def __init__(self, number, other): self.number = number
    def __str__(self): return 'own %d' % self.number
class OwnKey(KeyError):
    def __str__(self): return 'plain'
def solve(which):
    if which == 'key': {}['k']
    if which == 'pair': raise ValueError('a', [3, (4,)])
    if which == 'none': raise ValueError
    if which == 'file': open('/nothing')
    if which == 'decode': b'a\xff'.decode()
    if which == 'encode': '\u20ac'.encode('ascii')
    if which == 'own': raise Own(5, 6)
    if which == 'own key': raise OwnKey(5)
    if which == 'long': raise ValueError('x' * 50000)
    if which == 'object': raise ValueError(object())
    ring = []
    ring.append(ring)
    if which == 'cycle': raise ValueError(ring)
    if which == 'group': raise ExceptionGroup('g', [ValueError()])
    raise type('a\ud800', (ValueError,), {})('x')
)";
  const CodeVerdict verdict = judge(program, checks);
  EXPECT_EQ(verdict.state, CodeState::Pass) << verdict.detail;
  // What the program says of an exception is no more than its name and text.
  for (const char* lie :
       {"class E(Exception):\n    args = property(lambda self: 1 / 0)",
        "class E(Exception):\n    args = 5", "class E(Exception):\n    def __str__(self): return 7",
        "class E(Exception):\n    def __str__(self): raise SystemExit",
        "class E(Exception): pass\nE.__name__ = 'x' * 100000",
        "class T(str): pass\nclass E(Exception):\n    def __str__(self): return T('x')"})
    EXPECT_EQ(judge(std::string(lie) + "\ndef solve(n): raise E(n)",
                    "    try: candidate(1)\n    except Exception: pass\n    else: assert False\n")
                  .state,
              CodeState::Pass)
        << lie;
}

// map() and for take it for the end of their input.
TEST(CodeJudge, StopIterationPassesNoTest) {
  CB_NEEDS_SANDBOX();
  for (const char* program :
       {"def solve(n): raise StopIteration",
        "class Own(StopIteration): pass\ndef solve(n): raise Own(n)",
        "def solve(n): return next(iter(()))", "def solve(n): raise StopAsyncIteration"})
    for (const char* checks : {"    assert all(map(candidate, range(5)))\n",
                               "    for x in map(candidate, range(5)): assert x\n",
                               "    assert list(filter(candidate, range(5))) == []\n",
                               "    assert sum(candidate(x) for x in range(5)) >= 0\n",
                               "    for x in iter(candidate.__call__, 3): pass\n",
                               "    class S:\n        def __aiter__(self): return self\n"
                               "        async def __anext__(self): return candidate(1)\n"
                               "    async def all():\n        async for x in S(): pass\n"
                               "    import asyncio\n    asyncio.run(all())\n"})
      EXPECT_EQ(judge(program, checks).state, CodeState::Error) << program << "\n" << checks;
}

// So do sequences without __iter__, getattr() with a default, hasattr() and others in C.
TEST(CodeJudge, ExceptionsThatNobodyHandlesPassNoTest) {
  CB_NEEDS_SANDBOX();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"IndexError",
       "    class S:\n        def __getitem__(self, i): return candidate(i)\n"
       "    assert list(S()) == []\n"},
      {"IndexError",
       "    class S:\n        def __getitem__(self, i): return candidate(i)\n"
       "    assert 3 not in S()\n    try: candidate(1)\n    except IndexError: pass\n"},
      {"IndexError",
       "    class T:\n        __getitem__ = staticmethod(candidate)\n"
       "    assert all(x for x in T())\n"},
      {"AttributeError",
       "    class S:\n        @property\n        def value(self): return candidate(1)\n"
       "    assert getattr(S(), 'value', 2) == 2\n"},
      {"AttributeError",
       "    assert not hasattr(type('S', (), {'v': property(lambda self: candidate(1))})(), "
       "'v')\n"},
      {"TypeError",
       "    class S:\n        def __iter__(self): return iter([])\n"
       "        def __length_hint__(self): return candidate(1)\n"
       "    assert list(S()) == []\n"},
  };
  for (const auto& [kind, checks] : cases) {
    const CodeVerdict verdict = judge("def solve(n): raise " + kind + "('x')", checks);
    EXPECT_EQ(verdict.state, CodeState::Error) << checks;
    EXPECT_EQ(verdict.detail, kind + ": x") << checks;
  }
}

// Nor do some classes of the standard library that are written in Python, or threads.
TEST(CodeJudge, ExceptionsThatTheLibraryDropsPassNoTest) {
  CB_NEEDS_SANDBOX();
  const std::string sequence =
      "    from collections.abc import Sequence\n    class S(Sequence):\n"
      "        def __len__(self): return 3\n"
      "        def __getitem__(self, i): return candidate(i)\n";
  const std::string mapping =
      "    from collections.abc import Mapping\n    class S(Mapping):\n"
      "        def __getitem__(self, k): return candidate(k)\n"
      "        def __iter__(self): return iter([])\n        def __len__(self): return 0\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"IndexError", sequence + "    assert all(x == 1 for x in S())\n"},
      {"IndexError", sequence + "    assert 5 not in S()\n"},
      {"IndexError", sequence + "    assert 5 not in S()\n    try: candidate(1)\n"
                                "    except IndexError: pass\n"},
      {"IndexError",
       "    from collections import UserList\n    class S(UserList):\n"
       "        def __getitem__(self, i): return candidate(i)\n"
       "    assert all(x == 1 for x in S([1, 2]))\n"},
      {"KeyError",
       "    from collections import ChainMap\n    class D(dict):\n"
       "        def __getitem__(self, k): return candidate(k)\n"
       "    assert ChainMap(D(a=1), {'a': 3})['a'] == 3\n"},
      {"KeyError", mapping + "    assert S().get(1, 3) == 3\n"},
      {"KeyError", mapping + "    assert 1 not in S()\n"},
      {"ValueError",
       "    import threading\n    seen = []\n"
       "    one = threading.Thread(target=lambda: seen.append(candidate(1)))\n"
       "    one.start()\n    one.join()\n    assert all(x == 2 for x in seen)\n"},
      {"ValueError",
       "    import threading\n    seen = []\n"
       "    class Own(threading.Thread):\n        def run(self): seen.append(candidate(1))\n"
       "    one = Own()\n    one.start()\n    one.join()\n    assert not seen\n"},
      {"IndexError",
       "    import threading\n    class S:\n"
       "        def __getitem__(self, i): return candidate(i)\n"
       "    one = threading.Thread(target=lambda: list(S()))\n    one.start()\n    one.join()\n"},
  };
  for (const auto& [kind, checks] : cases) {
    const std::string detail = kind == "KeyError" ? "KeyError: 'x'" : kind + ": x";
    const CodeVerdict verdict = judge("def solve(n): raise " + kind + "('x')", checks);
    EXPECT_EQ(verdict.state, CodeState::Error) << checks;
    EXPECT_EQ(verdict.detail, detail) << checks;
    // Also where the exception comes from an iterator of the program.
    const CodeVerdict late = judge(
        "def later():\n    raise " + kind + "('x')\n    yield\ndef solve(n): return later()",
        "    given = candidate\n    def candidate(*any): return next(given(*any))\n" + checks);
    EXPECT_EQ(late.state, CodeState::Error) << checks;
    EXPECT_EQ(late.detail, detail) << checks;
  }
}

TEST(CodeJudge, ExceptionsThatTheTestHandlesAreAllowed) {
  CB_NEEDS_SANDBOX();
  const std::string checks = R"(
    import asyncio, contextlib, threading, unittest
    class Sequence:
        def __getitem__(self, i):
            try: return candidate(i)
            except IndexError: raise IndexError
    assert list(Sequence()) == []
    def raises(kind, *arguments):
        try:
            return not candidate(*arguments)
        except kind: return True
    assert raises(IndexError, 1) and raises(LookupError, 2)
    with contextlib.suppress(IndexError):
        [candidate(i) for i in range(3)]
    case = unittest.TestCase()
    case.assertRaises(IndexError, candidate, 1)
    with case.assertRaises(IndexError): candidate(1)
    try:
        try: candidate(1)
        finally: kept = list(map(str, [1]))
    except IndexError: pass
    async def ask(): return candidate(1)
    async def both(): return await asyncio.gather(ask(), ask(), return_exceptions=True)
    assert [type(one) for one in asyncio.run(both())] == [IndexError] * 2
    try: asyncio.run(ask())
    except IndexError: pass
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool:
        assert isinstance(pool.submit(candidate, 1).exception(), IndexError)
    def generate():
        for i in range(3): yield candidate(i)
    try: list(generate())
    except IndexError: pass
    seen = []
    def work():
        try: seen.append(candidate(1))
        except IndexError: seen.append(5)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [5]
    kept = threading.excepthook
    threading.excepthook = lambda ended: seen.append(ended.exc_type)
    thread = threading.Thread(target=candidate, args=(1,))
    thread.start()
    thread.join()
    threading.excepthook = kept
    assert seen == [5, IndexError]
    from collections.abc import Sequence as Abstract
    class Short(Abstract):
        def __len__(self): return 3
        def __getitem__(self, i): return [candidate(None)][i]
    assert list(Short()) == [4] and 5 not in Short()
    class Kept(Abstract):
        def __len__(self): return 3
        def __getitem__(self, i):
            try: return candidate(i)
            except IndexError: return 6
    assert Kept()[0] == 6 and next(iter(Kept())) == 6
    class Case(unittest.TestCase):
        def test(self):
            self.assertRaises(IndexError, candidate, 1)
            with self.assertRaisesRegex(IndexError, 'x'): candidate(2)
            for one in range(3):
                with self.subTest(one): self.assertEqual(candidate(None), 4)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert result.wasSuccessful() and result.testsRun == 1
    assert candidate(None) == 4
)";
  const CodeVerdict verdict =
      judge("def solve(n):\n    if n is not None: raise IndexError('x')\n    return 4", checks);
  EXPECT_EQ(verdict.state, CodeState::Pass) << verdict.detail;
}

}  // namespace
}  // namespace counterbeam
