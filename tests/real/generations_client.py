"""The operations that work with a broker of a version, and the errors of those that do not; see generations.py.

    generations_client.py BOOTSTRAP VERSION PROPERTIES-AS-JSON

Says "ok" or "FAIL" of each; exit status 1 when something failed.
"""

import json
import sys
import time
import uuid

import confluent_kafka as ck

BOOTSTRAP, VERSION, MORE = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
BASE = {"bootstrap.servers": BOOTSTRAP, **MORE}
KNOWN = tuple(int(part) for part in VERSION.split("."))

GROUPS, TIMESTAMPS, EXACTLY_ONCE, ZSTD = (0, 9), (0, 10), (0, 11), (2, 1)
MESSAGES = 3000
WAIT_S = 40

bad = []


def check(name, good, found=""):
    print(f"{'ok  ' if good else 'FAIL'} {name} {str(found)[:200] if not good else ''}".rstrip(), flush=True)
    if not good:
        bad.append(name)


def knows(since):
    return KNOWN >= since


# ---- producing and reading ---------------------------------------------------


def produce(topic, codec):
    """Produces with a codec; returns the values."""
    values = [f"{codec} {n} " + "x" * (n % 200) for n in range(MESSAGES)]
    failed, delivered = [], []
    producer = ck.Producer({**BASE, "compression.type": codec, "linger.ms": 20, "acks": "all"})
    for n, value in enumerate(values):
        headers = {"headers": [("n", str(n))]} if knows(EXACTLY_ONCE) else {}
        producer.produce(topic, value=value, key=str(n), **headers,
                         on_delivery=lambda error, m: failed.append(str(error)) if error else delivered.append(m.offset()))
        producer.poll(0)
    left = producer.flush(WAIT_S)
    check(f"produce with {codec}", (left, failed, len(delivered)) == (0, [], MESSAGES), (left, failed[:2], len(delivered)))
    return values


def read(consumer, count, wait_s=WAIT_S):
    """Messages until there are `count`, and the errors between them."""
    messages, errors, end = [], [], time.monotonic() + wait_s
    while len(messages) < count and time.monotonic() < end:
        for m in consumer.consume(500, 0.5):
            if m.error():
                errors.append(str(m.error()))
            else:
                messages.append(m)
    return messages, errors


def group_consumer(group, topic, **more):
    consumer = ck.Consumer({**BASE, "group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 10000,
                            "enable.auto.commit": False, **more})
    consumer.subscribe([topic])
    return consumer


