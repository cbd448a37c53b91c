"""Locks on single bytes of a file, which the system releases with the process that has them.

POSIX record locks (which work over NFS) where there are such, Windows' byte-range locks there.
"""

from __future__ import annotations

import errno
import os
import sys
import time

if sys.platform == "win32":
    import msvcrt

    TAKEN = (errno.EACCES, errno.EDEADLK)

    # Its C library counts in 32 bits. Two offsets that come to the same byte are two locks that
    # exclude each other, which no caller can tell from another process's.
    SIZE = 1 << 30

    def try_lock(descriptor: int, offset: int) -> bool:
        """Locks the byte at `offset`; False if another process has it."""
        os.lseek(descriptor, offset % SIZE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in TAKEN:
                return False
            raise
        return True

    def lock(descriptor: int, offset: int) -> None:
        """Locks the byte at `offset`, however long another process has it."""
        while not try_lock(descriptor, offset):
            time.sleep(0.05)

    def unlock(descriptor: int, offset: int) -> None:
        """Releases the byte at `offset`."""
        os.lseek(descriptor, offset % SIZE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def try_lock(descriptor: int, offset: int) -> bool:
        """Locks the byte at `offset`; False if another process has it."""
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise
        return True

    def lock(descriptor: int, offset: int) -> None:
        """Locks the byte at `offset`, however long another process has it."""
        fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, offset)

    def unlock(descriptor: int, offset: int) -> None:
        """Releases the byte at `offset`."""
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, offset)
