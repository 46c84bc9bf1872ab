#=== fork: refused
must_fail(os.fork)
#=== fork_bomb: refused
for _ in range(10000):
    try:
        os.fork()
    except OSError:
        continue
    print('ESCAPED')
print('refused')
#=== vfork: refused
must_fail(raw, 58)
#=== plain_clone: refused
must_fail(raw, 56, 17, 0, 0, 0, 0)
#=== shared_memory_clone: refused
must_fail(raw, 56, 0x4111, 0, 0, 0, 0)
#=== terminal_fork: refused
must_fail(os.forkpty)
#=== spawn: refused
must_fail(os.posix_spawn, sys.executable, [sys.executable, '-c', 'pass'], {})
#=== subprocess: refused
import subprocess
must_fail(subprocess.run, [sys.executable, '-c', 'print(1)'])
#=== shell: refused
print('refused' if os.system('true') != 0 else 'ESCAPED')
#=== popen: refused
must_fail(os.popen, 'id')
#=== multiprocessing: refused
import multiprocessing
must_fail(multiprocessing.Process(target=print).start)
#=== process_pool: refused
import concurrent.futures
must_fail(lambda: concurrent.futures.ProcessPoolExecutor(2).submit(print).result())
#=== daemon: refused
def leave():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                pass
must_fail(leave)
#=== run_a_shell: refused
must_fail(os.execv, '/bin/sh', ['sh'])
#=== run_from_tmp: refused
with open('/tmp/tool', 'w') as tool:
    tool.write('#!/bin/sh\nid\n')
os.chmod('/tmp/tool', 0o755)
must_fail(os.execv, '/tmp/tool', ['tool'])
#=== again_as_itself: refused
os.execv(sys.executable, [sys.executable, '-S', '-c', '''
import os
try:
    os.fork()
    print('ESCAPED')
except OSError:
    print('refused')
'''])
#=== thread_bomb: refused
import threading, time
def many():
    for _ in range(5000):
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
must_fail(many)
os._exit(0)  # Python may crash if it ends while threads start
#=== small_thread_bomb: refused
import threading, time
threading.stack_size(32768)
def many():
    for _ in range(5000):
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
must_fail(many)
os._exit(0)  # Python may crash if it ends while threads start
#=== raw_thread_bomb: refused
import _thread, time
def many():
    for _ in range(5000):
        _thread.start_new_thread(time.sleep, (100,))
must_fail(many)
os._exit(0)  # Python may crash if it ends while threads start
#=== kill_first: refused
import signal
must_fail(os.kill, 1, signal.SIGKILL)
os.kill(1, signal.SIGTERM)
#=== kill_all: refused
import signal
must_fail(os.kill, -1, signal.SIGKILL)
#=== kill_parent: refused
import signal
must_fail(os.kill, os.getppid(), signal.SIGSTOP)
#=== kill_numbers: refused
import signal
for pid in [*range(3, 40000)]:
    try:
        os.kill(pid, signal.SIGTERM)
        print('ESCAPED', pid)
    except ProcessLookupError:
        pass
print('refused')
#=== kill_self: refused
import signal
must_fail(os.kill, os.getpid(), signal.SIGKILL)
must_fail(signal.raise_signal, signal.SIGKILL)
#=== kill_group: refused
import signal
must_fail(os.killpg, 0, signal.SIGKILL)
#=== kill_by_timer: refused
import ctypes, signal
must_fail(raw, 222, 1, ctypes.byref((ctypes.c_int * 16)(0, 0, signal.SIGKILL)), ctypes.byref(ctypes.c_int()))
#=== kill_by_descriptor: refused
import fcntl, signal
must_fail(fcntl.fcntl, 0, 10, signal.SIGKILL)  # F_SETSIG
#=== kill_by_limit: refused
import resource
must_fail(resource.setrlimit, resource.RLIMIT_CPU, (1, 1))
must_fail(resource.prlimit, 0, resource.RLIMIT_CPU, (1, 1))
#=== exit_as_if_killed: signalled
os._exit(128 + 9)
#=== stop_self: refused
import signal
for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
    must_fail(signal.raise_signal, number)
    must_fail(os.kill, 0, number)
#=== abort: signalled
os.abort()
#=== crash: signalled
import ctypes
ctypes.string_at(0)
#=== exit_quietly: exited
os._exit(0)
#=== left_thread: timeout
import threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
#=== exit_handler: timeout
import atexit, time
atexit.register(time.sleep, 1000)
#=== last_breath: timeout
class Clinging:
    def __del__(self):
        while True:
            pass
kept = Clinging()
