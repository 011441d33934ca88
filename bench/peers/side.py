"""A process that answers each line with one line: steelyard_step, torch_step.py or torch_ddp.py."""
import subprocess
import tempfile


class Broken(Exception):
    """A side exited; the text is its last line of output."""


class Side:
    def __init__(self, *command, environment=None):
        self.errors = tempfile.TemporaryFile('w+')
        self.process = subprocess.Popen([str(it) for it in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, env=environment)

    def ask(self, *command):
        """Sends a command and returns the words of the answer."""
        self.tell(*command)
        return self.answer()

    def tell(self, *command):
        try:
            print(*command, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # answer() reports the cause

    def answer(self):
        words = self.process.stdout.readline().split()
        if words:
            return words[1:]
        self.process.wait()
        self.errors.seek(0)
        raise Broken((self.errors.read().strip().splitlines() or ['it exited without output'])[-1])

    def end(self):
        self.process.stdin.close()
        self.process.wait()
