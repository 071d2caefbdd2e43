"""Message reliability: acknowledgements, delivery reports, retries, errors, statuses."""

import errno

import broker as b
from case import ManualTest, now
from librdkafka import NOT_PERSISTED, PERSISTED, POSSIBLY_PERSISTED, PURGE_INFLIGHT, PURGE_QUEUE, Refused, setting


class Reports(ManualTest):
    def test_every_message_is_reported_once(self):
        """Message reliability: the delivery report callback is called once for each message."""
        cluster = self.cluster()
        producer = self.producer(cluster)
        values = [str(n) for n in range(100)]
        producer.must_produce("t", *values)
        producer.reported(100)
        producer.serve(0.3)
        self.assertEqual([r.value for r in producer.reports], values)

    def test_success_is_reported_without_error_as_persisted_with_its_offset(self):
        """Producer message delivery success: an ack without an error is a report without an error."""
        cluster = self.cluster()
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        producer.must_produce("t", "b")
        reports = producer.reported(2)
        self.assertEqual([(r.err, r.status, r.offset) for r in reports],
                         [("NO_ERROR", PERSISTED, 0), ("NO_ERROR", PERSISTED, 1)])
        self.assertEqual(cluster.log("t"), ["a", "b"])

    def test_only_poll_serves_reports(self):
        """Producer message delivery success: reports reach the application with the next rd_kafka_poll()."""
        cluster = self.cluster()
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        self.assertTrue(cluster.wait(lambda: cluster.exists("t") and cluster.log("t")))
        cluster.wait(lambda: False, 0.2)
        self.assertEqual(producer.reports, [])
        self.assert_delivered(producer.reported(1), 1)

    def test_flush_serves_reports(self):
        """Threads and callbacks: callbacks are triggered by rd_kafka_flush() as well."""
        producer = self.producer(self.cluster())
        producer.must_produce("t", "a", "b")
        self.assertEqual(producer.flush(10), "NO_ERROR")
        self.assert_delivered(producer.reports, 2)

    def test_flush_times_out_while_messages_are_outstanding(self):
        """rd_kafka_flush(): waits for outstanding messages, _TIMED_OUT when its time is over before."""
        cluster = self.cluster()
        cluster.rule("Produce", "ignore")
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        start = now()
        self.assertEqual(producer.flush(0.7), "_TIMED_OUT")
        self.assert_took(now() - start, 0.6, 2)
        self.assertEqual(producer.queued(), 1)

    def test_delivery_report_only_error_reports_failures_alone(self):
        """CONFIGURATION.md, delivery.report.only.error: only provide delivery reports for failed messages."""
        cluster = self.cluster()
        producer = self.producer(cluster, {"delivery.report.only.error": True})
        producer.must_produce("t", "good")
        self.assertEqual(producer.flush(10), "NO_ERROR")
        cluster.fail("Produce", b.TOPIC_AUTHORIZATION_FAILED)
        producer.must_produce("t", "bad")
        producer.reported(1)
        self.assertEqual([r.value for r in producer.reports], ["bad"])


class Acknowledgements(ManualTest):
    def acks_of(self, settings):
        cluster = self.cluster()
        producer = self.producer(cluster, settings)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        return cluster.produced("t")[0].values("acks")

    def test_all_replicas_acknowledge_by_default(self):
        """CONFIGURATION.md, request.required.acks: -1 (all) is the default."""
        self.assertEqual(self.acks_of({}), [-1])

    def test_request_required_acks_is_sent_with_produce(self):
        """Message reliability: request.required.acks chooses the acknowledgements; acks is its alias."""
        self.assertEqual(self.acks_of({"acks": 1}), [1])
        self.assertEqual(setting("request.required.acks", acks="1"), "1")

    def test_acks_0_waits_for_no_response(self):
        """Message reliability: with acks=0 no acknowledgement is waited for."""
        cluster = self.cluster()
        cluster.topic("t")
        producer = self.producer(cluster, {"acks": 0})
        producer.must_produce("t", "a")
        report, = producer.reported(1)
        self.assertEqual((report.err, report.status), ("NO_ERROR", POSSIBLY_PERSISTED))
        self.assertTrue(cluster.wait(lambda: cluster.log("t") == ["a"]))

    def test_request_timeout_ms_is_sent_with_produce(self):
        """CONFIGURATION.md, request.timeout.ms: the ack timeout of the producer request, kept by the broker."""
        cluster = self.cluster()
        producer = self.producer(cluster, {"request.timeout.ms": 4321})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        self.assertEqual(cluster.produced("t")[0].values("timeout_ms"), [4321])


