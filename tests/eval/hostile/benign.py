# Programs that compute solve(n) == 2 * n in honest, unusual ways.
#=== plain
def solve(n):
    return 2 * n
#=== prints
print('loading')
def solve(n):
    print('called with', n)
    return 2 * n
#=== lambda_function
solve = lambda n: 2 * n
#=== callable_object
class Double:
    def __call__(self, n): return 2 * n
solve = Double()
#=== main_guard
def solve(n):
    return 2 * n
if __name__ == '__main__':
    raise SystemExit('not when imported')
#=== future_annotations
from __future__ import annotations
def solve(n: Undefined) -> Undefined:
    return 2 * n
#=== data_class
from __future__ import annotations
from dataclasses import dataclass
@dataclass
class Box:
    value: int
def solve(n):
    return Box(2 * n).value
#=== threads
import threading
def solve(n):
    found = []
    workers = [threading.Thread(target=found.append, args=(n,)) for _ in range(2)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    return sum(found)
#=== thread_pool
from concurrent.futures import ThreadPoolExecutor
def solve(n):
    with ThreadPoolExecutor(4) as pool:
        return sum(pool.map(lambda x: n, range(2)))
#=== event_loop
import asyncio
async def later(n):
    await asyncio.sleep(0)
    return 2 * n
def solve(n):
    return asyncio.run(later(n))
#=== temporary_file
import tempfile
def solve(n):
    with tempfile.TemporaryFile('w+') as file:
        file.write(str(2 * n))
        file.seek(0)
        return int(file.read())
#=== deep_recursion
import sys
sys.setrecursionlimit(20000)
def add(n, times):
    return n if times == 0 else add(n, times - 1)
def solve(n):
    return add(2 * n, 10000)
#=== cached
from functools import lru_cache
@lru_cache(None)
def solve(n):
    return 2 * n
#=== many_imports
import bisect, collections, copy, datetime, decimal, fractions, functools, hashlib, heapq
import itertools, json, math, operator, random, re, statistics, string, time, typing, ctypes
def solve(n):
    return int(decimal.Decimal(n) + fractions.Fraction(n).numerator)
#=== boolean_subclass
import enum
class Value(enum.IntEnum):
    A = 1
def solve(n):
    return Value.A * 2 * n
#=== float_for_integer
def solve(n):
    return float(2 * n)
#=== catches_its_errors
def solve(n):
    try:
        raise SystemExit
    except SystemExit:
        return 2 * n
#=== shadows_builtins
list = dict = str = int = type = len = None
def solve(n):
    return 2 * n
#=== non_ascii
def solve(n):
    """Verdoppelt, 二倍."""
    größe = n
    return 2 * größe
#=== uses_helper
def solve(n):
    return helper(n)
#=== closes_output
import sys
sys.stdout.close()
sys.stderr.close()
def solve(n):
    return 2 * n