def read_simply(topic, partitions, values, begun_ms):
    consumer = ck.Consumer({**BASE, "group.id": "simple", "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(topic, p, 0) for p in range(partitions)])
    messages, errors = read(consumer, len(values))
    check("read all of it", sorted(m.value().decode() for m in messages) == sorted(values), (len(messages), errors[:3]))
    next_offset = [0] * partitions
    gaps = []
    for m in messages:
        if m.offset() != next_offset[m.partition()]:
            gaps.append((m.partition(), m.offset()))
        next_offset[m.partition()] = m.offset() + 1
    check("offsets without gaps", not gaps, gaps[:3])
    check("keys", all(m.key() == m.value().split()[1] for m in messages))
    stamps = {m.timestamp()[0] for m in messages}
    late = all(m.timestamp()[1] >= begun_ms for m in messages)
    check("timestamps", stamps == {ck.TIMESTAMP_CREATE_TIME} and late if knows(TIMESTAMPS)
          else stamps == {ck.TIMESTAMP_NOT_AVAILABLE}, stamps)
    headers = all(bool(m.headers()) == knows(EXACTLY_ONCE) for m in messages)
    check("headers", headers)
    first = ck.TopicPartition(topic, 0)
    ends = consumer.get_watermark_offsets(first, timeout=20)
    check("first and last offset", ends == (0, next_offset[0]), ends)
    look_up_time(consumer, topic, begun_ms)
    consumer.close()


def look_up_time(consumer, topic, begun_ms):
    try:
        (row,) = consumer.offsets_for_times([ck.TopicPartition(topic, 0, begun_ms)], timeout=20)
        found, error = row.offset, row.error
    except ck.KafkaException as e:
        found, error = None, e.args[0]
    good = (found, error) == (0, None) if knows(TIMESTAMPS) else error is not None
    check("offset by time" if knows(TIMESTAMPS) else "offset by time is refused", good, (found, error))


# ---- groups ------------------------------------------------------------------


def use_group(topic, partitions, values, strategy):
    group, settings = f"group-{strategy}", {"partition.assignment.strategy": strategy}
    consumer = group_consumer(group, topic, **settings)
    messages, errors = read(consumer, len(values))
    check(f"group, {strategy}", len(messages) == len(values), (len(messages), errors[:3]))
    total = sum(row.offset for row in consumer.commit(asynchronous=False))
    rows = consumer.committed([ck.TopicPartition(topic, p) for p in range(partitions)], timeout=20)
    check(f"commit, {strategy}", total == sum(row.offset for row in rows) == len(values), (total, rows))
    consumer.close()

    consumer = group_consumer(group, topic, **settings, **{"enable.auto.commit": True})
    messages, errors = read(consumer, 1, wait_s=5)
    check(f"nothing again, {strategy}", not messages, (len(messages), errors[:2]))
    producer = ck.Producer(BASE)
    producer.produce(topic, "one more", key="more")
    producer.flush(WAIT_S)
    messages, errors = read(consumer, 1)
    check(f"going on, {strategy}", [m.value() for m in messages] == [b"one more"], errors[:2])
    consumer.close()

    consumer = group_consumer(group, topic, **settings)
    messages, errors = read(consumer, 1, wait_s=5)
    check(f"committed at close, {strategy}", not messages, (len(messages), errors[:2]))
    consumer.close()
    return [*values, "one more"]


def be_refused_a_group(topic):
    consumer = group_consumer("refused", topic)
    messages, errors = read(consumer, 1, wait_s=8)
    check("a group is refused", not messages and errors, (len(messages), errors[:2]))
    consumer.close()


# ---- exactly once ------------------------------------------------------------


def produce_once(topic):
    outcome = []
    producer = ck.Producer({**BASE, "enable.idempotence": True})
    try:
        producer.produce(topic, "once", on_delivery=lambda error, m: outcome.append(error))
        producer.flush(10)
    except (ck.KafkaException, SystemError) as e:
        # The binding reports a fatal error so, the second one when a delivery report followed it.
        outcome.append(e)
    refused = any("0.11" in str(e) or "0.11" in str(e.__cause__) for e in outcome if isinstance(e, Exception))
    if knows(EXACTLY_ONCE):
        check("idempotent producer", outcome == [None], outcome)
    else:
        check("an idempotent producer is refused", refused, outcome)


def use_transactions(topic):
    producer = ck.Producer({**BASE, "transactional.id": topic})
    try:
        producer.init_transactions(15)
    except ck.KafkaException as e:
        return check("transactions are refused", not knows(EXACTLY_ONCE), e)
    for number in range(4):
        producer.begin_transaction()
        for n in range(50):
            producer.produce(topic, f"{number} {n}")
        end = producer.commit_transaction if number % 2 == 0 else producer.abort_transaction
        end(20)
    reader = group_consumer("committed", topic, **{"isolation.level": "read_committed"})
    messages, errors = read(reader, 101, wait_s=8)
    wanted = sorted(f"{number} {n}" for number in (0, 2) for n in range(50))
    check("transactions", sorted(m.value().decode() for m in messages) == wanted, (len(messages), errors[:2]))
    producer.begin_transaction()
    producer.produce(topic, "out")
    producer.send_offsets_to_transaction([ck.TopicPartition(topic, 0, 77)], reader.consumer_group_metadata(), 15)
    producer.commit_transaction(20)
    # Before OffsetFetch 7 the request does not wait for the transaction's marker.
    for _ in range(100):
        (row,) = reader.committed([ck.TopicPartition(topic, 0)], timeout=20)
        if row.offset == 77:
            break
        time.sleep(0.1)
    check("offsets in a transaction", row.offset == 77, row)
    reader.close()


def main():
    topic, begun_ms = f"generation-{uuid.uuid4().hex[:8]}", int(time.time() * 1000)
    codecs = ["none", "gzip", "snappy", "lz4", *(["zstd"] if knows(ZSTD) else [])]
    values = [value for codec in codecs for value in produce(topic, codec)]
    found = ck.Producer(BASE).list_topics(topic, timeout=20).topics[topic]
    check("metadata", found.error is None and len(found.partitions) == 3, found.error)
    partitions = len(found.partitions)
    read_simply(topic, partitions, values, begun_ms)
    if knows(GROUPS):
        for strategy in ("range", "cooperative-sticky"):
            values = use_group(topic, partitions, values, strategy)
    else:
        be_refused_a_group(topic)
    produce_once(topic)
    use_transactions(f"{topic}-transactions")
    sys.exit(1 if bad else 0)


main()
