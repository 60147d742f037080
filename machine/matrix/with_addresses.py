# SPDX-License-Identifier: MIT
"""Runs a tool of bcc, as it is, with the address before each symbol.

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
    # As the kernel's own are compiled since Linux 6.19.
    make(self, *args, cflags=[*cflags, "-fms-extensions"], **kwargs)


# By this name it can be told from the program that it is run by.
with open("/proc/self/comm", "w", encoding="ascii") as comm:
    comm.write("profile-bpfcc")
bcc.BPF.sym = staticmethod(sym)
bcc.BPF.__init__ = init
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
