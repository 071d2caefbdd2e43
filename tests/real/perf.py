"""rdkafka_performance: its command lines, running it, and what it prints."""

import os
import re
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

COUNT = 500_000

# The four runs of librdkafka's introduction. Brokers: localhost:9092.
CLASSIC = {
    "two brokers, acks 2": ["-S", "1", "-a", "2", "-m", "_____________Test1:TwoBrokers:500kmsgs:100bytes"],
    "one broker, acks 0": ["-S", "1", "-a", "0", "-p", "1", "-m", "_____________Test2:OneBrokers:500kmsgs:100bytes"],
    "two brokers, snappy": ["-S", "1", "-a", "2", "-z", "snappy",
                            "-m", "_____________Test3:TwoBrokers:500kmsgs:100bytes:snappy"],
    "two brokers, gzip": ["-S", "1", "-a", "2", "-z", "gzip",
                          "-m", "_____________Test4:TwoBrokers:500kmsgs:100bytes:gzip"],
}

# % 500000 messages and 50000000 bytes produced in 587ms: 851531 msgs/s and 85.15 MB/s, 0 messages failed, no compression
SUMMARY = re.compile(
    r"^% (?P<messages>\d+) messages\b.*?\bin (?P<ms>\d+) ?ms: (?P<rate>\d+) msgs/s and (?P<mb>[\d.]+) M[Bb]/s"
    r"(?:, (?P<failed>\d+) (?:messages )?failed)?(?:, (?P<codec>\w+) compression)?", re.M)


# % cpu us 350211
CPU = re.compile(r"^% cpu us (?P<us>\d+)", re.M)
# % latency us p50 310 p99 805 max 4022
LATENCY = re.compile(r"^% latency us p50 (?P<p50>\d+) p99 (?P<p99>\d+)", re.M)

# % held at most 100000 messages
HELD = re.compile(r"^% held at most (?P<messages>\d+) messages", re.M)


def produce_command(program, topic, options, count=COUNT):
    return [str(program), "-P", "-t", topic, "-s", "100", "-c", str(count), *options]


@dataclass
class Measured:
    """One run of a program: its summary line and what it cost."""

    output: str
    status: int
    summary: re.Match
    wall_s: float
    cpu_s: float
    threads_max: int
    rss_kib_max: int
    # Microseconds, of runs that say them.
    p50_us: float = 0
    p99_us: float = 0
    # Messages that a producer held at most, of runs that say them.
    held_max: int = 0
    # Bytes that the brokers stored, where that was looked at.
    stored: int = 0
    # User and system CPU time of the brokers, where that was looked at.
    brokers_cpu_s: float = 0

    @property
    def messages(self):
        return int(self.summary["messages"])

    @property
    def rate(self):
        return int(self.summary["rate"])

    @property
    def failed(self):
        return int(self.summary["failed"] or 0)

    @property
    def cpu_us(self):
        """User and system CPU time per message, in microseconds."""
        return self.cpu_s * 1e6 / max(1, self.messages)

    @property
    def brokers_cpu_us(self):
        return self.brokers_cpu_s * 1e6 / max(1, self.messages)


def cpu_s_of(processes):
    """Returns the user and system CPU time that these running processes have used so far, all threads included."""
    # The number of a process's clock is that of clock_getcpuclockid(3). /proc counts in units of 10 ms.
    return sum(time.clock_gettime(~process.pid << 3 | 2) for process in processes)


def measure(command, lib_dir, timeout_s=120, brokers=()):
    """Runs `command` on the library in `lib_dir` and measures it, and the CPU time of the processes in `brokers`."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(lib_dir), "LC_ALL": "C"}
    begin, brokers_begin = time.monotonic(), cpu_s_of(brokers)
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    killer = threading.Timer(timeout_s, process.kill)
    killer.start()
    peak = Peak(process.pid)
    output = process.stdout.read().decode(errors="replace")
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    killer.cancel()
    peak.join()
    # The last line counts: the program prints interim lines of the same form.
    summaries = list(SUMMARY.finditer(output))
    cpu = CPU.search(output)
    cpu_s = float(cpu["us"]) / 1e6 if cpu else usage.ru_utime + usage.ru_stime
    latency = LATENCY.search(output)
    p50, p99 = (float(latency["p50"]), float(latency["p99"])) if latency else (0, 0)
    held = HELD.search(output)
    return Measured(output, process.returncode, summaries[-1] if summaries else None, time.monotonic() - begin,
                    cpu_s, peak.threads, peak.rss_kib, p50, p99, int(held["messages"]) if held else 0,
                    brokers_cpu_s=cpu_s_of(brokers) - brokers_begin)


class Peak(threading.Thread):
    """Keeps the largest number of threads and the most memory seen, until the process is gone.

    What wait4() says of memory is no less than what the process had that started it.
    """

    def __init__(self, pid, interval_s=0.01):
        super().__init__(daemon=True)
        self.status = Path(f"/proc/{pid}/status")
        self.interval_s = interval_s
        self.threads = 0
        self.rss_kib = 0
        self.start()

    def run(self):
        while True:
            try:
                text = self.status.read_text()
            except OSError:
                return
            threads = re.search(r"^Threads:\s+(\d+)", text, re.M)
            if threads is None or "\nState:\tZ" in text:
                return
            self.threads = max(self.threads, int(threads[1]))
            # The high-water mark of the program that runs now.
            memory = re.search(r"^VmHWM:\s+(\d+) kB", text, re.M)
            self.rss_kib = int(memory[1]) if memory else self.rss_kib
            time.sleep(self.interval_s)
