"""The program: python -m fre_e2t is fre-e2t."""

import os
import pathlib
import sys


def main() -> None:
    """In the place of this process, with its arguments."""
    program = pathlib.Path(__file__).parent / "bin" / "fre-e2t"
    os.execv(program, ["fre-e2t", *sys.argv[1:]])


if __name__ == "__main__":
    main()
