"""Tests of the model of threads at partitions' locks."""

import unittest

import lock_model


class LockModel(unittest.TestCase):
    def test_defaults_are_fitted_to_two_threads(self):
        met, speed = lock_model.simulate(2, 8, 0.055, 0.68, seed=1)
        self.assertAlmostEqual(met, 0.009, delta=0.002)
        self.assertGreater(speed, 0.98)

    def test_rate_ends_at_the_locks(self):
        # One partition serves one record at a time: ten threads cannot be faster than its lock.
        met, speed = lock_model.simulate(10, 1, 0.5, 1.0, seed=1)
        self.assertGreater(met, 0.9)
        self.assertAlmostEqual(speed, 0.2, delta=0.01)

    def test_threads_of_their_own_partitions_hardly_wait(self):
        met, speed = lock_model.simulate(4, 100_000, 0.055, 0.68, seed=1)
        self.assertLess(met, 0.0005)
        self.assertAlmostEqual(speed, 1, delta=0.01)


if __name__ == "__main__":
    unittest.main()
