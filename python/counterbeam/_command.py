"""`counterbeam`, the command: the program that comes with the wheel."""
import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "counterbeam"
    try:
        os.execv(program, ["counterbeam", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"counterbeam: {program}: {error.strerror}; install the package again")
