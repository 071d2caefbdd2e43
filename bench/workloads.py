"""The workloads of the benchmark for producers and consumers, one per row."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Produce:
    """A run of bench_producer. `share`: its messages as a part of --count."""

    name: str
    options: tuple
    partitions: int = 2
    replicas: int = 1
    share: float = 1.0
    # All runs write to one topic: what brokers do at a partition's first batch is not what is measured.
    warm: bool = False
    # Runs of it differ more from each other than those of other rows: it takes more rounds, MORE_ROUNDS times as many.
    varies: bool = False
    size: int = 100
    # The application's producing threads.
    threads: int = 1
    # The least that is wanted of ours / theirs: {figure: limit}. Rates are to be at least, all else at most.
    goals: dict = field(default_factory=dict)
    # Our rate is to be that part of our rate in the row of this name, or more.
    rate_of: str = ""
    rate_part: float = 1.0
    # Compares the bytes that brokers store, too.
    stored: bool = False
    # Properties for the Java client; none where its tool has nothing like it (keys, lent payloads, several threads,
    # one message at a time).
    java: dict | None = None
    # Options for the Java tool itself.
    java_options: tuple = ()
    # On the listener with TLS.
    tls: bool = False
    # The messages of a run in place of a share.
    messages: int = 0

    @property
    def arguments(self):
        threads = ("-n", str(self.threads)) if self.threads > 1 else ()
        return ("-s", str(self.size), *threads, *self.options)

    @property
    def application_threads(self):
        """With one producing thread it is the program's first, which otherwise waits for them."""
        return self.threads + (self.threads > 1)


    @property
    def all_goals(self):
        return self.goals | COMMON


# Goals of every producer's row: memory, ours / theirs; threads, beyond the application's.
COMMON = {"rss": 1.0, "threads": 3}


# The factor of rounds for rows that need more of them: rows of one library differ less than two libraries do, and some
# rows vary.
MORE_ROUNDS = 2


def codec(name, cpu):
    return Produce(name, ("-X", f"compression.codec={name}"), goals={"cpu": cpu, "stored": 1.05}, stored=True,
                   java={"compression.type": name})


def exactly_once(once, transactions, replicas):
    """The cost of exactly once for the producer: 3 % in Kafka's announcement."""
    return (
        Produce(once, ("-X", "acks=all", "-X", "max.in.flight=1"), replicas=replicas, size=1000, share=2,
                java={"max.in.flight.requests.per.connection": "1"}),
        Produce(transactions, ("-T", "100", "-X", "transactional.id=bench"), replicas=replicas, size=1000, share=2,
                rate_of=once, rate_part=0.97, java={"enable.idempotence": "true", "transactional.id": "bench-java"},
                java_options=("--transaction-duration-ms", "100")),
    )


# Where a run with a share of 1 would be over in a few hundred milliseconds, it has several times the messages: its
# beginning and its end are not what is measured.
PRODUCERS = [
    Produce("lent payload, linger 50 ms", ("-f", "lend", "-X", "linger.ms=50"), share=6,
            goals={"cpu": 0.45, "rate": 1.1}),
    Produce("copied payload", (), share=6, goals={"cpu": 0.5}, java={}),
    Produce("given payload", ("-f", "give"), share=6, goals={"cpu": 0.5}),
    Produce("1 kB, copied", (), size=1000, share=3, varies=True, goals={"cpu": 0.5}, java={}),
    Produce("idempotent", ("-X", "enable.idempotence=true"), share=6, goals={"cpu": 0.4},
            java={"enable.idempotence": "true"}),
    codec("lz4", 0.65),
    codec("snappy", 0.65),
    codec("zstd", 0.8),
    codec("gzip", 0.45),
    Produce("500 partitions, keyed", ("-k",), partitions=500, warm=True, share=9, varies=True,
            goals={"cpu": 0.35, "rate": 6}),
    Produce("one at a time, acks all", ("-1", "-X", "linger.ms=0", "-X", "acks=all"), share=0.04,
            goals={"p50": 1.0, "p99": 1.1, "cpu": 0.6}),
    Produce("4 threads on one client", (), threads=4, share=6, goals={"cpu": 0.5}, rate_of="copied payload"),
    *exactly_once("1 kB, one request in flight", "1 kB, transactions of 100 ms", replicas=1),
    # acks=all waits for a follower, as in any use of exactly once.
    *exactly_once("1 kB, 2 replicas, one request in flight", "1 kB, 2 replicas, transactions of 100 ms", replicas=2),
    Produce("tls, 1 kB, copied", (), size=1000, share=3, varies=True, tls=True, goals={"cpu": 0.75}),
    Produce("tls, copied payload", (), share=6, tls=True, goals={"cpu": 0.5}),
    Produce("tls, one at a time, acks all", ("-1", "-X", "linger.ms=0", "-X", "acks=all"), share=0.04, tls=True,
            goals={"p99": 1.0}),
    # The leader may be the bootstrap broker, to which a connection is open, or not.
    Produce("tls, a new client's first message", ("-N", "-X", "linger.ms=0"), messages=100, varies=True, tls=True,
            goals={"p50": 0.7}),
]


