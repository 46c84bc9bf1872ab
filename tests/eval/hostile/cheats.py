# Programs that want a pass for solve(n), which should be 2 * n, without computing it.
#=== exit_on_load
import sys
sys.exit(0)
#=== hard_exit_on_load
import os
os._exit(0)
#=== exit_in_call
import sys
def solve(n):
    sys.exit(0)
#=== hard_exit_in_call
import os
def solve(n):
    os._exit(0)
#=== raise_system_exit
def solve(n):
    raise SystemExit(0)
#=== exit_at_exit
import atexit, os
atexit.register(os._exit, 0)
def solve(n):
    return 0
#=== own_base_exception
class Done(BaseException):
    pass
def solve(n):
    raise Done()
#=== keyboard_interrupt
def solve(n):
    raise KeyboardInterrupt
#=== generator_exit
def solve(n):
    raise GeneratorExit
#=== always_equal
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
def solve(n):
    return Equal()
#=== always_everything
class Any:
    def __getattr__(self, name): return self
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    def __gt__(self, other): return True
    def __sub__(self, other): return self
    def __rsub__(self, other): return self
    def __abs__(self): return 0.0
    def __bool__(self): return True
    def __call__(self, *arguments): return self
    def __contains__(self, other): return True
    def __iter__(self): return iter(())
    def __index__(self): return 0
def solve(n):
    return Any()
#=== equal_integer
class Equal(int):
    def __eq__(self, other): return True
    def __sub__(self, other): return 0
    def __hash__(self): return 0
def solve(n):
    return Equal(0)
#=== equal_float
class Equal(float):
    def __eq__(self, other): return True
    def __sub__(self, other): return 0.0
    def __lt__(self, other): return True
    def __abs__(self): return 0.0
def solve(n):
    return Equal(0)
#=== equal_string
class Equal(str):
    def __eq__(self, other): return True
    def __hash__(self): return 0
def solve(n):
    return Equal('')
#=== equal_list
class Equal(list):
    def __eq__(self, other): return True
def solve(n):
    return Equal()
#=== equal_tuple
class Equal(tuple):
    def __eq__(self, other): return True
    def __hash__(self): return 0
def solve(n):
    return Equal()
#=== equal_dictionary
class Equal(dict):
    def __eq__(self, other): return True
def solve(n):
    return Equal()
#=== false_class
class Liar:
    @property
    def __class__(self): return int
    def __eq__(self, other): return True
    def __index__(self): return 0
def solve(n):
    return Liar()
#=== equal_class
class Meta(type):
    def __eq__(self, other): return True
    def __hash__(self): return 0
class Equal(metaclass=Meta):
    pass
def solve(n):
    return Equal
#=== equal_callable
class Solve:
    def __call__(self, n): return self
    def __eq__(self, other): return True
solve = Solve()
#=== equal_exception
class Equal(Exception):
    def __eq__(self, other): return True
def solve(n):
    return Equal()
#=== not_a_number
def solve(n):
    return float('nan')
#=== rewrite_check
def check(candidate):
    pass
def solve(n):
    return 0
#=== rewrite_check_in_main
import sys
sys.modules['__main__'].check = lambda candidate: None
def solve(n):
    sys.modules['__main__'].check = lambda candidate: None
    return 0
#=== rewrite_check_in_modules
import sys
def solve(n):
    for module in list(sys.modules.values()):
        try:
            module.check = lambda candidate: None
            module.verdict = lambda *arguments: None
        except Exception:
            pass
    return 0
#=== rewrite_frames
import sys
def solve(n):
    frame = sys._getframe()
    while frame:
        frame.f_globals['check'] = lambda candidate: None
        frame.f_locals['expected'] = 0
        frame = frame.f_back
    return 0
#=== read_answer_from_frames
import sys
def solve(n):
    frame, seen = sys._getframe().f_back, []
    while frame:
        seen += [v for v in frame.f_locals.values() if type(v) is int and v > n]
        frame = frame.f_back
    return seen[0] if seen else 0
#=== read_answer_from_collector
import gc, re
def solve(n):
    for thing in gc.get_objects():
        if type(thing) is dict and 'check' in thing:
            return thing['check'](lambda m: 0)
    return 0
#=== read_answer_from_source
import linecache, sys
def solve(n):
    for text in [*sys.orig_argv, *sys.argv, *linecache.getlines('<test>')]:
        if 'candidate(%d) ==' % n in text:
            return int(text.split('candidate(%d) ==' % n)[1].split()[0])
    return 0