class Retries(ManualTest):
    QUICK = {"retry.backoff.ms": 50, "retry.backoff.max.ms": 100}

    def delivered_after(self, error, times=2):
        """Has Produce fail some times with an error; returns the cluster after the delivery."""
        cluster = self.cluster()
        cluster.topic("t")
        # Later versions name the leader in the response, so that no refresh is needed (KIP-951).
        cluster.do("versions", api="Produce", max=9)
        cluster.fail("Produce", error, times)
        producer = self.producer(cluster, self.QUICK)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        producer.serve(0.2)
        self.assertEqual(len(producer.reports), 1, "retries are not visible to the application")
        self.assertEqual(len(cluster.produced("t")), times + 1)
        return cluster

    def test_request_timed_out_is_retried(self):
        """Temporary broker-side errors: ERR_REQUEST_TIMED_OUT is retried."""
        self.delivered_after(b.REQUEST_TIMED_OUT)

    def test_not_enough_replicas_is_retried(self):
        """Temporary broker-side errors: ERR_NOT_ENOUGH_REPLICAS is retried."""
        self.delivered_after(b.NOT_ENOUGH_REPLICAS)

    def test_not_enough_replicas_after_append_is_retried(self):
        """Temporary broker-side errors: ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND is retried."""
        self.delivered_after(b.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    def metadata_after(self, error):
        cluster = self.delivered_after(error, 1)
        first = cluster.produced("t")[0]
        self.assertTrue([r for r in cluster.requests("Metadata") if r.at >= first.at])

    def test_not_leader_is_retried_after_a_metadata_refresh(self):
        """Temporary errors due to stale metadata: ERR_NOT_LEADER_FOR_PARTITION is retried after a refresh."""
        self.metadata_after(b.NOT_LEADER_OR_FOLLOWER)

    def test_leader_not_available_is_retried_after_a_metadata_refresh(self):
        """Temporary errors due to stale metadata: ERR_LEADER_NOT_AVAILABLE is retried after a refresh."""
        self.metadata_after(b.LEADER_NOT_AVAILABLE)

    def test_a_broken_connection_is_handled(self):
        """Message reliability: broker connection failures are handled without the application."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "disconnect_before", times=2)
        producer = self.producer(cluster, self.QUICK)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        self.assertEqual(cluster.log("t"), ["a"])

    def test_a_retry_of_an_unanswered_request_may_duplicate(self):
        """Timed out in flight: a retry of what may have reached the broker may cause duplicate messages."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "disconnect_after", times=1)
        producer = self.producer(cluster, self.QUICK)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        self.assertEqual(cluster.log("t"), ["a", "a"])

    def test_retries_are_limited(self):
        """Message reliability: a message is resent up to message.send.max.retries times before a failure is reported."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.fail("Produce", b.REQUEST_TIMED_OUT)
        producer = self.producer(cluster, {**self.QUICK, "message.send.max.retries": 2})
        producer.must_produce("t", "a")
        report, = producer.reported(1)
        self.assertEqual((report.err, report.status), ("REQUEST_TIMED_OUT", POSSIBLY_PERSISTED))
        self.assertEqual(len(cluster.produced("t")), 3)

    def test_without_retries_the_first_error_is_reported(self):
        """Producer message delivery failure: temporary errors that have reached their retry count are reported."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.fail("Produce", b.NOT_ENOUGH_REPLICAS)
        producer = self.producer(cluster, {"retries": 0})
        producer.must_produce("t", "a")
        report, = producer.reported(1)
        self.assertEqual((report.err, report.status), ("NOT_ENOUGH_REPLICAS", NOT_PERSISTED))
        self.assertEqual(len(cluster.produced("t")), 1)

    def test_retries_wait_for_retry_backoff_ms(self):
        """Producer retries: retry.backoff.ms blocks retry attempts until it has passed."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.fail("Produce", b.NOT_ENOUGH_REPLICAS, 1)
        producer = self.producer(cluster, {"retry.backoff.ms": 700, "retry.backoff.max.ms": 700})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        first, second = cluster.produced("t")
        self.assert_took(second.at - first.at, 700 * 0.8 - 5, 700 * 1.2 + 500)

    def test_the_backoff_grows_to_its_maximum(self):
        """CONFIGURATION.md, retry.backoff.max.ms: the backoff doubles with each retry, up to this maximum."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.fail("Produce", b.NOT_ENOUGH_REPLICAS, 4)
        producer = self.producer(cluster, {"retry.backoff.ms": 100, "retry.backoff.max.ms": 400})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        times = [r.at for r in cluster.produced("t")]
        pauses = [after - before for before, after in zip(times, times[1:])]
        for pause, nominal in zip(pauses, (100, 200, 400, 400)):
            self.assert_took(pause, nominal * 0.8 - 5, nominal * 1.2 + 300)

    def test_retried_messages_keep_their_order(self):
        """Producer retries: messages are put back at their original position; with one request in flight order is kept."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.fail("Produce", b.NOT_ENOUGH_REPLICAS, 2)
        producer = self.producer(cluster, {**self.QUICK, "max.in.flight": 1, "batch.num.messages": 1})
        values = [str(n) for n in range(10)]
        producer.must_produce("t", *values)
        self.assert_delivered(producer.reported(10), 10)
        self.assertEqual(cluster.log("t"), values)

    def test_messages_in_flight_together_may_be_reordered(self):
        """Reordering: with max.in.flight above 1 a retried message may follow one that was produced later."""
        cluster = self.cluster()
        cluster.topic("t")
        producer = self.producer(cluster, {**self.QUICK, "max.in.flight": 5, "batch.num.messages": 1})
        producer.must_produce("t", "warm")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("round_trip", broker=1, ms=200)
        cluster.fail("Produce", b.NOT_ENOUGH_REPLICAS, 1)
        producer.must_produce("t", "a")
        cluster.wait(lambda: len(cluster.produced("t")) == 2)
        producer.must_produce("t", "b")
        self.assert_delivered(producer.reported(3), 3)
        self.assertEqual(cluster.log("t"), ["warm", "b", "a"])


class PermanentErrors(ManualTest):
    def refused(self, error, name, settings=None):
        """A broker's error fails the message at once, with its own code."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.fail("Produce", error)
        producer = self.producer(cluster, settings)
        producer.must_produce("t", "a")
        report, = producer.reported(1)
        self.assertEqual((report.err, report.status), (name, NOT_PERSISTED))
        self.assertEqual(len(cluster.produced("t")), 1)

    def test_corrupt_message(self):
        """Permanent errors: ERR_CORRUPT_MESSAGE fails the message."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.fail("Produce", b.CORRUPT_MESSAGE)
        producer = self.producer(cluster, {"retries": 5, "retry.backoff.ms": 20})
        producer.must_produce("t", "a")
        report, = producer.reported(1)
        self.assertEqual((report.err, report.status), ("INVALID_MSG", NOT_PERSISTED))
        self.assertEqual(len(cluster.produced("t")), self.differs(here=4, librdkafka_does=6))

    def test_msg_size_too_large(self):
        """Permanent errors: ERR_MSG_SIZE_TOO_LARGE fails at once."""
        self.refused(b.MESSAGE_TOO_LARGE, "MSG_SIZE_TOO_LARGE")

    def test_record_list_too_large(self):
        """Permanent errors: ERR_RECORD_LIST_TOO_LARGE fails at once."""
        self.refused(b.RECORD_LIST_TOO_LARGE, "RECORD_LIST_TOO_LARGE")

    def test_a_batch_that_is_too_large(self):
        """Permanent errors: ERR_MSG_SIZE_TOO_LARGE fails the messages of the batch."""
        cluster = self.cluster(message_max_bytes=2000)
        cluster.topic("t")
        producer = self.producer(cluster, {"linger.ms": 300})
        producer.must_produce("t", *["x" * 300] * 10)
        expected = self.differs(here="NO_ERROR", librdkafka_does="MSG_SIZE_TOO_LARGE")
        self.assertEqual({r.err for r in producer.reported(10)}, {expected})

    def test_invalid_required_acks(self):
        """Permanent errors: ERR_INVALID_REQUIRED_ACKS fails at once."""
        self.refused(b.INVALID_REQUIRED_ACKS, "INVALID_REQUIRED_ACKS")

    def test_topic_authorization_failed(self):
        """Permanent errors: ERR_TOPIC_AUTHORIZATION_FAILED fails at once."""
        self.refused(b.TOPIC_AUTHORIZATION_FAILED, "TOPIC_AUTHORIZATION_FAILED")

    def test_unsupported_for_message_format(self):
        """Permanent errors: ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT fails at once."""
        self.refused(b.UNSUPPORTED_FOR_MESSAGE_FORMAT, "UNSUPPORTED_FOR_MESSAGE_FORMAT")

    def test_cluster_authorization_failed(self):
        """Permanent errors: ERR_CLUSTER_AUTHORIZATION_FAILED fails at once."""
        self.refused(b.CLUSTER_AUTHORIZATION_FAILED, "CLUSTER_AUTHORIZATION_FAILED")


class MessageTimeout(ManualTest):
    def timed_out(self, producer, status, topic="t"):
        start = now()
        producer.must_produce(topic, "a")
        report, = producer.reported(1)
        self.assertEqual((report.err, report.status), ("_MSG_TIMED_OUT", status))
        self.assert_took(report.at - start, 1.0, 2.5)

    def test_no_leader(self):
        """Local time out: ERR__MSG_TIMED_OUT when no leader is available for message.timeout.ms; never sent."""
        cluster = self.cluster(2)
        cluster.topic("t", leaders=[1])
        cluster.move_leader("t", 0, -1)
        self.timed_out(self.producer(cluster, {"message.timeout.ms": 1000}), NOT_PERSISTED)

    def test_no_connection(self):
        """Local time out: ERR__MSG_TIMED_OUT when there is no broker connection for message.timeout.ms; never sent."""
        self.timed_out(self.producer(b.free_address(), {"message.timeout.ms": 1000}), NOT_PERSISTED)

    def test_in_flight(self):
        """Message timeout considerations: what times out in flight may have been written."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "ignore")
        self.timed_out(self.producer(cluster, {"message.timeout.ms": 1000}), POSSIBLY_PERSISTED)

    def test_earlier_errors_are_abstracted(self):
        """Local time out: errors of earlier attempts are abstracted by ERR__MSG_TIMED_OUT; no more retries after it."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.fail("Produce", b.NOT_ENOUGH_REPLICAS)
        producer = self.producer(cluster, {"message.timeout.ms": 1000, "retry.backoff.ms": 100,
                                           "retry.backoff.max.ms": 100})
        self.timed_out(producer, NOT_PERSISTED)
        sent = len(cluster.produced("t"))
        self.assertGreater(sent, 2)
        producer.serve(0.5)
        self.assertEqual(len(cluster.produced("t")), sent)

    def test_delivery_timeout_ms_is_an_alias(self):
        """Message timeout considerations: delivery.timeout.ms is an alias for message.timeout.ms."""
        self.assertEqual(setting("message.timeout.ms", delivery_timeout_ms=12345), "12345")
        self.timed_out(self.producer(b.free_address(), {"delivery.timeout.ms": 1000}), NOT_PERSISTED)


class Purge(ManualTest):
    def test_queued_messages(self):
        """rd_kafka_purge(): messages in the queue fail with _PURGE_QUEUE, not persisted."""
        producer = self.producer(b.free_address())
        producer.must_produce("t", "a", "b")
        self.assertEqual(producer.purge(PURGE_QUEUE), "NO_ERROR")
        reports = producer.reported(2, 2)
        self.assertEqual([(r.err, r.status) for r in reports], [("_PURGE_QUEUE", NOT_PERSISTED)] * 2)

    def test_messages_in_flight(self):
        """rd_kafka_purge(): messages in flight fail with _PURGE_INFLIGHT, possibly persisted."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "ignore")
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        self.assertTrue(producer.wait(lambda: cluster.produced("t")))
        self.assertEqual(producer.purge(PURGE_QUEUE), "NO_ERROR")
        producer.serve(0.3)
        self.assertEqual(producer.reports, [])
        self.assertEqual(producer.purge(PURGE_INFLIGHT), "NO_ERROR")
        report, = producer.reported(1, 2)
        self.assertEqual((report.err, report.status), ("_PURGE_INFLIGHT", POSSIBLY_PERSISTED))


class Refusals(ManualTest):
    def test_a_full_queue_refuses_messages(self):
        """Producer API: beyond queue.buffering.max.messages rd_kafka_produce() fails with _QUEUE_FULL and ENOBUFS."""
        producer = self.producer(b.free_address(), {"queue.buffering.max.messages": 3})
        producer.must_produce("t", "a", "b", "c")
        self.assertEqual(producer.produce("t", "d"), ("_QUEUE_FULL", errno.ENOBUFS))

    def test_a_full_queue_accepts_messages_after_reports_were_served(self):
        """Producer API: _QUEUE_FULL is backpressure; there is room again once messages were delivered and polled."""
        cluster = self.cluster()
        cluster.topic("t")
        producer = self.producer(cluster, {"queue.buffering.max.messages": 2})
        producer.must_produce("t", "a", "b")
        self.assertTrue(cluster.wait(lambda: len(cluster.log("t")) == 2))
        self.assertEqual(producer.produce("t", "c")[0], "_QUEUE_FULL")
        producer.reported(2)
        self.assertEqual(producer.produce("t", "c")[0], "NO_ERROR")

    def test_queue_buffering_max_kbytes_refuses_messages(self):
        """CONFIGURATION.md, queue.buffering.max.kbytes: the most that may be queued, shared by all partitions."""
        producer = self.producer(b.free_address(), {"queue.buffering.max.kbytes": 10})
        taken = 0
        while producer.produce("t", "x" * 1000)[0] == "NO_ERROR":
            taken += 1
            self.assertLess(taken, 20)
        self.assertGreaterEqual(taken, 8)
        self.assertEqual(producer.produce("t", "x" * 1000)[0], "_QUEUE_FULL")

    def test_a_message_above_message_max_bytes_is_refused(self):
        """CONFIGURATION.md, message.max.bytes: a larger message is refused with MSG_SIZE_TOO_LARGE."""
        producer = self.producer(b.free_address(), {"message.max.bytes": 1000})
        self.assertEqual(producer.produce("t", "x" * 1500), ("MSG_SIZE_TOO_LARGE", errno.EMSGSIZE))
        self.assertEqual(producer.produce("t", "x" * 500)[0], "NO_ERROR")

    def test_incompatible_settings_are_refused(self):
        """CONFIGURATION.md, message.timeout.ms: linger.ms must not exceed it."""
        with self.assertRaises(Refused):
            self.producer(b.free_address(), {"message.timeout.ms": 100, "linger.ms": 1000})
