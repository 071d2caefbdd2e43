"""Share consumers of a librdkafka.so.1 through its C interface, for tests in Python.

    with share.Consumer(library, {"bootstrap.servers": ..., "group.id": ...}) as consumer:
        consumer.subscribe("t")
        for record in consumer.poll(1.0):
            consumer.acknowledge(record, share.RELEASE)

`library` is the folder of the library. Errors are raised as share.Error with the code and the text.
"""

import ctypes
import functools
from ctypes import POINTER, byref, c_char_p, c_int, c_int16, c_int32, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path

ACCEPT, RELEASE, REJECT = 1, 2, 3

NO_ERROR = 0
CONF_OK = 0


class CMessage(ctypes.Structure):
    """rd_kafka_message_t."""

    _fields_ = [("err", c_int), ("rkt", c_void_p), ("partition", c_int32), ("payload", c_void_p), ("len", c_size_t),
                ("key", c_void_p), ("key_len", c_size_t), ("offset", c_int64), ("_private", c_void_p)]


class CTopicPartition(ctypes.Structure):
    """rd_kafka_topic_partition_t."""

    _fields_ = [("topic", c_char_p), ("partition", c_int32), ("offset", c_int64), ("metadata", c_void_p),
                ("metadata_size", c_size_t), ("opaque", c_void_p), ("err", c_int), ("_private", c_void_p)]


class CTopicPartitionList(ctypes.Structure):
    """rd_kafka_topic_partition_list_t."""

    _fields_ = [("cnt", c_int), ("size", c_int), ("elems", POINTER(CTopicPartition))]


COMMIT_CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_void_p)

# Result, then parameters; each name without rd_kafka_.
SIGNATURES = {
    "conf_new": (c_void_p,),
    "conf_set": (c_int, c_void_p, c_char_p, c_char_p, c_char_p, c_size_t),
    "conf_destroy": (None, c_void_p),
    "topic_partition_list_new": (POINTER(CTopicPartitionList), c_int),
    "topic_partition_list_add": (c_void_p, POINTER(CTopicPartitionList), c_char_p, c_int32),
    "topic_partition_list_destroy": (None, POINTER(CTopicPartitionList)),
    "topic_name": (c_char_p, c_void_p),
    "err2name": (c_char_p, c_int),
    "version_str": (c_char_p,),
    "error_code": (c_int, c_void_p),
    "error_string": (c_char_p, c_void_p),
    "error_is_fatal": (c_int, c_void_p),
    "error_is_retriable": (c_int, c_void_p),
    "error_destroy": (None, c_void_p),
    "message_errstr": (c_char_p, POINTER(CMessage)),
    "message_delivery_count": (c_int16, POINTER(CMessage)),
    "message_timestamp": (c_int64, POINTER(CMessage), POINTER(c_int)),
    "message_headers": (c_int, POINTER(CMessage), POINTER(c_void_p)),
    "header_get_all": (c_int, c_void_p, c_size_t, POINTER(c_char_p), POINTER(c_void_p), POINTER(c_size_t)),
    "messages_count": (c_size_t, c_void_p),
    "messages_get": (POINTER(CMessage), c_void_p, c_size_t),
    "messages_destroy": (None, c_void_p),
    "share_consumer_new": (c_void_p, c_void_p, c_char_p, c_size_t),
    "share_set_acknowledgement_commit_cb": (c_void_p, c_void_p, COMMIT_CALLBACK, c_void_p),
    "share_subscribe": (c_int, c_void_p, POINTER(CTopicPartitionList)),
    "share_unsubscribe": (c_int, c_void_p),
    "share_subscription": (c_int, c_void_p, POINTER(POINTER(CTopicPartitionList))),
    "share_poll": (c_void_p, c_void_p, c_int, POINTER(c_void_p)),
    "share_acknowledge": (c_int, c_void_p, POINTER(CMessage)),
    "share_acknowledge_offset": (c_int, c_void_p, c_char_p, c_int32, c_int64, c_int),
    "share_commit_async": (c_void_p, c_void_p),
    "share_commit_sync": (c_void_p, c_void_p, c_int, POINTER(POINTER(CTopicPartitionList))),
    "share_consumer_close": (c_void_p, c_void_p),
    "share_consumer_closed": (c_int, c_void_p),
    "share_destroy": (c_void_p, c_void_p),
    "share_partition_offsets_list_count": (c_size_t, c_void_p),
    "share_partition_offsets_list_get": (c_void_p, c_void_p, c_size_t),
    "share_partition_offsets_partition": (POINTER(CTopicPartition), c_void_p),
    "share_partition_offsets_offsets": (POINTER(c_int64), c_void_p),
    "share_partition_offsets_offsets_cnt": (c_size_t, c_void_p),
}


class Library:
    """The functions of one library, without the prefix rd_kafka_."""

    def __init__(self, path):
        self.dll = ctypes.CDLL(str(path))
        for name, (result, *parameters) in SIGNATURES.items():
            function = getattr(self.dll, f"rd_kafka_{name}")
            function.restype = result
            function.argtypes = parameters
            setattr(self, name, function)


@functools.cache
def load(folder):
    return Library(Path(folder) / "librdkafka.so.1")


class Error(Exception):
    """An error of the library: `code`, its `name`, and the `text`."""

    def __init__(self, code, name, text, fatal=False):
        super().__init__(f"{name} ({code}): {text}")
        self.code, self.name, self.text, self.fatal = code, name, text, fatal


@dataclass(frozen=True)
class Record:
    """A record that a poll returned; with a `code` and its `text` when it could not be read."""

    topic: str
    partition: int
    offset: int
    delivery_count: int
    key: bytes | None
    value: bytes | None
    headers: tuple
    code: int = 0
    text: str = ""