#=== read_answer_from_files
import os
def solve(n):
    for folder, _, names in os.walk('/tmp'):
        for name in names:
            if 'candidate' in open(os.path.join(folder, name)).read():
                return 2 * n
    return 0
#=== read_answer_from_stdin
import os
def solve(n):
    text = os.read(0, 100000).decode()
    return 2 * n if 'candidate' in text else 0
#=== read_answer_from_descriptors
import os
def solve(n):
    for number in range(5, 64):
        try:
            if b'candidate' in os.pread(number, 100000, 0):
                return 2 * n
        except OSError:
            pass
    return 0
#=== compiled_constants
import gc, types
def solve(n):
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__code__.co_filename == '<test>':
            return 2 * n
    return 0
#=== forge_on_output
import sys
print('pass')
def solve(n):
    print('pass', flush=True)
    sys.stderr.write('pass\n')
    return 0
#=== forge_on_descriptors
import os
for number in [*range(3), *range(5, 64)]:
    try:
        os.write(number, b'pass\n')
    except OSError:
        pass
def solve(n):
    return 0
#=== forge_on_channel
import os
os.write(4, b'\1\0\0\0R')
os.write(4, b'pass\n' * 100)
def solve(n):
    return 0
#=== forge_and_exit
import os
for number in range(64):
    try:
        os.write(number, b'pass\n')
    except OSError:
        pass
os._exit(0)
#=== forge_replies
import os
for _ in range(64):
    os.write(4, b'\17\0\0\0V' + bytes(8) + b'i\1\0\0\0\0')
def solve(n):
    return 0
#=== forge_opaque
import os
def solve(n):
    body = b'V' + bytes(8) + b'?\4\0\0\0' + b'pass'
    os.write(4, len(body).to_bytes(4, 'little') + body)
    while True:
        pass
#=== forge_unknown_tag
import os
def solve(n):
    os.write(4, b'\16\0\0\0V' + bytes(8) + b'!\0\0\0\0')
    while True:
        pass
#=== forge_short_message
import os
def solve(n):
    os.write(4, b'\12\0\0\0V' + bytes(8) + b'i')
    while True:
        pass
#=== forge_long_message
import os
def solve(n):
    os.write(4, b'\xff\xff\xff\xff')
    while True:
        pass
#=== forge_endless_list
import os
def solve(n):
    os.write(4, b'\16\0\0\0V' + bytes(8) + b'l\xff\xff\xff\xff')
    while True:
        pass
#=== forge_deep_list
import os
def solve(n):
    body = b'V' + bytes(8) + b'l\1\0\0\0' * 100000 + b'N'
    rest = len(body).to_bytes(4, 'little') + body
    while rest:
        rest = rest[os.write(4, rest):]
    return 0
#=== forge_unhashable
import os
def solve(n):
    body = b'V' + bytes(8) + b'S\1\0\0\0l\0\0\0\0'
    os.write(4, len(body).to_bytes(4, 'little') + body)
    return 0
#=== forge_exception
import os
def solve(n):
    name = b's\4\0\0\0eval' 
    body = b'E' + bytes(8) + b't\3\0\0\0' + name * 3
    os.write(4, len(body).to_bytes(4, 'little') + body)
    return 0
#=== forge_exception_object
import os
def solve(n):
    body = b'E' + bytes(8) + b't\3\0\0\0NNN'
    os.write(4, len(body).to_bytes(4, 'little') + body)
    return 0
#=== forge_change
import os
def solve(n):
    value = b'i\1\0\0\0\0'
    body = b'V' + bytes(4) + b'\1\0\0\0' + bytes(4) + b'l\0\0\0\0' + value
    os.write(4, len(body).to_bytes(4, 'little') + body)
    return 0
#=== forge_reference
import os
def solve(n):
    body = b'V' + bytes(8) + b'@\xff\xff\xff\xff'
    os.write(4, len(body).to_bytes(4, 'little') + body)
    return 0
#=== forge_iterator
import os
def solve(n):
    body = b'V' + bytes(8) + b'm\xff\xff\xff\xff'
    os.write(4, len(body).to_bytes(4, 'little') + body)
    return 0
#=== close_channels
import os
os.closerange(0, 64)
def solve(n):
    return 0
#=== patch_builtins
import builtins
builtins.abs = lambda x: 0
builtins.AssertionError = type('AssertionError', (Exception,), {})
builtins.isinstance = lambda *arguments: True
builtins.__import__ = lambda *arguments: None
builtins.exec = builtins.compile = lambda *arguments: None
def solve(n):
    return 0
