"""A steady producer in the background, with checks of its delivery reports."""

import signal
import subprocess
import threading
import time

import support

PROGRAM = "tests/real/steady_producer.c"
FOREVER = 1_000_000_000


class Run:
    """A steady producer in the background, and what it has reported so far."""

    def __init__(self, kafka, topic, count, per_second, *properties, follows_credentials=False):
        self.acked = {}
        self.failed = {}
        self.produced = None
        self.twice = []  # numbers with a delivery report too many
        self.process = support.start(
            support.compiled(PROGRAM), kafka.bootstrap, topic, count, per_second, *properties,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **support.credentials(follows_credentials))
        self.errors = ""
        self.readers = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for reader in self.readers:
            reader.start()

    def _read(self):
        for line in self.process.stdout:
            fate, number, *rest = line.split()
            if fate == "produced":
                self.produced = int(number)
            elif fate == "acked":
                if number in self.acked:
                    self.twice.append(number)
                self.acked[number] = (int(rest[0]), int(rest[1]))
            else:
                self.failed[number] = rest[0]

    def set_credentials(self, user, password):
        support.send_credentials(self.process, user, password)

    def stop(self):
        """Ends the producing; what was produced is still flushed."""
        self.process.send_signal(signal.SIGINT)

    def _read_errors(self):
        self.errors = self.process.stderr.read()

    def wait_for(self, acked, timeout_s=60):
        end = time.monotonic() + timeout_s
        while len(self.acked) < acked:
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"only {len(self.acked)} of {acked} acknowledged: {self.errors}")
            time.sleep(0.02)

    def finish(self, timeout_s=150):
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            status = f"still running after {timeout_s} s"
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join()
        for pipe in filter(None, (self.process.stdin, self.process.stdout, self.process.stderr)):
            pipe.close()
        return status


def stored(cluster, topic):
    """Every message of the topic: [(partition, offset, payload)]."""
    out, _ = support.run("kcat", "-b", cluster.bootstrap, "-C", "-t", topic, "-e", "-q", "-o", "beginning",
                         "-f", "%p %o %s\n", timeout_s=300)
    rows = [row.split(" ") for row in out.decode().splitlines()]
    return [(int(partition), int(offset), payload) for partition, offset, payload in rows]


def disorder(rows):
    """Returns complaints about duplicate and reordered records."""
    found = []
    doubled = len(rows) - len({payload for _, _, payload in rows})
    if doubled:
        found.append(f"{doubled} stored more than once")
    last = {}
    for partition, offset, payload in sorted(rows):
        if int(payload) < last.get(partition, -1):
            found.append(f"partition {partition}: {payload} at offset {offset} lies behind {last[partition]}")
            break
        last[partition] = int(payload)
    return found


def complaints(cluster, topic, run, idempotent=False):
    """Waits for the producer's end; returns what is wrong, as texts: nothing may fail or be lost.

    Records of an idempotent producer are there once, in the order of production in each partition.
    """
    status = run.finish()
    found = []
    if status != 0:
        found.append(f"the producer's exit status is {status}: {run.errors[-1000:]}")
    if run.failed:
        found.append(f"{len(run.failed)} messages failed: {dict(list(run.failed.items())[:5])}")
    if run.twice:
        found.append(f"{len(run.twice)} delivery reports too many: {run.twice[:5]}")
    if run.produced is None or len(run.acked) != run.produced:
        found.append(f"{run.produced} produced, {len(run.acked)} acknowledged")
    rows = stored(cluster, topic)
    if idempotent:
        found += disorder(rows)
    at = {(partition, offset): payload for partition, offset, payload in rows}
    there = set(at.values())
    lost = [number for number in run.acked if number not in there]
    if lost:
        found.append(f"{len(lost)} acknowledged but not stored: {lost[:5]}")
    # Where the report said it is, there it is (-1: the broker could not say).
    wrong = [number for number, place in run.acked.items() if place[1] >= 0 and at.get(place) != number]
    if wrong:
        found.append(f"{len(wrong)} stored elsewhere than reported: {[(n, run.acked[n]) for n in wrong[:5]]}")
    return found
