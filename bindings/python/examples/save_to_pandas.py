"""Reads the rows of a save file into pandas: `python save_to_pandas.py FILE`."""

import sys

import pandas

import nowcast

rows = nowcast.read_save(sys.argv[1])
if len(rows) == 1 and isinstance(rows[0], list):
    rows = rows[0]  # the file has one value, which is a list
print(pandas.DataFrame(rows).describe(include="all"))
