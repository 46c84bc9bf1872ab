// The script of the test's interpreter: the stub through which the test calls the program, and the
// verdict. It trusts nothing that it receives.
#include "eval/code_judge_scripts.h"
#include "eval/code_judge_wire.h"

namespace counterbeam {
namespace {

constexpr const char* kTest = R"PY(
import _thread, builtins

class Broken(BaseException):
    """The program can no longer be called. Holds the state and detail of the verdict."""

class Request(Writer):
    def other(self, value):
        if not hasattr(type(value), '__next__'):
            raise TypeError('the test passes a %s, which cannot be sent' % type(value).__name__)
        items = [one for _, one in zip(range(MOST_ITEMS + 1), value)]  # consumed
        return b'J' if len(items) > MOST_ITEMS else b'I', items[:MOST_ITEMS]

class Pulled:
    """An iterator of the program, of which a few items are read ahead."""
    def __init__(self, judge, at, known):
        self.judge, self.at, self.known = judge, at, known
        self.taken, self.over, self.ready = 0, False, []

    def __iter__(self): return self

    def __next__(self):
        with self.judge.lock:
            if not self.ready and not self.over: self.judge.pull(self)
            if not self.ready: raise StopIteration
            self.taken += 1
            return self.ready.pop()

def generate(pulled):
    yield from pulled

def rebuilt(kind, name, message, arguments):
    """An exception of a built-in kind, or of a subclass that has the name and text of the program's."""
    if not name.isidentifier(): name = kind.__name__
    for kind, given in ((kind, arguments), (kind, (message,)), (Exception, (message,))):
        try:
            error = kind(*given)
            if kind.__name__ == name and str(error) == message: return error
            return type(name, (kind,), {'__str__': lambda self: message})(*given)
        except Exception:  # no arguments, or not those of this kind
            pass

class Judge:
    def __init__(self, *parts):
        self.lock = _thread.RLock()  # for threads of the test; a call within a call is a __del__
        self.broken = None
        self.asked = self.loaded = False
        self.test = self.handling = self.lost = None
        self.codes = [one.__code__ for one in
                      (Judge.raise_for, Judge.call, Pulled.__next__, generate)]
        self.raised = {}  # the last exception of the program in each thread
        self.iterators = {}
        try:
            self.talk(lambda: [send(4, part.encode()) for part in parts])
        except Broken:
            pass  # stored, and raised when the test first calls the program

    def talk(self, exchange):
        if self.broken:
            raise self.broken
        try:
            return exchange()
        except (EOFError, BrokenPipeError):
            self.broken = Broken('gone', '')
        except Exception as error:
            self.broken = Broken('error', 'the answer cannot be read: %s' % error)
        raise self.broken

    def reply(self, wanted, known=(), check=None):
        def exchange():
            body = receive(3)
            kind = body[:1]
            if kind not in wanted: raise ValueError('a message out of turn')
            if kind == b'R': return kind, None
            answer = Reader(body[1:], known, lambda tag, at: self.iterator(tag, at, known))
            value = answer.root
            if kind == b'E':
                *texts, arguments = value
                if [*map(type, texts)] != [str] * 3 or type(arguments) not in (tuple, type(None)):
                    raise ValueError('an exception without a name')
            elif check: check(value)
            apply(answer.changes, known)
            return kind, value
        kind, value = self.talk(exchange)
        if kind == b'E': self.raise_for(*value)
        return value

    def raise_for(self, builtin, name, message, arguments):
        detail = '%s: %s' % (name, message[:300])
        kind = getattr(builtins, builtin, None)
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            self.broken = Broken('error', detail)
            raise self.broken
        # As in a generator (PEP 479): all(map(candidate, ...)) would take it for the end of its input.
        if issubclass(kind, (StopIteration, StopAsyncIteration)): kind = RuntimeError
        error = rebuilt(kind, name, message, arguments)
        error.detail = detail
        self.raised[_thread.get_ident()] = error
        try: raise error
        except Exception: raise  # now it has a traceback, which look_back() needs

    def look_back(self):
        """Keeps an exception of the program that ended in C code, which may take it for an answer:
        IndexError for the end of a sequence, AttributeError for a missing attribute. So do some
        classes of the standard library in Python."""
        error = self.raised.pop(_thread.get_ident(), None)
        trace = error and error.__traceback__  # none: unittest handled it, and took it away
        if not trace or self.lost: return
        # The traceback begins at the outermost frame that the exception reached: the one that
        # handled it, or the last one before C code dropped it. Before Python 3.12 it begins in this
        # class until a handler takes the exception. Coroutines are left out, because a task keeps
        # its exception for whoever awaits it.
        code = trace.tb_frame.f_code
        if code in self.codes or trace.tb_frame.f_globals.get('__name__') in DROPPING:
            self.lost = error
        elif code.co_filename == '<test>' and not code.co_flags & COROUTINE:
            if not self.handling: self.handling = handling_lines(self.test)
            if trace.tb_lineno not in self.handling: self.lost = error

