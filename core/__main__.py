"""Hand `python -m core` over to the command line, which is the package `cli` now.

The core imports nothing from it: the module is run by its name.
"""

import sys
from runpy import run_module

from core.errors import PROGRAM

if __name__ == "__main__":
    print(f"The command line is now called {PROGRAM}: write `{PROGRAM}` instead of `python -m core`.", file=sys.stderr)
    run_module("cli", run_name="__main__", alter_sys=True)
