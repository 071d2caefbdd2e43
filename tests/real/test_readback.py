"""That the soak's check notices what it is there for. Needs no broker."""

import tempfile
import unittest

import readback


def report(offset, partition=0, error=0, status=readback.PERSISTED, times=1):
    return readback.REPORT.pack(offset, 1000, partition, error, status, times)


def row(number, offset, partition=0):
    return partition, offset, b"%d " % number + b"x" * readback.filler_length(number)


class Check(unittest.TestCase):
    """Four messages, stored at offsets 0 to 3 of one partition unless a test says otherwise."""

    def reports(self, *changed):
        packed = [report(offset) for offset in range(4)]
        for number, one in changed:
            packed[number] = one
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"".join(packed))
            file.flush()
            return readback.Reports(file.name, 4)

    def kinds(self, rows, *changed):
        findings, _ = readback.check(rows, self.reports(*changed))
        return set(findings.counts)

    def test_all_in_order(self):
        self.assertEqual(self.kinds([row(n, n) for n in range(4)]), set())
        self.assertEqual(self.reports().complaints().counts, {})

    def test_a_lost_message(self):
        self.assertEqual(self.kinds([row(n, n) for n in (0, 1, 3)]), {"acknowledged but not stored"})

    def test_a_double_message(self):
        rows = [*(row(n, n) for n in range(4)), row(3, 4)]
        self.assertEqual(self.kinds(rows), {"stored more than once", "out of order", "stored elsewhere than reported"})

    def test_messages_out_of_order(self):
        changed = [(1, report(2)), (2, report(1))]
        self.assertEqual(self.kinds([row(0, 0), row(2, 1), row(1, 2), row(3, 3)], *changed), {"out of order"})

    def test_offsets_out_of_order(self):
        self.assertIn("read out of order", self.kinds([row(1, 1), row(0, 0), row(2, 2), row(3, 3)]))

    def test_a_message_elsewhere(self):
        self.assertEqual(self.kinds([row(0, 0), row(1, 1), row(2, 2), row(3, 9)]), {"stored elsewhere than reported"})
        self.assertEqual(self.kinds([row(0, 0), row(1, 1), row(2, 2), row(3, 3, partition=1)]),
                         {"stored elsewhere than reported"})

    def test_an_offset_that_the_broker_did_not_say(self):
        self.assertEqual(self.kinds([row(n, n) for n in range(4)], (2, report(-1))), set())

    def test_changed_bytes(self):
        self.assertIn("stored, but never produced so", self.kinds([row(0, 0), row(1, 1), row(2, 2), (0, 3, b"3 short")]))

        self.assertIn("stored, but never produced so", self.kinds([row(0, 0), row(1, 1), row(2, 2), (0, 3, b"?")]))

    def test_failed_messages(self):
        rows = [row(n, n) for n in range(4)]
        for status, missing, stored in (
                (readback.NOT_PERSISTED, set(), {"stored, but reported as not persisted"}),
                (readback.POSSIBLY_PERSISTED, set(), set())):
            changed = (3, report(-1, error=-192, status=status))
            self.assertEqual(self.kinds(rows[:3], changed), missing)
            self.assertEqual(self.kinds(rows, changed), stored)

    def test_reports(self):
        for changed, kind in ((report(3, times=0), "not reported once"), (report(3, times=2), "not reported once"),
                              (report(3, status=readback.NOT_PERSISTED), "acknowledged, yet not said to be persisted"),
                              (report(-1, error=-192), "failed, yet said to be persisted")):
            self.assertEqual(set(self.reports((3, changed)).complaints().counts), {kind})

    def test_two_readers_that_differ(self):
        rows = [row(n, n) for n in range(4)]
        self.assertNotEqual(readback.check(rows, self.reports())[1], readback.check(rows[:3], self.reports())[1])


if __name__ == "__main__":
    unittest.main()