class Consumer:
    """A share consumer. `results`: (topic, partition, offsets, name of the error) of each call of the callback."""

    def __init__(self, folder, settings, callback=True):
        self.lib = load(folder)
        conf = self.lib.conf_new()
        reason = ctypes.create_string_buffer(512)
        for name, value in settings.items():
            code = self.lib.conf_set(conf, name.encode(), str(value).encode(), reason, len(reason))
            if code != CONF_OK:
                self.lib.conf_destroy(conf)
                raise Error(code, "conf", reason.value.decode())
        self.handle = self.lib.share_consumer_new(conf, reason, len(reason))
        if not self.handle:
            self.lib.conf_destroy(conf)
            raise Error(-1, "new", reason.value.decode())
        self.results = []
        self.callback = COMMIT_CALLBACK(self._on_commit)
        if callback:
            self.check(self.lib.share_set_acknowledgement_commit_cb(self.handle, self.callback, None))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.handle:
            self.destroy()

    def _on_commit(self, _share, offsets, code, _opaque):
        for index in range(self.lib.share_partition_offsets_list_count(offsets)):
            row = self.lib.share_partition_offsets_list_get(offsets, index)
            partition = self.lib.share_partition_offsets_partition(row).contents
            count = self.lib.share_partition_offsets_offsets_cnt(row)
            numbers = self.lib.share_partition_offsets_offsets(row)
            self.results.append((partition.topic.decode(), partition.partition, [numbers[n] for n in range(count)],
                                 self.name(code)))

    def name(self, code):
        return self.lib.err2name(code).decode()

    def check(self, error):
        """Raises an rd_kafka_error_t, which it destroys."""
        if not error:
            return
        code, text = self.lib.error_code(error), self.lib.error_string(error).decode()
        fatal = bool(self.lib.error_is_fatal(error))
        self.lib.error_destroy(error)
        raise Error(code, self.name(code), text, fatal)

    def check_code(self, code, what):
        if code != NO_ERROR:
            raise Error(code, self.name(code), what)

    def subscribe(self, *topics):
        names = self.lib.topic_partition_list_new(len(topics))
        for topic in topics:
            self.lib.topic_partition_list_add(names, topic.encode(), -1)
        code = self.lib.share_subscribe(self.handle, names)
        self.lib.topic_partition_list_destroy(names)
        self.check_code(code, "subscribe")

    def unsubscribe(self):
        self.check_code(self.lib.share_unsubscribe(self.handle), "unsubscribe")

    def subscription(self):
        found = POINTER(CTopicPartitionList)()
        self.check_code(self.lib.share_subscription(self.handle, byref(found)), "subscription")
        names = [found.contents.elems[n].topic.decode() for n in range(found.contents.cnt)]
        self.lib.topic_partition_list_destroy(found)
        return names

    def poll(self, timeout_s=1.0):
        """Returns the records of one poll."""
        batch = c_void_p()
        self.check(self.lib.share_poll(self.handle, int(timeout_s * 1000), byref(batch)))
        if not batch:
            return []
        count = self.lib.messages_count(batch)
        records = [self._record(self.lib.messages_get(batch, n)) for n in range(count)]
        self.lib.messages_destroy(batch)
        return records

    def poll_until(self, count, timeout_s=30.0, acknowledge=None):
        """Polls until `count` records arrived; acknowledges each of a poll with the type `acknowledge`."""
        import time
        records, end = [], time.monotonic() + timeout_s
        while len(records) < count and time.monotonic() < end:
            fresh = self.poll(0.5)
            records += fresh
            for record in fresh if acknowledge else ():
                self.acknowledge(record, acknowledge)
        return records

    def _record(self, message):
        m = message.contents
        topic = self.lib.topic_name(m.rkt).decode() if m.rkt else ""
        text = self.lib.message_errstr(message).decode() if m.err else ""
        return Record(topic, m.partition, m.offset, self.lib.message_delivery_count(message),
                      ctypes.string_at(m.key, m.key_len) if m.key else None,
                      ctypes.string_at(m.payload, m.len) if m.payload else None,
                      self._headers(message), m.err, text)

    def _headers(self, message):
        headers, found = c_void_p(), []
        if self.lib.message_headers(message, byref(headers)) != NO_ERROR:
            return ()
        name, value, size = c_char_p(), c_void_p(), c_size_t()
        while self.lib.header_get_all(headers, len(found), byref(name), byref(value), byref(size)) == NO_ERROR:
            data = ctypes.string_at(value, size.value) if value.value else None
            found.append((name.value.decode(), data))
        return tuple(found)

    def acknowledge(self, record, kind=ACCEPT):
        code = self.lib.share_acknowledge_offset(self.handle, record.topic.encode(), record.partition, record.offset, kind)
        self.check_code(code, f"acknowledge {record.topic} [{record.partition}] {record.offset}")

    def commit_async(self):
        self.check(self.lib.share_commit_async(self.handle))

    def commit_sync(self, timeout_s=10.0):
        """Returns {(topic, partition): name of the error}, or None when there was nothing to commit."""
        found = POINTER(CTopicPartitionList)()
        self.check(self.lib.share_commit_sync(self.handle, int(timeout_s * 1000), byref(found)))
        if not found:
            return None
        rows = [found.contents.elems[n] for n in range(found.contents.cnt)]
        result = {(row.topic.decode(), row.partition): self.name(row.err) for row in rows}
        self.lib.topic_partition_list_destroy(found)
        return result

    def close(self):
        self.check(self.lib.share_consumer_close(self.handle))

    def closed(self):
        return bool(self.lib.share_consumer_closed(self.handle))

    def destroy(self):
        """Closes the consumer if it is open, and releases it."""
        self.check(self.lib.share_destroy(self.handle))
        self.handle = None
