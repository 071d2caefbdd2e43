"""What can happen to brokers: kinds of faults at places and for times drawn by chance.

A kind draws from a source of chance and gives a `Fault`: what is done, how long it
lasts, how it is undone. When it is undone every broker runs, if not yet caught up.
"""

from dataclasses import dataclass
from typing import Callable


@dataclass
class Fault:
    text: str
    lasts_s: float
    begin: Callable
    end: Callable


def _nodes(cluster, rng, how_many):
    return rng.sample(list(cluster.nodes()), how_many)


def _killed(cluster, nodes, lasts_s):
    def begin():
        for node in nodes:
            cluster.kill(node)

    def end():
        for node in nodes:
            cluster.start_node(node, wait=False)

    return Fault(f"node {', '.join(map(str, nodes))} for {lasts_s:.1f} s", lasts_s, begin, end)


def _frozen(cluster, nodes, lasts_s):
    def begin():
        for node in nodes:
            cluster.freeze(node)

    def end():
        for node in nodes:
            cluster.thaw(node)

    return Fault(f"node {', '.join(map(str, nodes))} for {lasts_s:.1f} s", lasts_s, begin, end)


def kill(cluster, rng):
    """SIGKILL; started again after a while."""
    return _killed(cluster, _nodes(cluster, rng, 1), rng.uniform(0.5, 8))


def kill_two(cluster, rng):
    """SIGKILL to two of three: no partition takes a record, no controller is elected."""
    return _killed(cluster, _nodes(cluster, rng, 2), rng.uniform(0.5, 6))


def freeze(cluster, rng):
    """SIGSTOP, later SIGCONT: for less and for more time than sessions and requests last."""
    return _frozen(cluster, _nodes(cluster, rng, 1), rng.uniform(2, 40))


def freeze_all(cluster, rng):
    """SIGSTOP to all: nobody answers, and then everybody answers what is long past."""
    return _frozen(cluster, list(cluster.nodes()), rng.uniform(2, 15))


def kill_and_freeze(cluster, rng):
    """One is killed while another stands still."""
    killed, frozen = _nodes(cluster, rng, 2)
    lasts_s = rng.uniform(2, 20)
    kill, freeze = _killed(cluster, [killed], lasts_s), _frozen(cluster, [frozen], lasts_s)

    def begin():
        freeze.begin()
        kill.begin()

    def end():
        kill.end()
        freeze.end()

    return Fault(f"node {killed} killed, node {frozen} frozen for {lasts_s:.1f} s", lasts_s, begin, end)


def stop(cluster, rng):
    """An orderly stop, which elects other leaders first; started again after a while."""
    (node,) = _nodes(cluster, rng, 1)
    lasts_s = rng.uniform(0, 10)
    return Fault(f"node {node} for {lasts_s:.1f} s", lasts_s,
                 lambda: cluster.shut_down(node), lambda: cluster.start_node(node, wait=False))


KINDS = [kill, kill_two, freeze, freeze_all, kill_and_freeze, stop]
