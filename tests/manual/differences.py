"""Intended differences from librdkafka: by test, the outcome of each library and the reason. A test of this table calls
`differs()` for the expected outcome. docs/DIFFERENCES.md has the same for users.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    librdkafka: str
    here: str
    why: str


_INVALID_NAME = Difference(
    "reports the error and asks for the topic hundreds of times a second",
    "reports the error and asks now and then",
    "brokers never accept the name, so asking again cannot help")

DIFFERENCES = {
    "test_corrupt_message": Difference(
        "sends the message again like those of temporary errors, `retries` times",
        "encodes and sends the batch three more times at most",
        "the manual calls the error permanent; damage on the way goes away when the batch is encoded again"),
    "test_a_batch_that_is_too_large": Difference(
        "fails every message of the batch",
        "halves the batch until only messages fail that are too large alone",
        "the topic's limit is not known before; each of the messages keeps it"),
    "test_out_of_order_of_the_first_request": Difference(
        "raises a fatal error",
        "writes the batch under a new epoch",
        "KIP-360: a batch that no broker can have loses nothing under a new epoch"),
    "test_an_unknown_producer_id_of_a_retry": Difference(
        "raises a fatal error",
        "writes under a new epoch what no broker can have",
        "KIP-360, as above"),
    "test_without_retries_a_timed_out_request_fails_its_messages": Difference(
        "reports _MSG_TIMED_OUT, as for a message.timeout.ms that is over",
        "reports _TIMED_OUT",
        "the manual: the application can tell a request that timed out from a message that did"),
    "test_throttled_clients_pause": Difference(
        "reports the throttle time and goes on sending",
        "sends nothing to the broker until the time is over",
        "KIP-219 asks for it; a broker delays what comes sooner"),
    "test_consumers_create_topics_with_allow_auto_create_topics": Difference(
        "asks for the subscribed topic with the request's permission to create it left out",
        "asks for it with the permission",
        "the property says that brokers may create the topic"),
    "test_an_invalid_topic_name_is_an_error_of_the_consumer": _INVALID_NAME,
    "test_a_topic_name_that_is_too_long_is_an_error_of_the_consumer": _INVALID_NAME,
}
