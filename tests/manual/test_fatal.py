"""The idempotent producer: guarantees, message timeouts, leader changes, errors of sequence numbers, fatal errors."""

import broker as b
from case import ManualTest
from librdkafka import NOT_PERSISTED, PERSISTED, POSSIBLY_PERSISTED, Refused, setting

# Backoffs are short, for the tests to be.
IDEMPOTENT = {"enable.idempotence": True, "retry.backoff.ms": 50, "retry.backoff.max.ms": 100,
              "reconnect.backoff.max.ms": 200}


class IdempotentTest(ManualTest):
    def idempotent(self, cluster, settings=None):
        return self.producer(cluster, {**IDEMPOTENT, **(settings or {})})

    def warm(self, cluster, settings=None, topic="t"):
        """A producer that has delivered one message, "0"."""
        producer = self.idempotent(cluster, settings)
        producer.must_produce(topic, "0")
        self.assert_delivered(producer.reported(1), 1)
        return producer

    def cut_off(self, cluster, producer):
        """Has the client lose its broker and notice it."""
        cluster.do("reachable", broker=1, value=False)
        producer.serve(0.3)

    def single(self, settings=None):
        """Settings with which each message has a separate request."""
        return {"batch.num.messages": 1, **(settings or {})}

    def numbers(self, cluster, topic="t"):
        """Epoch, sequence number and number of records of each batch sent, in order."""
        parts = [part for r in cluster.produced(topic) for part in r.parts]
        return [(part["epoch"], part["sequence"], part["records"]) for part in parts]


class Settings(IdempotentTest):
    def refused(self, **settings):
        settings = {name.replace("_", "."): value for name, value in settings.items()}
        with self.assertRaises(Refused):
            self.idempotent(b.free_address(), settings)

    def test_acks_1_is_refused(self):
        """Idempotent Producer: it is an error to explicitly set acks=1 when enable.idempotence=true is set."""
        self.refused(acks=1)

    def test_more_than_five_requests_in_flight_are_refused(self):
        """CONFIGURATION.md, enable.idempotence: max.in.flight.requests.per.connection must be 5 at most."""
        self.refused(max_in_flight=6)

    def test_no_retries_are_refused(self):
        """CONFIGURATION.md, enable.idempotence: retries must be greater than 0."""
        self.refused(retries=0)

    def test_lifo_is_refused(self):
        """CONFIGURATION.md, enable.idempotence: queuing.strategy must be fifo."""
        self.refused(queuing_strategy="lifo")

    def test_gapless_without_idempotence_is_refused(self):
        """CONFIGURATION.md, enable.gapless.guarantee: requires enable.idempotence=true."""
        with self.assertRaises(Refused):
            self.producer(b.free_address(), {"enable.gapless.guarantee": True})

    def test_compatible_settings_are_accepted(self):
        """Idempotent Producer: other properties are adjusted automatically; compatible values may be set."""
        cluster = self.cluster()
        producer = self.warm(cluster, {"acks": "all", "max.in.flight": 5, "retries": 3})
        self.assertEqual(producer.reports[0].status, PERSISTED)
        self.assertEqual(cluster.produced("t")[0].values("acks"), [-1])

    def test_idempotence_is_off_by_default(self):
        """CONFIGURATION.md, enable.idempotence: false by default; batches then carry no producer id."""
        self.assertEqual(setting("enable.idempotence"), "false")
        cluster = self.cluster()
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        self.assertEqual(cluster.produced("t")[0].values("producer_id"), [-1])
        self.assertEqual(cluster.requests("InitProducerId"), [])


