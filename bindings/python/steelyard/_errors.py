"""What is raised when something cannot work."""

from __future__ import annotations


class Failure(RuntimeError):
    """What is wrong, where, and what to do. `code` is the exit code of the command line for it:

    1 training failed, 2 wrong usage, 69 a peer could not be reached, 74 file or disk, 75 ended on
    request, 76 another release or another job, 78 wrong configuration.
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


USAGE = 2
UNREACHABLE = 69
CONFIGURATION = 78


def refuse(message: str) -> Failure:
    """The exception for what was asked for and cannot be done."""
    return Failure(message, CONFIGURATION)
