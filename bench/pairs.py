"""How two libraries' figures compare."""

import statistics


def ratio(ours, theirs, figure):
    """The median of what one is to the other in each round; not a number where there was nothing to measure."""
    rounds = list(zip(ours["rounds"][figure], theirs["rounds"][figure], strict=True))
    if not all(other for _, other in rounds):
        return float("nan")
    return statistics.median(own / other for own, other in rounds)
