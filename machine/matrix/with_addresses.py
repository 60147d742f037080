# SPDX-License-Identifier: MIT
"""Runs an unmodified tool of bcc so that it prints the address before each symbol.

usage: with_addresses.py TOOL ARGUMENT...
"""
import runpy
import sys

import bcc

symbol = bcc.BPF.sym
make = bcc.BPF.__init__


def sym(addr, pid, *args, **kwargs):
    return b"%x %s" % (addr, symbol(addr, pid, *args, **kwargs))


def init(self, *args, cflags=(), **kwargs):
    # The kernel itself has been compiled with this since Linux 6.19.
    make(self, *args, cflags=[*cflags, "-fms-extensions"], **kwargs)


# The name distinguishes it from the python3 that is profiled.
with open("/proc/self/comm", "w", encoding="ascii") as comm:
    comm.write("profile-bpfcc")
bcc.BPF.sym = staticmethod(sym)
bcc.BPF.__init__ = init
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
