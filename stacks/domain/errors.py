"""Errors that a user can fix, and their exit codes.

KitError                 message + hint, no traceback
├── InputError      (2)  the file or the command line is wrong; may carry findings
├── WorldError      (3)  AWS, or the machine, says no: quota, capacity, permission, leftovers found
└── JobFailedError  (4)  the job ran and failed

Anything else that escapes is a bug of ours: exit code 1 and a traceback that asks for a report.
"""

from __future__ import annotations


class KitError(Exception):
    """What went wrong in the user's terms, and what to do about it."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(KitError):
    exit_code = 2


class WorldError(KitError):
    exit_code = 3


class JobFailedError(KitError):
    exit_code = 4