class Guarantees(IdempotentTest):
    def test_a_message_is_written_once_though_its_response_was_lost(self):
        """Guarantees, exactly-once: a message is only written to the log once."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "disconnect_after", times=2)
        producer = self.idempotent(cluster)
        producer.must_produce("t", "a", "b")
        self.assert_delivered(producer.reported(2), 2)
        self.assertEqual(cluster.log("t"), ["a", "b"])

    def test_order_is_kept_with_five_requests_in_flight(self):
        """Ordering and message sequence numbers: no reordering despite max.in.flight > 1."""
        cluster = self.cluster()
        producer = self.warm(cluster, self.single())
        cluster.do("round_trip", broker=1, ms=50)
        cluster.fail("Produce", b.NOT_ENOUGH_REPLICAS, 2)
        values = [str(n) for n in range(1, 20)]
        producer.must_produce("t", *values)
        self.assert_delivered(producer.reported(20), 20)
        self.assertEqual(cluster.log("t"), ["0", *values])
        self.assertEqual([r.value for r in producer.reports], ["0", *values])

    def test_order_is_kept_when_connections_break(self):
        """Guarantees, ordering: messages are written in the order in which they were produced."""
        cluster = self.cluster()
        producer = self.warm(cluster, self.single())
        cluster.do("round_trip", broker=1, ms=20)
        cluster.rule("Produce", "disconnect_after", skip=2, times=1)
        cluster.rule("Produce", "disconnect_before", skip=6, times=1)
        values = [str(n) for n in range(1, 30)]
        producer.must_produce("t", *values)
        self.assert_delivered(producer.reported(30, 20), 30)
        self.assertEqual(cluster.log("t"), ["0", *values])

    def test_sequence_numbers_begin_at_zero_and_count_messages(self):
        """Ordering and message sequence numbers: message seqs start at 0 and count the messages."""
        cluster = self.cluster()
        cluster.topic("t")
        producer = self.idempotent(cluster, {"linger.ms": 100})
        for count in (1, 3, 2):
            producer.must_produce("t", *"x" * count)
            producer.flush(10)
        self.assertEqual(self.numbers(cluster), [(0, 0, 1), (0, 1, 3), (0, 4, 2)])

    def test_at_most_five_requests_are_in_flight(self):
        """Ordering and message sequence numbers: max.in.flight is capped at 5."""
        cluster = self.cluster()
        producer = self.warm(cluster, self.single())
        before = len(cluster.produced("t"))
        cluster.do("round_trip", broker=1, ms=1500)
        producer.must_produce("t", *[str(n) for n in range(1, 12)])
        producer.serve(0.8)
        self.assertLessEqual(len(cluster.produced("t")) - before, 5)
        cluster.do("round_trip", broker=1, ms=0)
        self.assert_delivered(producer.reported(12), 12)

    def test_a_retry_has_its_first_sequence_numbers(self):
        """Ordering and message sequence numbers: retried messages keep their numbers within an epoch."""
        cluster = self.cluster()
        producer = self.warm(cluster)
        cluster.rule("Produce", "disconnect_before", times=1)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(2), 2)
        self.assertEqual(self.numbers(cluster)[1:], [(0, 1, 1), (0, 1, 1)])


class Timeouts(IdempotentTest):
    def test_timed_out_queued_messages_leave_a_gap(self):
        """Message timeout considerations: queued messages that time out are not persisted; those behind are written."""
        cluster = self.cluster()
        producer = self.warm(cluster, {"message.timeout.ms": 2500})
        self.cut_off(cluster, producer)
        producer.must_produce("t", "1", "2")
        reports = producer.reported(3)[1:]
        self.assertEqual([(r.err, r.status) for r in reports], [("_MSG_TIMED_OUT", NOT_PERSISTED)] * 2)
        cluster.do("reachable", broker=1, value=True)
        producer.must_produce("t", "3", "4")
        self.assert_delivered(producer.reported(5)[3:], 2)
        self.assertEqual(cluster.log("t"), ["0", "3", "4"])
        self.assertEqual(producer.fatal_error(), "NO_ERROR")

    def test_messages_timed_out_in_flight_may_be_persisted_and_the_connection_is_closed(self):
        """Message timeout considerations: the request fails, the client closes the connection, the status is open."""
        cluster = self.cluster()
        producer = self.warm(cluster, {"message.timeout.ms": 2500})
        cluster.rule("Produce", "hang", times=1)
        producer.must_produce("t", "1")
        report = producer.reported(2)[1]
        self.assertEqual((report.err, report.status), ("_MSG_TIMED_OUT", POSSIBLY_PERSISTED))
        hung = cluster.produced("t")[1].connection
        self.assertTrue(producer.wait(
            lambda: cluster.seen("disconnected", connection=hung, by_broker=False), 3))
        self.assertEqual(cluster.log("t"), ["0", "1"])

    def test_the_epoch_rises_after_a_timeout_in_flight(self):
        """Message timeout considerations: when all requests are drained the epoch is bumped; later messages are sent."""
        cluster = self.cluster()
        producer = self.warm(cluster, {"message.timeout.ms": 2500})
        cluster.rule("Produce", "ignore", times=1)
        producer.must_produce("t", "1")
        self.assertEqual(producer.reported(2)[1].err, "_MSG_TIMED_OUT")
        producer.must_produce("t", "2")
        self.assert_delivered(producer.reported(3)[2:], 1)
        self.assertEqual(self.numbers(cluster)[-1][:2], (1, 0))
        self.assertEqual(cluster.log("t"), ["0", "2"])
        self.assertEqual(producer.fatal_error(), "NO_ERROR")


class LeaderChange(IdempotentTest):
    def test_no_request_to_the_new_leader_before_the_old_one_has_responded(self):
        """Leader change: no request goes to the new leader until all responses of the previous one were received."""
        cluster = self.cluster(2)
        cluster.topic("t", leaders=[1])
        producer = self.warm(cluster, {"topic.metadata.refresh.interval.ms": 200})
        cluster.rule("Produce", "error", error=b.NOT_LEADER_OR_FOLLOWER, broker=1, times=1, delay_ms=1500)
        producer.must_produce("t", "1")
        self.assertTrue(producer.wait(lambda: len(cluster.produced("t")) == 2))
        cluster.move_leader("t", 0, 2)
        producer.must_produce("t", "2")
        self.assert_delivered(producer.reported(3), 3)
        old = cluster.produced("t", broker=1)[1]
        new = cluster.produced("t", broker=2)[0]
        self.assertGreaterEqual(new.at - old.at, 1500)
        self.assertEqual(cluster.log("t"), ["0", "1", "2"])

    def test_a_broken_connection_ends_the_wait_for_the_old_leader(self):
        """Leader change: if the connection to the previous broker goes down its requests are failed immediately."""
        cluster = self.cluster(2)
        cluster.topic("t", leaders=[1])
        producer = self.warm(cluster)
        cluster.rule("Produce", "ignore", broker=1, times=1)
        producer.must_produce("t", "1")
        self.assertTrue(producer.wait(lambda: len(cluster.produced("t")) == 2))
        cluster.move_leader("t", 0, 2)
        moved = cluster.now()
        cluster.do("close", broker=1)
        self.assert_delivered(producer.reported(2), 2)
        self.assert_took(cluster.produced("t", broker=2)[0].at - moved, 0, 3000)

    def test_the_wait_for_the_old_leader_ends_at_its_requests_timeout(self):
        """Leader change: the drain lasts up to min(socket.timeout.ms, message.timeout.ms)."""
        cluster = self.cluster(2)
        cluster.topic("t", leaders=[1])
        producer = self.warm(cluster, {"socket.timeout.ms": 1000})
        cluster.rule("Produce", "ignore", broker=1, times=1)
        producer.must_produce("t", "1")
        self.assertTrue(producer.wait(lambda: len(cluster.produced("t")) == 2))
        cluster.move_leader("t", 0, 2)
        self.assert_delivered(producer.reported(2), 2)
        old = cluster.produced("t", broker=1)[1]
        self.assert_took(cluster.produced("t", broker=2)[0].at - old.at, 900, 4000)
        self.assertEqual(cluster.log("t"), ["0", "1"])


class SequenceErrors(IdempotentTest):
    def test_out_of_order_of_the_first_request(self):
        """OUT_OF_ORDER_SEQUENCE_NUMBER for the head of line: client and broker are out of step, a fatal error."""
        cluster = self.cluster()
        producer = self.warm(cluster)
        cluster.fail("Produce", b.OUT_OF_ORDER_SEQUENCE_NUMBER, 1)
        producer.must_produce("t", "1")
        report = producer.reported(2)[1]
        expected = self.differs(here=("NO_ERROR", "NO_ERROR"),
                                librdkafka_does=("OUT_OF_ORDER_SEQUENCE_NUMBER",) * 2)
        self.assertEqual((report.err, producer.fatal_error()), expected)

    def test_out_of_order_behind_a_failed_request_is_retried(self):
        """OUT_OF_ORDER_SEQUENCE_NUMBER behind a failed request: retried after the drain, under new numbers."""
        cluster = self.cluster()
        producer = self.warm(cluster, self.single())
        cluster.do("round_trip", broker=1, ms=200)
        cluster.fail("Produce", b.UNSUPPORTED_FOR_MESSAGE_FORMAT, 1)
        producer.must_produce("t", "1", "2", "3")
        reports = producer.reported(4)[1:]
        self.assertEqual([(r.value, r.err) for r in reports],
                         [("1", "UNSUPPORTED_FOR_MESSAGE_FORMAT"), ("2", "NO_ERROR"), ("3", "NO_ERROR")])
        self.assertEqual(cluster.log("t"), ["0", "2", "3"])
        self.assertEqual(producer.fatal_error(), "NO_ERROR")

    def test_a_duplicate_is_a_success_without_offset(self):
        """DUPLICATE_SEQUENCE_NUMBER: the messages are considered produced; the broker's offset is not known."""
        cluster = self.cluster()
        producer = self.warm(cluster)
        cluster.fail("Produce", b.DUPLICATE_SEQUENCE_NUMBER, 1)
        producer.must_produce("t", "1")
        report = producer.reported(2)[1]
        self.assertEqual((report.err, report.status), ("NO_ERROR", PERSISTED))
        self.assertLess(report.offset, 0)

    def test_an_unknown_producer_id_of_an_idle_producer_is_ignored(self):
        """UNKNOWN_PRODUCER_ID for the first request in flight of an idle producer: the epoch is incremented."""
        cluster = self.cluster()
        producer = self.warm(cluster)
        cluster.fail("Produce", b.UNKNOWN_PRODUCER_ID, 1)
        producer.must_produce("t", "1")
        self.assert_delivered(producer.reported(2), 2)
        self.assertEqual(self.numbers(cluster)[-1][:2], (1, 0))
        self.assertEqual(producer.fatal_error(), "NO_ERROR")

    def test_an_unknown_producer_id_of_a_retry(self):
        """UNKNOWN_PRODUCER_ID where messages wait to be retried: the guarantees cannot be satisfied, a fatal error."""
        cluster = self.cluster()
        producer = self.warm(cluster)
        cluster.fail("Produce", b.NOT_ENOUGH_REPLICAS, 1)
        cluster.fail("Produce", b.UNKNOWN_PRODUCER_ID, 1)
        producer.must_produce("t", "1")
        report = producer.reported(2)[1]
        expected = self.differs(here=("NO_ERROR", "NO_ERROR"), librdkafka_does=("UNKNOWN_PRODUCER_ID",) * 2)
        self.assertEqual((report.err, producer.fatal_error()), expected)

    def test_a_permanent_error_fails_only_its_own_messages(self):
        """Standard errors: permanent errors fail the messages in the batch; without gap-less the others are sent."""
        cluster = self.cluster()
        producer = self.warm(cluster)
        cluster.fail("Produce", b.UNSUPPORTED_FOR_MESSAGE_FORMAT, 1)
        producer.must_produce("t", "1")
        self.assertEqual(producer.reported(2)[1].err, "UNSUPPORTED_FOR_MESSAGE_FORMAT")
        producer.must_produce("t", "2")
        self.assert_delivered(producer.reported(3)[2:], 1)
        self.assertEqual(cluster.log("t"), ["0", "2"])


