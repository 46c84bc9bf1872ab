#=== proc: refused
must_fail(os.listdir, '/proc')
#=== proc_environ: refused
must_fail(open, '/proc/self/environ')
#=== proc_mem: refused
must_fail(open, '/proc/self/mem', 'r+b')
#=== proc_one: refused
must_fail(open, '/proc/1/cmdline')
#=== proc_root: refused
must_fail(os.listdir, '/proc/1/root')
#=== proc_sysrq: refused
must_fail(open, '/proc/sysrq-trigger', 'w')
#=== proc_core_pattern: refused
must_fail(open, '/proc/sys/kernel/core_pattern', 'w')
#=== mount_proc: refused
os.mkdir('/tmp/proc')
must_fail(raw, 165, b'proc', b'/tmp/proc', b'proc', 0, 0)
#=== environment: refused
beyond = set(os.environ) - {'PYTHONHASHSEED', 'HOME', 'MALLOC_ARENA_MAX', 'PWD'}
print('ESCAPED' if beyond else 'refused', beyond)
#=== host_name: refused
print('refused' if os.uname().nodename == 'sandbox' else 'ESCAPED')
#=== user: refused
print('refused' if (os.getuid(), os.geteuid()) == (1000, 1000) else 'ESCAPED')
#=== groups: refused
print('refused' if set(os.getgroups()) <= {1000, 65534} else 'ESCAPED', os.getgroups())
#=== other_processes: refused
seen = []
for pid in range(3, 5000):
    try:
        os.kill(pid, 0)
        seen.append(pid)
    except ProcessLookupError:
        pass
print('ESCAPED' if seen else 'refused', seen)
#=== set_host_name: refused
import socket
must_fail(socket.sethostname, 'owned')
#=== set_time: refused
import time
must_fail(time.clock_settime, time.CLOCK_REALTIME, 0)
#=== adjust_time: refused
must_fail(raw, 159, b'\xff' * 208)
#=== reboot: refused
must_fail(raw, 169, 0xfee1dead, 672274793, 0x1234567, 0)
#=== kernel_log: refused
must_fail(raw, 103, 2, b'\0' * 64, 64)
#=== swap: refused
must_fail(raw, 167, b'/tmp/x', 0)
#=== accounting: refused
must_fail(raw, 163, b'/tmp/x')
#=== terminal_input: refused
import fcntl, termios
for number in (0, 1, 2):
    must_fail(fcntl.ioctl, number, termios.TIOCSTI, b'x')
#=== controlling_terminal: refused
must_fail(open, '/dev/tty')
#=== pseudo_terminal: refused
must_fail(os.openpty)
#=== priority: refused
must_fail(os.setpriority, os.PRIO_PROCESS, 0, -20)
#=== nice: refused
must_fail(os.nice, -10)
#=== realtime: refused
must_fail(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))
#=== other_cores: refused
must_fail(os.sched_setaffinity, 0, {0})
#=== io_priority: refused
must_fail(raw, 251, 1, 0, 0)
