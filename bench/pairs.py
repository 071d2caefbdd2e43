"""Ratios of two libraries' figures."""

import statistics


def ratio(ours, theirs, figure):
    """The median of what one is to the other in each round; not a number where there was nothing to measure."""
    found = ratios(ours, theirs, figure)
    return statistics.median(found) if found else float("nan")


def ratios(ours, theirs, figure):
    """Returns the ratio in each round; none where there was nothing to measure."""
    rounds = list(zip(ours["rounds"][figure], theirs["rounds"][figure], strict=True))
    return [own / other for own, other in rounds] if all(other for _, other in rounds) else []
