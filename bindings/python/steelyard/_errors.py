"""The exception of this package."""

from __future__ import annotations


class Failure(RuntimeError):
    """The message states the error, the place and the remedy. `code` is the exit code that the program
    would return:

    1   training failed
    2   wrong usage
    69  a process or host is lost or cannot be reached
    74  file or disk error
    75  stopped on request or by a temporary problem
    76  another release or another job
    78  wrong configuration
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


USAGE = 2
FILE = 74
UNREACHABLE = 69
CONFIGURATION = 78


def refuse(message: str) -> Failure:
    """The exception for invalid arguments or settings."""
    return Failure(message, CONFIGURATION)
