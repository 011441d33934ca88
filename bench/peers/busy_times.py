"""Samples the processor time of threads of other processes: python busy_times.py PID...

Every half millisecond, prints one line per thread that has computed since the last sample: time.monotonic_ns(), pid,
thread, nanoseconds. Exits at the end of its input.
"""
import os
import select
import sys
import time


def spent(pid, thread):
    with open(f'/proc/{pid}/task/{thread}/schedstat') as file:
        return int(file.read().split()[0])


def readings(pids):
    for pid in pids:
        try:
            for thread in os.listdir(f'/proc/{pid}/task'):
                yield (pid, thread), spent(pid, thread)
        except OSError:  # it has exited
            pass


def main():
    pids, before = sys.argv[1:], {}
    while not select.select([sys.stdin], [], [], 0.0005)[0]:
        now = time.monotonic_ns()
        for thread, total in readings(pids):
            if (passed := total - before.get(thread, total)) > 0:
                print(now, *thread, passed)
            before[thread] = total


if __name__ == '__main__':
    main()
