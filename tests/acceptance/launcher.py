"""Start a program under a restriction: `launcher.py plain file-size=4096 -- command …`.

plain: as a user who can't write what file modes forbid (root could). file-size: no file may grow
past so many bytes, which is what a full disk looks like to whoever appends to one. umask: octal.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER = 1, 2, 3


def become_plain() -> None:
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "cannot give up root's way around file modes")


def main() -> None:
    cut = sys.argv.index("--")
    for word in sys.argv[1:cut]:
        name, _, value = word.partition("=")
        if name == "plain":
            become_plain()
        elif name == "file-size":
            # A cache file cut short at the limit would spoil later runs.
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(value), resource.RLIM_INFINITY))
        elif name == "umask":
            os.umask(int(value, 8))
        else:
            raise SystemExit(f"unknown restriction {word}")
    command = sys.argv[cut + 1 :]
    os.execv(command[0], command)


main()
