// Frames are a four-byte length and a body; numbers are little-endian. A body holds new objects,
// changes of objects that the other side has, and a root. Objects are the values whose identity
// matters, like lists; each is written once and referred to by its number. An object may refer only
// to earlier ones, so that no cycle can be written; changes can make one, which apply() refuses.
#include "eval/code_judge_wire.h"

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

constexpr const char* kWriter = R"PY(
OBJECTS = {b'l', b'a', b'S', b'd', b'q', b'?'}  # the kinds whose identity matters

def leaf(value):
    if value is None: return b'N'
    if value is True: return b'T'
    if value is False: return b'F'
    if isinstance(value, int):
        return text(b'i', int.to_bytes(value, int.bit_length(value) // 8 + 1, 'little', signed=True))
    if isinstance(value, float): return b'f' + struct.pack('<d', value)
    if isinstance(value, complex): return b'c' + struct.pack('<dd', value.real, value.imag)
    if isinstance(value, str): return text(b's', str.encode(value, 'utf-8', 'surrogatepass'))
    if isinstance(value, bytes): return text(b'b', value)

def text(tag, body):
    return tag + number(len(body)) + body

class Writer:
    """Writes values for a side that has the objects `known`, with the numbers from 0. A subclass
    says in other() how a value that is not plain is sent; here it is empty."""
    def __init__(self, known=()):
        self.known, self.objects, self.entries = known, [*known], []
        self.numbers = {id(one): at for at, one in enumerate(known)}  # None: being written
        self.fresh = False  # whether a new object was referred to

    def parts(self, value):
        """The tag of a value that is no leaf, and its parts: a list of values, bytes or a number."""
        if isinstance(value, list): return b'l', [*list.__iter__(value)]
        if isinstance(value, tuple): return b't', [*tuple.__iter__(value)]
        if isinstance(value, dict): return b'd', [part for pair in dict.items(value) for part in pair]
        if isinstance(value, bytearray): return b'a', bytes(value)
        if isinstance(value, set): return b'S', [*set.__iter__(value)]
        if isinstance(value, frozenset): return b'Z', [*frozenset.__iter__(value)]
        if isinstance(value, range): return b'r', [value.start, value.stop, value.step]
        if isinstance(value, type({}.keys())): return b'k', [*value]
        if isinstance(value, type({}.values())): return b'v', [*value]
        if isinstance(value, type({}.items())): return b'e', [*value]
        if type(value).__name__ == 'deque': return b'q', [*value]
        if type(value).__name__ == 'Fraction': return b'n', [value.numerator, value.denominator]
        if type(value).__name__ == 'Decimal': return b'D', str(value).encode()
        return self.other(value)

    def other(self, value):
        return b'?', b''

    def put(self, value, out, depth=0):
        if depth > MOST_DEPTH:
            raise ValueError('a value nested deeper than %d' % MOST_DEPTH)
        plain = leaf(value)
        if plain: return out.append(plain)
        at = self.numbers.get(id(value), -1)
        if at is None: raise ValueError('a value that contains itself')
        if at < 0:
            tag, parts = self.parts(value)
            if tag not in OBJECTS: return self.fill(out, tag, parts, depth)
            self.numbers[id(value)], entry = None, []
            self.fill(entry, tag, parts, depth)
            at = self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)  # this also keeps its id from another object
            self.entries += entry
        self.fresh |= at >= len(self.known)
        out.append(b'@' + number(at))

    def fill(self, out, tag, parts, depth):
        if isinstance(parts, bytes): return out.append(text(tag, parts))
        if isinstance(parts, int): return out.append(tag + number(parts))
        out.append(tag + number(len(parts)))
        for one in parts: self.put(one, out, depth + 1)

    def message(self, root, before=()):
        """`before` are the known objects as they were when last sent, each as bytes."""
        out, changes, count = [], [], 0
        self.put(root, out)
        for at, last in enumerate(before):
            self.fresh, entry = False, []
            self.fill(entry, *self.parts(self.known[at]), 0)
            entry = b''.join(entry)
            if entry == last: continue
            # Numbers of new objects mean something else in the next message: never the same.
            before[at] = None if self.fresh else entry
            changes += number(at), entry
            count += 1
        new = number(len(self.objects) - len(self.known))
        return b''.join([new, *self.entries, number(count), *changes, *out])
)PY";

