"""What the benchmark does with a producer: one row a workload."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Produce:
    """A run of bench_producer. `share`: its messages as a part of --count."""

    name: str
    options: tuple
    partitions: int = 2
    share: float = 1.0
    # The least that is wanted of ours / theirs: {figure: limit}. Rates are to be at least, all else at most.
    goals: dict = field(default_factory=dict)
    # Whether the bytes that brokers store are compared, too.
    stored: bool = False


def codec(name, cpu):
    return Produce(name, ("-X", f"compression.codec={name}"), goals={"cpu": cpu, "stored": 1.05}, stored=True)


PRODUCERS = [
    Produce("lent payload, linger 50 ms", ("-f", "lend", "-X", "linger.ms=50"), goals={"cpu": 0.45, "rate": 1.1}),
    Produce("copied payload", (), goals={"cpu": 0.5}),
    Produce("given payload", ("-f", "give"), goals={"cpu": 0.5}),
    Produce("1 kB, copied", ("-s", "1000"), share=0.25, goals={"cpu": 0.5}),
    Produce("idempotent", ("-X", "enable.idempotence=true"), goals={"cpu": 0.4}),
    codec("lz4", 0.65),
    codec("snappy", 0.65),
    codec("zstd", 0.8),
    codec("gzip", 0.45),
    Produce("500 partitions, keyed", ("-k",), partitions=500, goals={"cpu": 0.35, "rate": 6}),
    Produce("one at a time, acks all", ("-1", "-X", "linger.ms=0", "-X", "acks=all"), share=0.004,
            goals={"p50": 1.0, "p99": 1.1, "cpu": 0.6}),
    Produce("4 threads on one client", ("-n", "4"), goals={"cpu": 0.5}),
]
