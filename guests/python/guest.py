"""A guest of lockbench: one client of a lock library of PyPI. guest.py LOCK [OPTION=VALUE ...]"""
import sys

from adapters import ADAPTERS
from options import read
from protocol import Guest

name, *words = sys.argv[1:] or [""]
try:
    if name not in ADAPTERS:
        raise ValueError(f"no lock {name}; there are {', '.join(ADAPTERS)}")
    adapter = ADAPTERS[name]
    options = read(name, adapter.options, words)
except ValueError as e:
    print(f"guest: {e}", file=sys.stderr)
    sys.exit(64)
Guest(name, adapter, options).serve()
