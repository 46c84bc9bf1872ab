// The script of the program's interpreter: answers calls, and requests for more items of an
// iterator that it returned. Once the program is loaded, nothing here can be relied on.
#include "eval/code_judge_scripts.h"
#include "eval/code_judge_wire.h"

namespace counterbeam {
namespace {

constexpr const char* kProgram = R"PY(
GENERATOR = type(_ for _ in ())
MOST_TEXT = 1 << 20  # characters of an exception's message
kept = []     # what the test may go on reading: iterators, each with the arguments of its call
numbers = {}  # of the iterators in `kept`, by id

class Reply(Writer):
    def __init__(self, known=(), before=()):
        super().__init__(known)
        self.before = before

    def other(self, value):
        if not hasattr(type(value), '__next__'):
            return b'?', type(value).__name__.encode('utf-8', 'replace')
        if id(value) not in numbers:
            numbers[id(value)] = len(kept)
            kept.append((value, self.known, self.before))
        return b'g' if isinstance(value, GENERATOR) else b'm', numbers[id(value)]

def forget(at, replacement=None):
    numbers.pop(id(kept[at][0]), None)
    kept[at] = replacement

def told(error):
    """The built-in kind of an exception, its name, message, and arguments if they can be sent."""
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == 'builtins')
    error.__traceback__ = error.__context__ = None
    message, arguments = '', None
    try:
        message = str(error)[:MOST_TEXT]
        given = tuple(error.args)
        if isinstance(error, OSError) and len(given) == 2: given += error.filename,
        if len(Writer().message(given)) <= MOST_TEXT: arguments = given
    except BaseException:
        pass
    return kind.__name__, type(error).__name__[:300], message, arguments

def load():
    prompt, name, program = field(3), field(3), field(3)
    space = make_module('solution')
    run_prompt(prompt, space)
    space.pop(name, None)
    exec(compile(program, '<program>', 'exec', dont_inherit=True), space)
    if name not in space:
        raise NameError('the program does not define ' + name)
    return space[name]

def failing(error):
    raise error
    yield

def more(at, count):
    """Whether an iterator is over, and its next items; its exception comes after them."""
    iterator, *call = kept[at]
    items = []
    try:
        while len(items) < count: items.append(next(iterator))
    except StopIteration: forget(at)
    except BaseException as error:
        forget(at, items and (failing(error), *call) or None)
        if not items: raise
    return (kept[at] is None, *items)

def answer(function, request):
    if request[:1] == b'C':
        reader = Reader(request[1:])
        known, before = reader.objects, reader.entries
        (arguments, named), reader = reader.root, None
        work = lambda: function(*arguments, **named)
        look = True
    else:
        at, count = struct.unpack('<II', request[1:])
        _, known, before = kept[at]
        work = lambda: more(at, count)
        look = sum(len(entry or b'') for entry in before) <= 4096  # else only at its end
    try:
        kind, value = b'V', work()
    except BaseException as error:
        kind, value = b'E', told(error)
    look = look or kept[at] is None
    # Changes that the program made to the arguments are sent with the value.
    return kind + Reply(known, before).message(value, before if look else ())

def serve():
    send(4, b'H')  # before anything of the program is here: this interpreter works
    try:
        function = load()
        send(4, b'R')
    except BaseException as error:
        return send(4, b'E' + Reply().message(told(error)))
    while True:
        request, end = receive(3), len(kept)
        try:
            send(4, answer(function, request))
        except BaseException as error:  # a value that cannot be sent
            for at in range(end, len(kept)): forget(at)
            del kept[end:]
            send(4, b'E' + Reply().message(told(error)))
serve()
os._exit(0)
)PY";

}  // namespace

const std::string& program_script() {
  static const std::string script = wire_format() + kProgram;
  return script;
}

}  // namespace counterbeam