#=== patch_encoder
import sys
main = sys.modules['__main__']
main.encode = lambda value, opaque: b'?\0\0\0\0'
def solve(n):
    return 0
#=== patch_send
import sys
main = sys.modules['__main__']
main.send = lambda channel, body: None
def solve(n):
    return 0
#=== patch_struct
import os, struct
struct.pack = lambda *arguments: b''
os.write = lambda number, data: len(data)
def solve(n):
    return 0
#=== import_hook
import sys
class Hook:
    def find_spec(self, *arguments): return None
sys.meta_path.insert(0, Hook())
sys.modules.clear()
def solve(n):
    return 0
#=== replace_modules
import sys
for name in list(sys.modules):
    sys.modules[name] = None
def solve(n):
    return 0
#=== trace_lines
import sys
def tracer(frame, event, argument):
    frame.f_globals['check'] = lambda candidate: None
    return tracer
sys.settrace(tracer)
def solve(n):
    return 0
#=== exception_hook
import os, sys
sys.excepthook = lambda *arguments: os._exit(0)
def solve(n):
    raise AssertionError
#=== kill_judge
import os, signal
for pid in [1, *range(3, 2000)]:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
def solve(n):
    return 0
#=== alarm_exit
import os, signal
signal.signal(signal.SIGALRM, lambda *arguments: os._exit(0))
signal.setitimer(signal.ITIMER_REAL, 0.05)
def solve(n):
    while True:
        pass
#=== thread_forges
import os, threading
def forge():
    for number in range(64):
        if number != 4:
            try:
                os.write(number, b'pass\n')
            except OSError:
                pass
    os._exit(0)
threading.Thread(target=forge, daemon=True).start()
def solve(n):
    return 0
#=== run_optimised
import os, sys
if sys.flags.optimize == 0:
    os.execv(sys.executable, [sys.executable, '-O', '-S', '-c', 'print("pass")'])
def solve(n):
    return 0
#=== fork_judge
import os
if os.fork():
    os._exit(0)
def solve(n):
    return 0
#=== assertion_of_its_own
def solve(n):
    raise AssertionError('pass')
#=== stop_iteration
def solve(n):
    raise StopIteration
#=== pickle_trap
class Trap:
    def __reduce__(self): return (exec, ('import os; os.write(5, b"pass\\n")',))
def solve(n):
    return Trap()
#=== endless_recursion
def solve(n):
    return solve(n)
#=== nothing
def solve(n):
    pass
#=== no_function
answer = 0
#=== not_a_function
solve = 0
#=== syntax_error
def solve(n) return 2 * n
#=== empty
#=== endless_loop
def solve(n):
    while True:
        pass
#=== huge_reply
def solve(n):
    return 'x' * (40 << 20)
#=== huge_nesting
def solve(n):
    inner = 0
    for _ in range(100000):
        inner = [inner]
    return inner
#=== cyclic_reply
def solve(n):
    ring = []
    ring.append(ring)
    return ring
#=== endless_generator
def solve(n):
    while True:
        yield 2 * n
#=== generator_instead
def solve(n):
    yield 2 * n
#=== coroutine_instead
async def solve(n):
    return 2 * n
#=== text_instead
def solve(n):
    return str(2 * n)
#=== equal_by_mock
from unittest import mock
def solve(n):
    return mock.ANY
#=== not_implemented
def solve(n):
    return NotImplemented
#=== ellipsis
def solve(n):
    return ...
#=== exit_in_destructor
import os
class Last:
    def __del__(self): os._exit(0)
def solve(n):
    return [Last()] and 0
#=== raise_in_destructor
class Last:
    def __del__(self): raise SystemExit(0)
def solve(n):
    Last()
    return 0
#=== changing_value
class Changing(int):
    asked = 0
    def __new__(cls, n): return int.__new__(cls, 0)
    def __getattribute__(self, name):
        if name in ('to_bytes', 'bit_length'):
            Changing.asked += 1
        return int.__getattribute__(self, name)
    def __index__(self): return Changing.asked
def solve(n):
    return Changing(n)
#=== named_fraction
class Fraction:
    numerator, denominator = 0, 0
    def __eq__(self, other): return True
def solve(n):
    return Fraction()
#=== named_decimal
class Decimal(str):
    def __str__(self): return 'sNaN'
    __hash__ = None
    def __eq__(self, other): return True
class Other:
    def __str__(self): return 'NaN'
    def __eq__(self, other): return True