@dataclass(frozen=True)
class Consume:
    """A run of bench_consumer in one of its modes.

    `filled`: the topic holds that part of --count messages, which bench_producer wrote with `codec`; none: it is empty.
    """

    name: str
    mode: str
    # The count of the mode: a part of --count when smaller than the number of messages, otherwise repetitions or seconds.
    count: float = 1.0
    partitions: int = 2
    filled: float = 0
    codec: str = "none"
    size: int = 100
    # Written with keys, so that all partitions are filled at once.
    keyed: bool = False
    # Brokers of a cluster of its own; 0 is the cluster of all others.
    brokers: int = 0
    # The application's threads.
    application_threads: int = 1
    goals: dict = field(default_factory=dict)
    # The unit in place of a rate on the page, or "".
    counts: str = ""
    rate_of: str = ""
    rate_part: float = 1.0
    # On the listener with TLS.
    tls: bool = False

    @property
    def all_goals(self):
        return self.goals

    def counted(self, count):
        return round(self.count) if self.counts else max(1, round(self.count * count))


# Goals of reading with default limits.
READING = {"rss": 0.7, "threads": 3}
READING_TLS = {"rss": 1.0, "threads": 3}

CONSUMERS = [
    Consume("consumer, one message a call", "poll", count=4, filled=4, goals={"rate": 4, "cpu": 0.3} | READING),
    Consume("consumer, 10,000 a call", "batch", count=4, filled=4, goals={"rate": 1.5, "cpu": 0.45} | READING),
    Consume("consumer, lz4, 1 kB", "poll", filled=1, codec="lz4", size=1000, goals={"cpu": 0.7, "threads": 3}),
    Consume("consumer, zstd, 1 kB", "poll", filled=1, codec="zstd", size=1000, goals={"cpu": 0.7, "threads": 3}),
    Consume("consumer, 500 partitions", "poll", count=2, filled=2, partitions=500, keyed=True,
            goals={"rate": 2} | READING),
    Consume("consumer, first message", "first", count=20, filled=0.1, counts="times", goals={"p50": 0.7}),
    Consume("consumer, one of 10 leaves", "leave", count=5, partitions=20, counts="times", application_threads=12,
            goals={"p50": 1.0}),
    Consume("consumer, a member joins beside a slow one", "join", count=10, filled=0.2, counts="times", keyed=True,
            goals={"p50": 1.0}),
    Consume("consumer, full queue", "hold", count=5, filled=4, counts="seconds", goals=READING),
    Consume("tls, consumer, one message a call", "poll", count=4, filled=4, tls=True, goals={"cpu": 0.5} | READING_TLS),
    Consume("tls, consumer, 1 kB", "poll", filled=1, size=1000, tls=True, goals={"cpu": 0.75} | READING_TLS),
    Consume("consumer, idle, 3 brokers", "idle", count=60, partitions=3, brokers=3, counts="seconds",
            goals={"cpu": 0.5, "threads": 3}),
]

WORKLOADS = PRODUCERS + CONSUMERS
