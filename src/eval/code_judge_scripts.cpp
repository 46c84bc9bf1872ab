// Both scripts share a wire format for plain Python values. It exists because pickle and marshal
// are unsafe on input from a hostile process: decoding here creates only values of exact built-in
// types. A subclass is sent as its base class; a value that is not plain arrives as an Opaque,
// which equals only itself. Frames are a four-byte length and a body; numbers are little-endian.
#include "eval/code_judge_scripts.h"

namespace counterbeam {
namespace {

constexpr const char* kFrames = R"PY(
import os, struct
MOST_BYTES, MOST_DEPTH, MOST_ITEMS = 32 << 20, 200, 100000

def receive(channel):
    def exactly(count):
        parts = []
        while count:
            part = os.read(channel, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b''.join(parts)
    size = int.from_bytes(exactly(4), 'little')
    if size > MOST_BYTES:
        raise ValueError('a message of %d bytes' % size)
    return exactly(size)

def send(channel, body):
    if len(body) > MOST_BYTES:
        raise ValueError('a value of %d bytes' % len(body))
    rest = memoryview(number(len(body)) + body)
    while rest:
        rest = rest[os.write(channel, rest):]

def number(value):
    return value.to_bytes(4, 'little')

def field(channel):
    return receive(channel).decode('utf-8', 'replace')

def run_prompt(prompt, space):
    try:
        code = compile(prompt, '<prompt>', 'exec', dont_inherit=True)
    except SyntaxError:  # a signature without a docstring
        code = compile(prompt + '\n    pass\n', '<prompt>', 'exec', dont_inherit=True)
    exec(code, space)

def make_module(name):
    module = sys.modules[name] = type(sys)(name)
    return module.__dict__
)PY";

// opaque(value) handles values that are not plain: it returns a name to send, or raises.
constexpr const char* kValues = R"PY(
def encode(value, opaque):
    out = []
    def text(tag, body):
        out.append(tag + number(len(body)) + body)
    def items(tag, values, depth):
        out.append(tag + number(len(values)))
        for one in values:
            put(one, depth)
    def put(value, depth):
        if depth > MOST_DEPTH:
            raise ValueError('a value nested deeper than %d' % MOST_DEPTH)
        depth += 1
        if value is None: out.append(b'N')
        elif value is True: out.append(b'T')
        elif value is False: out.append(b'F')
        elif isinstance(value, int):
            text(b'i', int.to_bytes(value, int.bit_length(value) // 8 + 1, 'little', signed=True))
        elif isinstance(value, float): out.append(b'f' + struct.pack('<d', value))
        elif isinstance(value, complex): out.append(b'c' + struct.pack('<dd', value.real, value.imag))
        elif isinstance(value, str): text(b's', str.encode(value, 'utf-8', 'surrogatepass'))
        elif isinstance(value, bytes): text(b'b', value)
        elif isinstance(value, bytearray): text(b'a', value)
        elif isinstance(value, list): items(b'l', [*list.__iter__(value)], depth)
        elif isinstance(value, tuple): items(b't', [*tuple.__iter__(value)], depth)
        elif isinstance(value, set): items(b'S', [*set.__iter__(value)], depth)
        elif isinstance(value, frozenset): items(b'Z', [*frozenset.__iter__(value)], depth)
        elif isinstance(value, dict):
            items(b'd', [part for pair in dict.items(value) for part in pair], depth)
        elif isinstance(value, range): items(b'r', [value.start, value.stop, value.step], depth)
        elif isinstance(value, type({}.keys())): items(b'k', [*value], depth)
        elif isinstance(value, type({}.values())): items(b'v', [*value], depth)
        elif isinstance(value, type({}.items())): items(b'e', [*value], depth)
        elif type(value).__name__ == 'deque': items(b'q', [*value], depth)
        elif type(value).__name__ == 'Fraction':
            items(b'n', [value.numerator, value.denominator], depth)
        elif type(value).__name__ == 'Decimal': text(b'D', str(value).encode())
        elif hasattr(type(value), '__next__'):  # consumed, up to MOST_ITEMS items
            items(b'I', [one for one, _ in zip(value, range(MOST_ITEMS))], depth)
        else: text(b'?', opaque(value).encode('utf-8', 'replace'))
    put(value, 0)
    return b''.join(out)

class Opaque:
    def __init__(self, name): self.name = name
    def __repr__(self): return '<%s of the program>' % self.name

def rational(parts):
    from fractions import Fraction
    return Fraction(*parts)
def decimal(digits):
    from decimal import Decimal
    return Decimal(digits.decode())
def queue(values):
    from collections import deque
    return deque(values)
def pairs(values):
    return dict(zip(values[::2], values[1::2]))

TEXTS = {
    b'i': lambda body: int.from_bytes(body, 'little', signed=True),
    b's': lambda body: body.decode('utf-8', 'surrogatepass'),
    b'b': bytes, b'a': bytearray, b'D': decimal, b'?': lambda body: Opaque(body.decode('utf-8')),
}
ITEMS = {
    b'l': list, b't': tuple, b'S': set, b'Z': frozenset, b'd': pairs, b'q': queue, b'n': rational,
    b'I': iter, b'r': lambda parts: range(*parts), b'k': lambda keys: dict.fromkeys(keys).keys(),
    b'v': lambda values: dict(enumerate(values)).values(), b'e': lambda items: dict(items).items(),
}
WORDS = {b'N': None, b'T': True, b'F': False}

def decode(data):
    at = 0
    def take(count):
        nonlocal at
        at += count
        if at > len(data):
            raise ValueError('a message cut short')
        return data[at - count:at]
    def get(depth):
        if depth > MOST_DEPTH + 2:
            raise ValueError('a value nested deeper than %d' % MOST_DEPTH)
        tag = take(1)
        if tag in WORDS: return WORDS[tag]
        if tag == b'f': return struct.unpack('<d', take(8))[0]
        if tag == b'c': return complex(*struct.unpack('<dd', take(16)))
        size = int.from_bytes(take(4), 'little')
        if tag in TEXTS: return TEXTS[tag](take(size))
        return ITEMS[tag]([get(depth + 1) for _ in range(size)])
    value = get(0)
    if at != len(data):
        raise ValueError('a message too long')
    return value
)PY";

constexpr const char* kProgram = R"PY(
def opaque(value):
    return type(value).__name__

def told(error):
    builtin = next(kind for kind in type(error).__mro__ if kind.__module__ == 'builtins')
    error.__traceback__ = error.__context__ = None
    try:
        message = str(error)[:300]
    except BaseException:
        message = ''
    return b'E' + encode((builtin.__name__, type(error).__name__, message), opaque)

def load():
    prompt, name, program = field(3), field(3), field(3)
    space = make_module('solution')
    run_prompt(prompt, space)
    space.pop(name, None)
    exec(compile(program, '<program>', 'exec', dont_inherit=True), space)
    if name not in space:
        raise NameError('the program does not define ' + name)
    return space[name]

def answer(function, request):
    arguments, named = both = decode(request)
    value = encode(function(*arguments, **named), opaque)
    after = encode(both, opaque)
    # Changes that the program made to its arguments are sent back with the value.
    return b'V' + value if after == request else b'M' + number(len(value)) + value + after

def serve():
    send(4, b'H')  # before anything of the program is here: this interpreter works
    try:
        function = load()
        send(4, b'R')
    except BaseException as error:
        return send(4, told(error))
    while True:
        request = receive(3)
        try:
            send(4, answer(function, request))
        except BaseException as error:
            send(4, told(error))
serve()
os._exit(0)
)PY";

constexpr const char* kTest = R"PY(
import builtins

class Broken(BaseException):
    """The program can no longer be called. Holds the state and detail of the verdict."""

class Judge:
    def __init__(self, *parts):
        self.broken = None
        self.asked = self.loaded = False
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

