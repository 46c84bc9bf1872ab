#=== grow_list: refused
def grow():
    kept = []
    while True:
        kept.append(bytes(1 << 20))
must_fail(grow)
#=== grow_small: refused
def grow():
    kept = []
    while True:
        kept.extend([[]] * 1000000)
must_fail(grow)
#=== big_bytes: refused
must_fail(bytearray, 8 << 30)
#=== big_string: refused
must_fail(lambda: 'x' * (8 << 30))
#=== big_range: refused
must_fail(list, range(10 ** 12))
#=== map_memory: refused
import mmap
must_fail(mmap.mmap, -1, 8 << 30)
#=== map_shared: refused
import mmap
must_fail(lambda: [mmap.mmap(-1, 256 << 20) for _ in range(64)])
#=== map_without_reserve: refused
import mmap
must_fail(lambda: mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000))
#=== memory_file: refused
must_fail(os.memfd_create, 'x')
#=== secret_memory: refused
must_fail(raw, 447, 0)
#=== system_v_memory: refused
must_fail(raw, 29, 0, 1 << 30, 0o1600)
#=== system_v_queue: refused
must_fail(raw, 68, 0, 0o1600)
#=== posix_queue: refused
must_fail(raw, 240, b'/queue', 0o102, 0o600, 0)
#=== posix_shared_memory: refused
from multiprocessing import shared_memory
must_fail(shared_memory.SharedMemory, None, True, 1 << 30)
#=== lock_memory: refused
must_fail(raw, 151, 1)
#=== huge_pages: refused
import mmap
must_fail(lambda: mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000))
#=== deep_structure: refused
def nest():
    inner = []
    while True:
        inner = [inner, bytes(4096)]
must_fail(nest)
#=== many_keys: refused
def fill():
    table = {}
    while True:
        table[len(table)] = bytes(65536)
must_fail(fill)
#=== fill_tmp: refused
def fill():
    for i in range(64):
        with open('/tmp/%d' % i, 'wb') as file:
            file.write(bytes(1 << 20))
must_fail(fill)
#=== big_file: refused
def fill():
    with open('/tmp/file', 'wb') as file:
        while True:
            file.write(bytes(1 << 20))
must_fail(fill)
#=== sparse_file: refused
open('/tmp/file', 'w').close()
must_fail(os.truncate, '/tmp/file', 1 << 40)
#=== allocate_file: refused
file = os.open('/tmp/file', os.O_RDWR | os.O_CREAT)
must_fail(os.posix_fallocate, file, 0, 1 << 30)
#=== fill_root: refused
must_fail(os.mkdir, '/counterbeam_marker')
#=== many_files: timeout
i = 0
while True:
    i += 1
    open('/tmp/%d' % i, 'w').close()
#=== deep_folders: timeout
while True:
    os.mkdir('d')
    os.chdir('d')
#=== flood_output: flood
while True:
    print('x' * 1000)
#=== flood_errors: flood
while True:
    sys.stderr.write('x' * 1000)
#=== flood_raw: flood
while True:
    os.write(1, bytes(65536))
#=== one_long_line: flood
sys.stdout.write('x' * (64 << 20))
#=== loop: timeout
while True:
    pass
#=== loop_in_c: timeout
import itertools
all(itertools.repeat(1))
#=== loop_in_regex: timeout
import re
re.match(r'(a+)+$', 'a' * 64 + 'b')
#=== loop_in_integers: timeout
7 ** 7 ** 12
#=== loop_in_digits: timeout
sys.set_int_max_str_digits(0)
str(3 ** 60000000)
#=== sleep: timeout
import time
time.sleep(1000)
#=== deadlock: timeout
import threading
lock = threading.Lock()
lock.acquire()
lock.acquire()
#=== wait_forever: timeout
import select
select.select([], [], [])
#=== ignore_signals: timeout
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
#=== block_signals: timeout
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    pass
#=== swallow_exceptions: timeout
while True:
    try:
        while True:
            pass
    except BaseException:
        continue
#=== close_output_and_stay: timeout
os.close(1)
os.close(2)
while True:
    pass
#=== busy_threads: timeout
import hashlib, threading
def burn():
    while True:
        hashlib.sha256(bytes(1 << 24)).digest()
for _ in range(8):
    threading.Thread(target=burn).start()
#=== read_input: refused
print('ESCAPED' if sys.stdin.read() else 'refused')
#=== endless_recursion: refused
def down():
    return down()
must_fail(down)
#=== unlimited_recursion: any
sys.setrecursionlimit(10 ** 9)
def down():
    return down()
must_fail(down)
#=== recursion_in_c: any
sys.setrecursionlimit(10 ** 9)
deep = []
for _ in range(10 ** 6):
    deep = [deep]
repr(deep)
#=== deep_syntax: refused
must_fail(eval, '(' * 100000 + ')' * 100000)
#=== compile_bomb: any
must_fail(compile, '-' * 10 ** 6 + '1', 'x', 'eval')
#=== broken_bytecode: any
def f():
    pass
f.__code__ = f.__code__.replace(co_code=b'\xff' * 64)
f()
#=== pipes: refused
import fcntl
def fill():
    ends = []
    while True:
        ends.append(os.pipe())
        fcntl.fcntl(ends[-1][1], 1031, 1 << 20)
must_fail(fill)
#=== descriptors_in_flight: refused
import socket
def fill():
    left, right = socket.socketpair()
    left.setblocking(False)
    while True:
        extra = os.open('/dev/null', os.O_RDONLY)
        socket.send_fds(left, [b'x'], [extra])
        os.close(extra)
must_fail(fill)
#=== timers: any
for _ in range(10 ** 6):
    raw(222, 0, 0, b'\0' * 8)
#=== random_bytes: timeout
while True:
    os.urandom(1 << 24)
#=== zip_bomb: refused
import zlib
def grow():
    data = bytes(64 << 20)
    packed = zlib.compress(data) * 1000
    kept = []
    while True:
        kept.append(zlib.decompressobj().decompress(packed))
must_fail(grow)
