# SPDX-License-Identifier: MIT
"""Runs a tool of bcc, as it is, with the address before each symbol.

usage: with_addresses.py TOOL ARGUMENT...
"""
import runpy
import sys

import bcc

symbol = bcc.BPF.sym


def sym(addr, pid, *args, **kwargs):
    return b"%x %s" % (addr, symbol(addr, pid, *args, **kwargs))


bcc.BPF.sym = staticmethod(sym)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
