# Comes before every hostile program. An attack that is refused says so; one that succeeds prints
# ESCAPED, which no test forgives. Raw system calls go by their x86-64 numbers.
import os, sys

def must_fail(attack, *arguments):
    try:
        result = attack(*arguments)
    except Exception as error:
        print('refused', type(error).__name__, error, flush=True)
    else:
        print('ESCAPED', repr(result)[:200], flush=True)

def raw(number, *arguments):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, *arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), 'syscall %d' % number)
    return result

