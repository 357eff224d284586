"""How much of the processor other processes take, from /proc; unknown where there is none."""
import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
TICK_S = os.sysconf("SC_CLK_TCK") if STAT.exists() else None


def machine_ticks():
    """Of all cores: user, nice, system, irq, softirq, steal."""
    fields = [int(text) for text in STAT.read_text().split("\n", 1)[0].split()[1:]]
    return sum(fields[:3]) + sum(fields[5:8])


def process_ticks(pid):
    """User and system time of one process; its name may hold spaces, so fields count from the last bracket."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class Busy:
    """What processes other than `pid` take of all cores from now on."""

    def __init__(self, pid=None):
        self.pid = pid
        self.start = self.now()

    def now(self):
        if TICK_S is None:
            return None
        return time.monotonic(), machine_ticks() - process_ticks(self.pid or os.getpid())

    def others(self):
        """0 to 1, or None where it cannot be known."""
        if self.start is None:
            return None
        (begin, before), (end, after) = self.start, self.now()
        return max(0.0, (after - before) / TICK_S / ((end - begin) * os.cpu_count()))


def wait_for_quiet(limit, patience_s):
    """Returns once other processes took less than `limit` for a moment, or after `patience_s`."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        busy = Busy()
        time.sleep(0.3)
        share = busy.others()
        if share is None or share <= limit:
            return