    def reply(self, wanted):
        def exchange():
            body = receive(3)
            kind, body = body[:1], body[1:]
            if kind not in wanted: raise ValueError('a message out of turn')
            if kind == b'R': return kind, None, None
            if kind == b'V': return kind, decode(body), None
            if kind == b'E':
                told = _, _, _ = decode(body)
                if {*map(type, told)} != {str}: raise ValueError('an exception without a name')
                return kind, told, None
            size = int.from_bytes(body[:4], 'little')
            return kind, decode(body[4:4 + size]), decode(body[4 + size:])
        kind, value, after = self.talk(exchange)
        if kind == b'E': self.raise_for(*value)
        return value, after

    def raise_for(self, builtin, name, message):
        detail = '%s: %s' % (name, message)
        kind = getattr(builtins, builtin, None)
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            self.broken = Broken('error', detail)
            raise self.broken
        # As in a generator (PEP 479): all(map(candidate, ...)) would take it for the end of its input.
        if issubclass(kind, StopIteration): kind = RuntimeError
        try:
            error = kind(message)
        except TypeError:
            error = Exception(message)
        error.detail = detail
        raise error

    def load(self):
        if not self.loaded:
            self.loaded = True
            try:
                self.reply((b'R', b'E'))
            except Exception as error:
                state = 'memory' if isinstance(error, MemoryError) else 'error'
                self.broken = Broken(state, error.detail)
                raise self.broken

    def call(self, arguments, named):
        self.asked = True
        self.load()
        request = encode((arguments, named), opaque)
        self.talk(lambda: send(4, request))
        value, after = self.reply((b'V', b'M', b'E'))
        if after is not None:
            self.talk(lambda: restore((arguments, named), after))
        return value

def opaque(value):
    raise TypeError('the test passes a %s, which cannot be sent' % type(value).__name__)

def restore(old, new):
    """Copies the content that the program left in its arguments into the test's own containers."""
    if isinstance(old, (list, tuple)) and len(old) == len(new):
        for at, (before, after) in enumerate(zip(old, new)):
            kept = restore(before, after)
            if isinstance(old, list): old[at] = kept
    elif isinstance(old, (list, bytearray)): old[:] = new
    elif isinstance(old, dict):
        kept = {key: restore(old[key], new[key]) if key in old else new[key] for key in new}
        old.clear()
        old.update(kept)
    elif isinstance(old, set):
        old.clear()
        old.update(new)
    elif type(old).__name__ == 'deque':
        old.clear()
        old.extend(new)
    else: return new
    return old

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
    verdict('pass')
run()
)PY";

}  // namespace

const std::string& program_script() {
  static const std::string script = std::string(kFrames) + kValues + kProgram;
  return script;
}

const std::string& test_script() {
  static const std::string script = std::string(kFrames) + kValues + kTest;
  return script;
}

}  // namespace counterbeam