class Gapless(IdempotentTest):
    def gap(self, error, name, fatal):
        """A message is refused for good while others are in flight and queued behind it."""
        cluster = self.cluster()
        producer = self.warm(cluster, self.single({"enable.gapless.guarantee": True}))
        cluster.do("round_trip", broker=1, ms=200)
        cluster.fail("Produce", error, 1)
        values = [str(n) for n in range(1, 11)]
        producer.must_produce("t", *values)
        reports = producer.reported(11)[1:]
        self.assertEqual([r.value for r in reports if r.err == name][:1], ["1"])
        self.assertEqual(producer.fatal_error(), fatal)
        self.assertEqual(cluster.log("t"), ["0"])
        # Five are in flight at most. Their responses may arrive after the others are purged.
        self.assertEqual({r.err for r in reports if r.value in values[5:]}, {"_PURGE_QUEUE"})
        self.assertEqual(sorted(r.value for r in reports), sorted(values))
        self.assertNotIn("NO_ERROR", [r.err for r in reports])

    def test_no_message_is_written_after_a_rejected_one(self):
        """Standard errors: RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE is raised and all queued messages fail."""
        self.gap(b.UNSUPPORTED_FOR_MESSAGE_FORMAT, "UNSUPPORTED_FOR_MESSAGE_FORMAT", "_GAPLESS_GUARANTEE")

    def test_no_message_is_written_after_one_out_of_order(self):
        """OUT_OF_ORDER_SEQUENCE_NUMBER with the gap-less guarantee: fatal; all queued messages fail."""
        self.gap(b.OUT_OF_ORDER_SEQUENCE_NUMBER, "OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER")

    def test_no_message_is_written_after_one_without_authorization(self):
        """Standard errors: a topic authorization failure in the series cuts it short; nothing behind it is written."""
        cluster = self.cluster()
        producer = self.warm(cluster, self.single({"enable.gapless.guarantee": True}))
        cluster.do("round_trip", broker=1, ms=200)
        cluster.fail("Produce", b.TOPIC_AUTHORIZATION_FAILED, 1)
        producer.must_produce("t", *[str(n) for n in range(1, 11)])
        self.assertEqual(len(producer.reported(11)), 11)
        self.assertEqual(producer.fatal_error(), "_GAPLESS_GUARANTEE")
        self.assertEqual(cluster.log("t"), ["0"])

    def test_the_gapless_error_is_fatal_and_reported_by_callback(self):
        """Fatal errors: the error callback is called with _FATAL; rd_kafka_fatal_error() has the underlying error."""
        cluster = self.cluster()
        producer = self.warm(cluster, {"enable.gapless.guarantee": True})
        cluster.fail("Produce", b.TOPIC_AUTHORIZATION_FAILED, 1)
        producer.must_produce("t", "1")
        self.assertEqual(producer.reported(2)[1].err, "TOPIC_AUTHORIZATION_FAILED")
        self.assertTrue(producer.wait(lambda: "_FATAL" in producer.error_codes(), 2))
        self.assertEqual(producer.fatal_error(), "_GAPLESS_GUARANTEE")

    def test_messages_that_time_out_are_no_gap(self):
        """Guarantees, gap-less: messages that exceed message.timeout.ms raise no fatal error."""
        cluster = self.cluster()
        producer = self.warm(cluster, {"enable.gapless.guarantee": True, "message.timeout.ms": 2500})
        self.cut_off(cluster, producer)
        producer.must_produce("t", "1")
        self.assertEqual(producer.reported(2)[1].err, "_MSG_TIMED_OUT")
        cluster.do("reachable", broker=1, value=True)
        producer.must_produce("t", "2")
        self.assert_delivered(producer.reported(3)[2:], 1)
        self.assertEqual(producer.fatal_error(), "NO_ERROR")


