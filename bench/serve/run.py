"""Measures `counterbeam serve` with the shipped model, on 127.0.0.1 alone: bad requests, load,
disconnects, SIGTERM and overhead. `make bench-serve` runs all of it; the counts can be lowered."""
import argparse
import sys

import bad_requests
import disconnects
import load
import overhead
import sigterm


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--disconnects", type=int, default=1000)
    parser.add_argument("--sigterms", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", choices=["bad", "load", "disconnects", "sigterm", "overhead"])
    parser.add_argument("--model", default="", help="folder of a model for the overhead, such as one of "
                        "tools/random_checkpoint.py; the shipped one otherwise")
    options = parser.parse_args()
    model = "tiny-dense"
    parts = {"bad": lambda: bad_requests.run(options.program, model),
             "load": lambda: load.run(options.program, model, options.clients, options.requests),
             "disconnects": lambda: disconnects.run(options.program, model, options.disconnects),
             "sigterm": lambda: sigterm.run(options.program, model, options.sigterms),
             "overhead": lambda: overhead.run(options.program, options.model, options.repeats)}
    good = [part() for name, part in parts.items() if options.only in (None, name)]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