    def look_back_at_all(self):
        """At the end of the test. Exceptions in threads that still run may be on their way."""
        with self.lock:
            me, running = _thread.get_ident(), sys._current_frames()
            for thread, error in [*self.raised.items()]:
                if thread == me or thread not in running:
                    self.raised[me] = error
                    self.look_back()

    def watch_threads(self):
        """Exceptions that end a thread are only printed, unless the test says otherwise."""
        threads = sys.modules.get('threading')
        if getattr(threads, 'excepthook', None) is _thread._excepthook:
            def hook(ended):
                if hasattr(ended.exc_value, 'detail') and not self.lost:
                    self.lost = ended.exc_value
                return _thread._excepthook(ended)
            threads.excepthook = hook

    def load(self):
        with self.lock:
            if self.loaded: return
            self.loaded = True
            try:
                self.reply((b'R', b'E'))
            except Exception as error:
                state = 'memory' if isinstance(error, MemoryError) else 'error'
                self.broken = Broken(state, error.detail)
                raise self.broken

    def call(self, arguments, named):
        with self.lock:
            self.asked = True
            self.watch_threads()
            self.look_back()
            self.load()
            request = Request()
            body = b'C' + request.message((arguments, named))
            self.talk(lambda: send(4, body))
            return self.reply((b'V', b'E'), request.objects)

    def iterator(self, tag, at, known):
        if at not in self.iterators:
            pulled = Pulled(self, at, known)
            self.iterators[at] = generate(pulled) if tag == b'g' else pulled
        return self.iterators[at]

    def pull(self, pulled):
        """Reads a sixteenth of what the test has taken ahead, so that the first items come singly."""
        count = min(1 + pulled.taken // 16, 1000)
        def check(value):
            if type(value) is not tuple or not value or type(value[0]) is not bool \
                    or not 0 < len(value) - 1 + value[0] <= count + value[0]:
                raise ValueError('no items of an iterator')
        self.watch_threads()
        self.look_back()
        pulled.over = True  # if it ends in an exception
        self.talk(lambda: send(4, b'P' + struct.pack('<II', pulled.at, count)))
        pulled.over, *items = self.reply((b'V', b'E'), pulled.known, check)
        pulled.ready = items[::-1]
        if pulled.over: self.iterators.pop(pulled.at, None)

# Modules with classes in Python that take IndexError and KeyError for the absence of an item.
DROPPING = ('collections', 'collections.abc', '_collections_abc')
COROUTINE = 0x80 | 0x200  # inspect.CO_COROUTINE, CO_ASYNC_GENERATOR

def handling_lines(test):
    """The lines of all statements that can handle an exception, and 0, so that it is not empty."""
    import ast
    kinds = ('Try', 'TryStar', 'With', 'AsyncWith')
    nodes = [node for node in ast.walk(ast.parse(test)) if type(node).__name__ in kinds]
    return {0, *(line for node in nodes for line in range(node.lineno, node.end_lineno + 1))}

def verdict(state, detail=''):
    detail = ' '.join(detail.split())[:500]
    rest = ('%s\n%s' % (state, detail)).encode('utf-8', 'replace')
    while rest:
        rest = rest[os.write(5, rest):]
    os._exit(0)

def place(error, test):
    """The line of the test where it stopped."""
    line, trace = 0, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == '<test>': line = trace.tb_lineno
        trace = trace.tb_next
    return test.split('\n')[line - 1].strip() if line else ''

def describe(error):
    return getattr(error, 'detail', '') or '%s: %s' % (type(error).__name__, error)

def run():
    if receive(3) != b'H': os._exit(1)
    os.write(5, b'started\n')
    prompt, test, name, program = field(0), field(0), field(0), field(0)
    judge = Judge(prompt, name, program)
    def candidate(*arguments, **named):
        return judge.call(arguments, named)
    candidate.__name__ = candidate.__qualname__ = name
    judge.test = test
    judge.codes.append(candidate.__code__)
    space = make_module('test')
    try:
        run_prompt(prompt, space)
    except Exception as error:
        verdict('unusable', 'prompt: ' + describe(error))
    if 'random' in test:  # the same draws in every judgement
        import random
        random.seed(0)
    space[name] = candidate
    try:
        exec(compile(test, '<test>', 'exec', dont_inherit=True), space)
        if 'check' not in space:
            verdict('unusable', 'test: it defines no function check(candidate)')
        judge.load()
        judge.asked = True
        space['check'](candidate)
    except BaseException as error:
        if judge.broken: verdict(*judge.broken.args)
        if not judge.asked: verdict('unusable', 'test: ' + describe(error))
        if isinstance(error, MemoryError): verdict('memory', describe(error))
        failed = isinstance(error, AssertionError) and not hasattr(error, 'detail')
        verdict('fail' if failed else 'error',
                (place(error, test) or describe(error)) if failed else describe(error))
    if judge.broken: verdict(*judge.broken.args)
    judge.look_back_at_all()
    if judge.lost: verdict('error', judge.lost.detail)
    verdict('pass')
run()
)PY";

}  // namespace

const std::string& test_script() {
  static const std::string script = wire_format() + kTest;
  return script;
}

}  // namespace counterbeam