class FatalErrors(IdempotentTest):
    REASON = b.OUT_OF_ORDER_SEQUENCE_NUMBER, "OUT_OF_ORDER_SEQUENCE_NUMBER"

    def test_produce_fails_after_a_fatal_error(self):
        """Fatal errors: rd_kafka_produce() fails once a fatal error was raised."""
        producer = self.warm(self.cluster())
        self.assertEqual(producer.fatal_error(), "NO_ERROR")
        self.assertEqual(producer.raise_fatal_error(self.REASON[0], "a test"), "NO_ERROR")
        self.assertEqual(producer.fatal_error(), self.REASON[1])
        self.assertEqual(producer.produce("t", "1")[0], "_FATAL")
        self.assertTrue(producer.wait(lambda: "_FATAL" in producer.error_codes(), 2))

    def test_queued_messages_are_purged_after_a_fatal_error(self):
        """Fatal errors: messages in the queue fail with _PURGE_QUEUE."""
        producer = self.idempotent(b.free_address())
        producer.must_produce("t", "1", "2")
        producer.raise_fatal_error(self.REASON[0], "a test")
        reports = producer.reported(2, 3)
        self.assertEqual([(r.err, r.status) for r in reports], [("_PURGE_QUEUE", NOT_PERSISTED)] * 2)

    def test_messages_in_flight_are_not_purged_after_a_fatal_error(self):
        """Fatal errors: messages in flight are not purged; the broker's acknowledgement is waited for."""
        cluster = self.cluster()
        producer = self.warm(cluster)
        cluster.rule("Produce", delay_ms=1000, times=1)
        producer.must_produce("t", "1")
        self.assertTrue(producer.wait(lambda: len(cluster.produced("t")) == 2))
        producer.raise_fatal_error(self.REASON[0], "a test")
        self.assertEqual(producer.flush(10), "NO_ERROR")
        self.assertEqual([(r.value, r.err) for r in producer.reports], [("0", "NO_ERROR"), ("1", "NO_ERROR")])

    def test_the_first_fatal_error_is_kept(self):
        """rd_kafka_fatal_error(): once raised, the error stays the same for the life of the client."""
        producer = self.idempotent(b.free_address())
        producer.raise_fatal_error(self.REASON[0], "first")
        self.assertEqual(producer.raise_fatal_error(b.UNKNOWN_PRODUCER_ID, "second"), "_PREV_IN_PROGRESS")
        self.assertEqual(producer.fatal_error(), self.REASON[1])

    def test_missing_authorization_for_a_producer_id_is_fatal(self):
        """Idempotent Producer: without a producer id nothing can be guaranteed; an authorization failure is fatal."""
        cluster = self.cluster()
        cluster.fail("InitProducerId", b.CLUSTER_AUTHORIZATION_FAILED)
        producer = self.idempotent(cluster)
        producer.must_produce("t", "a")
        self.assertTrue(producer.wait(lambda: producer.fatal_error() == "CLUSTER_AUTHORIZATION_FAILED", 5))

    def test_init_producer_id_is_retried_after_a_temporary_error(self):
        """Random broker selection: a producer id is acquired from any broker, until that succeeds."""
        cluster = self.cluster()
        cluster.fail("InitProducerId", b.REQUEST_TIMED_OUT, 2)
        producer = self.idempotent(cluster)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        self.assertGreaterEqual(len(cluster.requests("InitProducerId")), 3)
