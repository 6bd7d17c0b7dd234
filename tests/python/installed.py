#!/usr/bin/env python3
"""The package as installed by cmake --install finds its library next to it. usage: installed.py PREFIX VERSION"""

import os
import sys

import goodput
import goodput.kubernetes.__main__
from goodput.interface import library_path

PREFIX, VERSION = sys.argv[1:]
assert goodput.__file__.startswith(PREFIX), goodput.__file__
assert os.path.realpath(library_path(1)).startswith(os.path.realpath(PREFIX)), library_path(1)
assert goodput.version() == VERSION, goodput.version()
assert goodput.allot([1], [{"options": [{"value": 1, "use": [[0, 1]]}]}])["choice"] == [0]