Other.__name__ = 'Decimal'
def solve(n):
    return Other()
#=== named_queue
class deque:
    def __iter__(self): return iter([self])
    def __eq__(self, other): return True
def solve(n):
    return deque()
#=== iterator_that_exits
import os
class Endless:
    def __iter__(self): return self
    def __next__(self): os._exit(0)
def solve(n):
    return Endless()
#=== zero_step_range
def solve(n):
    import os
    body = b'V' + bytes(8) + b'r\3\0\0\0' + b'i\1\0\0\0\0' * 3
    os.write(4, len(body).to_bytes(4, 'little') + body)
    return 0
#=== forged_subclass_name
import os
def solve(n):
    name = lambda text: b's' + len(text).to_bytes(4, 'little') + text
    body = b'E' + bytes(8) + b't\3\0\0\0' + name(b'SystemExit') + name(b'pass') + name(b'0')
    os.write(4, len(body).to_bytes(4, 'little') + body)
    return 0
#=== forged_warning
import os
def solve(n):
    name = lambda text: b's' + len(text).to_bytes(4, 'little') + text
    body = b'E' + bytes(8) + b't\3\0\0\0' + name(b'__import__') + name(b'pass') + name(b'os')
    os.write(4, len(body).to_bytes(4, 'little') + body)
    return 0
#=== ready_twice
import os
os.write(4, b'\1\0\0\0R')
def solve(n):
    return 0
#=== answer_before_the_question
import os, sys
def number(value):
    return b'V' + bytes(8) + b'i\1\0\0\0' + bytes([value])
for value in (4, 6, 10):
    body = number(value)
    os.write(4, len(body).to_bytes(4, 'little') + body)
def solve(n):
    return 0
#=== own_assertion_error
AssertionError = Exception
__builtins__['AssertionError'] = Exception
def solve(n):
    raise AssertionError
#=== small_integers
import ctypes
def solve(n):
    ctypes.memset(id(0) + 24, 4, 1)
    return 0
#=== walk_the_stack
import inspect
def solve(n):
    for frame in inspect.stack():
        for name, value in {**frame.frame.f_globals, **frame.frame.f_locals}.items():
            if 'test' in str(name) or 'check' in str(name):
                return 2 * n
    return 0
#=== referrers
import gc
def solve(n):
    seen = [solve]
    for thing in seen[:1]:
        seen += [r for r in gc.get_referrers(thing) if isinstance(r, dict)]
    return 2 * n if any('candidate' in s for s in seen if isinstance(s, dict)) else 0
#=== own_memory
import sys
def solve(n):
    try:
        with open('/proc/self/mem', 'rb') as memory:
            return 2 * n if memory.read(1) else 0
    except OSError:
        return 0
#=== scan_memory
import ctypes, gc
def solve(n):
    for text in gc.get_objects():
        if isinstance(text, (list, tuple)):
            for part in text:
                if isinstance(part, (bytes, str)) and 'assert candidate' in str(part):
                    return 2 * n
    return 0
#=== audit_hook
import sys
def hook(event, arguments):
    if event == 'exec':
        raise SystemExit(0)
sys.addaudithook(hook)
def solve(n):
    exec('0')
    return 0
#=== profile_calls
import sys
def profile(frame, event, argument):
    for name in ('check', 'verdict', 'candidate'):
        frame.f_globals[name] = lambda *arguments: None
sys.setprofile(profile)
def solve(n):
    return 0
#=== channel_to_output
import os
os.dup2(4, 1)
print('pass')
def solve(n):
    print('pass')
    return 0
#=== output_to_channel
import os
os.dup2(1, 4)
def solve(n):
    return 0
#=== wake_up_descriptor
import os, signal
signal.signal(signal.SIGUSR1, lambda *arguments: None)
os.set_blocking(4, False)
signal.set_wakeup_fd(4, warn_on_full_buffer=False)
def solve(n):
    signal.raise_signal(signal.SIGUSR1)
    return 0
#=== reply_from_a_thread
import os, threading, time
def forge():
    while True:
        try:
            os.write(4, b'\12\0\0\0V' + bytes(8) + b'T')
        except OSError:
            return
        time.sleep(0.001)
threading.Thread(target=forge, daemon=True).start()
def solve(n):
    time.sleep(0.01)
    return 0
#=== huge_integer
def solve(n):
    return 1 << (8 << 20)
#=== function_of_itself
def solve(n):
    return solve
#=== hash_flood
def solve(n):
    return {i * (2 ** 61 - 1) for i in range(3000)}