constexpr const char* kReader = R"PY(
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
def cut(values):
    yield from values
    raise ValueError('an iterator of more than %d items cannot be sent' % MOST_ITEMS)

TEXTS = {
    b'i': lambda body: int.from_bytes(body, 'little', signed=True),
    b's': lambda body: body.decode('utf-8', 'surrogatepass'),
    b'b': bytes, b'a': bytearray, b'D': decimal, b'?': lambda body: Opaque(body.decode('utf-8')),
}
ITEMS = {
    b'l': list, b't': tuple, b'S': set, b'Z': frozenset, b'd': pairs, b'q': queue, b'n': rational,
    b'I': iter, b'J': cut, b'r': lambda parts: range(*parts),
    b'k': lambda keys: dict.fromkeys(keys).keys(),
    b'v': lambda values: dict(enumerate(values)).values(), b'e': lambda items: dict(items).items(),
}
WORDS = {b'N': None, b'T': True, b'F': False}

class Reader:
    """Reads a message for a side that has the objects `known`. iterator(tag, number) makes those
    that are read on demand."""
    def __init__(self, data, known=(), iterator=None):
        self.data, self.at, self.iterator, self.height = data, 0, iterator, 0
        self.objects, self.heights = [*known], [0] * len(known)
        self.entries = []  # the new objects as bytes
        for _ in range(self.count()):
            begin, self.height = self.at, 0
            if data[begin:begin + 1] not in OBJECTS: raise ValueError('an object of no known kind')
            self.objects.append(self.get(0))
            self.heights.append(self.height)
            self.entries.append(data[begin:self.at])
        self.changes = [self.change(known) for _ in range(self.count())]
        self.root = self.get(0)
        if self.at != len(data):
            raise ValueError('a message of another length')

    def take(self, count):
        self.at += count
        if self.at > len(self.data):
            raise ValueError('a message cut short')
        return self.data[self.at - count:self.at]

    def count(self):
        return int.from_bytes(self.take(4), 'little')

    def reach(self, depth):
        if depth > MOST_DEPTH + 2:
            raise ValueError('a value nested deeper than %d' % MOST_DEPTH)
        self.height = depth

    def get(self, depth):
        if depth > self.height: self.reach(depth)
        tag = self.data[self.at:self.at + 1]
        self.at += 1
        if tag in WORDS: return WORDS[tag]
        if tag == b'f': return struct.unpack('<d', self.take(8))[0]
        if tag == b'c': return complex(*struct.unpack('<dd', self.take(16)))
        size = int.from_bytes(self.data[self.at:self.at + 4], 'little')
        self.at += 4
        if tag == b'@':
            if size >= len(self.objects): raise ValueError('a reference to nothing')
            if depth + self.heights[size] > self.height: self.reach(depth + self.heights[size])
            return self.objects[size]
        if tag in TEXTS: return TEXTS[tag](self.take(size))
        if tag in ITEMS: return ITEMS[tag]([self.get(depth + 1) for _ in range(size)])
        if tag in (b'g', b'm') and self.iterator: return self.iterator(tag, size)
        raise ValueError('a value of no known kind')

    def change(self, known):
        """A known object and one of its kind with its new content."""
        at, tag = self.count(), self.data[self.at:self.at + 1]
        if at >= len(known): raise ValueError('a change of nothing')
        new = self.get(0)
        if tag not in OBJECTS or not isinstance(known[at], type(new)):
            raise ValueError('a change of the kind')
        return known[at], new

def apply(changes, known):
    for old, new in changes:
        if isinstance(old, (list, bytearray)): old[:] = new
        elif not isinstance(old, set) or old != new:  # sets come back in another order
            old.clear()
            (old.update if isinstance(old, (set, dict)) else old.extend)(new)
    if changes: Writer().message([*known])  # refuses cycles
)PY";

}  // namespace

const std::string& wire_format() {
  static const std::string script = std::string(kFrames) + kWriter + kReader;
  return script;
}

}  // namespace counterbeam
