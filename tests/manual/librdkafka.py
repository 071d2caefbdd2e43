"""A small binding of librdkafka.so.1 with ctypes: only the functions that the tests of the manual call.

The library comes from OTTLA_LIB_DIR, build/lib by default. Errors are names without their prefix, as in
"_MSG_TIMED_OUT"; success is "NO_ERROR". Times are seconds of time.monotonic(), settings those of the configuration.
"""

import ctypes
import mmap
import os
import threading
import time
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIB_DIR = Path(os.environ.get("OTTLA_LIB_DIR") or ROOT / "build" / "lib")

PRODUCER, CONSUMER = 0, 1
UNASSIGNED = -1
OFFSET_BEGINNING, OFFSET_END, OFFSET_STORED, OFFSET_INVALID = -2, -1, -1000, -1001
NOT_PERSISTED, POSSIBLY_PERSISTED, PERSISTED = "not persisted", "possibly persisted", "persisted"
STATUSES = (NOT_PERSISTED, POSSIBLY_PERSISTED, PERSISTED)
MSG_F_COPY = 2
PURGE_QUEUE, PURGE_INFLIGHT, PURGE_NON_BLOCKING = 1, 2, 4
NO_CONSUMER_CLOSE = 8


class _Message(Structure):
    _fields_ = [("err", c_int), ("rkt", c_void_p), ("partition", c_int32), ("payload", c_void_p), ("len", c_size_t),
                ("key", c_void_p), ("key_len", c_size_t), ("offset", c_int64), ("private", c_void_p)]


class _TopicPartition(Structure):
    _fields_ = [("topic", c_char_p), ("partition", c_int32), ("offset", c_int64), ("metadata", c_void_p),
                ("metadata_size", c_size_t), ("opaque", c_void_p), ("err", c_int), ("private", c_void_p)]


class _TopicPartitionList(Structure):
    _fields_ = [("cnt", c_int), ("size", c_int), ("elems", POINTER(_TopicPartition))]


class _MetadataPartition(Structure):
    _fields_ = [("id", c_int32), ("err", c_int), ("leader", c_int32), ("replica_cnt", c_int), ("replicas", c_void_p),
                ("isr_cnt", c_int), ("isrs", c_void_p)]


class _MetadataTopic(Structure):
    _fields_ = [("topic", c_char_p), ("partition_cnt", c_int), ("partitions", POINTER(_MetadataPartition)),
                ("err", c_int)]


class _MetadataBroker(Structure):
    _fields_ = [("id", c_int32), ("host", c_char_p), ("port", c_int)]


class _Metadata(Structure):
    _fields_ = [("broker_cnt", c_int), ("brokers", POINTER(_MetadataBroker)), ("topic_cnt", c_int),
                ("topics", POINTER(_MetadataTopic)), ("orig_broker_id", c_int32), ("orig_broker_name", c_char_p)]


_DeliveryCallback = CFUNCTYPE(None, c_void_p, POINTER(_Message), c_void_p)
_ErrorCallback = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
_LogCallback = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
_ThrottleCallback = CFUNCTYPE(None, c_void_p, c_char_p, c_int32, c_int, c_void_p)
_StatsCallback = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
_CommitCallback = CFUNCTYPE(None, c_void_p, c_int, POINTER(_TopicPartitionList), c_void_p)

_LIST = POINTER(_TopicPartitionList)

# Function, result, arguments.
_FUNCTIONS = """
    version_str            str
    err2name               str   int
    last_error             int
    conf_new               ptr
    conf_destroy           none  ptr
    conf_set               int   ptr str str str size
    conf_get               int   ptr str str ptr
    conf_set_dr_msg_cb     none  ptr ptr
    conf_set_error_cb      none  ptr ptr
    conf_set_log_cb        none  ptr ptr
    conf_set_throttle_cb   none  ptr ptr
    conf_set_stats_cb      none  ptr ptr
    conf_set_offset_commit_cb none ptr ptr
    topic_conf_new         ptr
    topic_conf_set         int   ptr str str str size
    new                    ptr   int ptr str size
    destroy                none  ptr
    destroy_flags          none  ptr int
    poll                   int   ptr int
    flush                  int   ptr int
    purge                  int   ptr int
    outq_len               int   ptr
    brokers_add            int   ptr str
    clusterid              ptr   ptr int
    controllerid           i32   ptr int
    mem_free               none  ptr ptr
    fatal_error            int   ptr str size
    test_fatal_error       int   ptr int str
    topic_new              ptr   ptr str ptr
    topic_destroy          none  ptr
    topic_name             str   ptr
    produce                int   ptr i32 int str size str size ptr
    message_status         int   ptr
    message_timestamp      i64   ptr ptr
    message_destroy        none  ptr
    metadata               int   ptr int ptr ptr int
    metadata_destroy       none  ptr
    query_watermark_offsets int  ptr str i32 ptr ptr int
    poll_set_consumer      int   ptr
    subscribe              int   ptr ptr
    assign                 int   ptr ptr
    consumer_poll          ptr   ptr int
    consumer_close         int   ptr
    commit                 int   ptr ptr int
    committed              int   ptr ptr int
    offsets_store          int   ptr ptr
    topic_partition_list_new ptr int
    topic_partition_list_add ptr ptr str i32
    topic_partition_list_destroy none ptr
    consume_start          int   ptr i32 i64
    consume_stop           int   ptr i32
    consume                ptr   ptr i32 int
"""
_TYPES = {"none": None, "int": c_int, "i32": c_int32, "i64": c_int64, "size": c_size_t, "str": c_char_p,
          "ptr": c_void_p}


class _Library:
    """The functions of librdkafka.so.1, without their prefix."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path), use_errno=True)
        for line in _FUNCTIONS.split("\n"):
            if line.strip():
                name, result, *arguments = line.split()
                function = getattr(self._library, f"rd_kafka_{name}")
                function.restype = _TYPES[result]
                function.argtypes = [_TYPES[a] for a in arguments]
                setattr(self, name, function)


def _is_reference(path):
    """True if the library is librdkafka itself: this project's contains the names of its source files for panics."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"crates/core/src") < 0


_PATH = LIB_DIR / "librdkafka.so.1"
REFERENCE = _is_reference(_PATH)
_lib = _Library(_PATH)


def name_of(code):
    return _lib.err2name(code).decode()


class Refused(Exception):
    """The error of a setting, or of a client with these settings, with the library's text."""


def _set(conf, name, value):
    text = ctypes.create_string_buffer(512)
    value = {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value
    if _lib.conf_set(conf, name.encode(), str(value).encode(), text, len(text)) != 0:
        raise Refused(text.value.decode())


def setting(name, **settings):
    """Returns a property's value after others were set; keyword names have _ in place of dots."""
    conf = _lib.conf_new()
    try:
        for key, value in settings.items():
            _set(conf, key.replace("_", "."), value)
        text, size = ctypes.create_string_buffer(512), c_size_t(512)
        if _lib.conf_get(conf, name.encode(), text, byref(size)) != 0:
            raise Refused(name)
        return text.value.decode()
    finally:
        _lib.conf_destroy(conf)


@dataclass(frozen=True)
class Report:
    """A delivery report."""
    value: str
    err: str
    status: str
    partition: int
    offset: int
    timestamp: int
    at: float


@dataclass(frozen=True)
class Error:
    """The arguments of the error callback."""
    err: str
    text: str
    at: float


@dataclass(frozen=True)
class Log:
    level: int
    facility: str
    text: str
    at: float


@dataclass(frozen=True)
class Throttle:
    broker: str
    broker_id: int
    ms: int


@dataclass(frozen=True)
class Commit:
    """The arguments of the offset commit callback: the error and (topic, partition, offset, error)s."""
    err: str
    partitions: tuple
    thread: int


@dataclass(frozen=True)
class Record:
    """The result of a consumer poll: a message or an error."""
    err: str
    topic: str
    partition: int
    offset: int
    value: str
    key: str
    at: float


def _text(address, length):
    return ctypes.string_at(address, length).decode(errors="replace") if address else None


class Client:
    """A client with all its callbacks recorded. Settings are a dict; a value may be a number or a bool."""

    kind = None

    def __init__(self, settings):
        self.reports, self.errors, self.logs, self.throttles = [], [], [], []
        self.commits, self.statistics = [], []
        self._topics = {}
        conf = _lib.conf_new()
        try:
            for name, value in settings.items():
                _set(conf, name, value)
        except Refused:
            _lib.conf_destroy(conf)
            raise
        # Kept: the library holds only their addresses.
        self._callbacks = [
            (_lib.conf_set_error_cb, _ErrorCallback(self._on_error)),
            (_lib.conf_set_log_cb, _LogCallback(self._on_log)),
            (_lib.conf_set_throttle_cb, _ThrottleCallback(self._on_throttle)),
            (_lib.conf_set_stats_cb, _StatsCallback(self._on_stats)),
        ]
        self._callbacks += self._more_callbacks()
        for register, callback in self._callbacks:
            register(conf, ctypes.cast(callback, c_void_p))
        text = ctypes.create_string_buffer(512)
        self._handle = _lib.new(self.kind, conf, text, len(text))
        if not self._handle:
            _lib.conf_destroy(conf)
            raise Refused(text.value.decode())

    def _more_callbacks(self):
        return []

    def _on_error(self, _handle, err, text, _opaque):
        self.errors.append(Error(name_of(err), (text or b"").decode(errors="replace"), time.monotonic()))

    def _on_log(self, _handle, level, facility, text):
        self.logs.append(Log(level, facility.decode(), text.decode(errors="replace"), time.monotonic()))

    def _on_throttle(self, _handle, broker, broker_id, ms, _opaque):
        self.throttles.append(Throttle(broker.decode(), broker_id, ms))

    def _on_stats(self, _handle, json, length, _opaque):
        self.statistics.append(_text(json, length))
        return 0

    def topic(self, name, settings=None):
        """The topic object of a name, created with topic settings the first time."""
        if name not in self._topics:
            conf = None
            if settings:
                conf = _lib.topic_conf_new()
                text = ctypes.create_string_buffer(512)
                for key, value in settings.items():
                    if _lib.topic_conf_set(conf, key.encode(), str(value).encode(), text, len(text)) != 0:
                        raise Refused(text.value.decode())
            topic = _lib.topic_new(self._handle, name.encode(), conf)
            if not topic:
                raise Refused(name_of(_lib.last_error()))
            self._topics[name] = topic
        return self._topics[name]

    def poll(self, seconds=0.0):
        return _lib.poll(self._handle, int(seconds * 1000))

    def serve(self, seconds):
        """Calls callbacks for so long."""
        self.wait(lambda: False, seconds)

    def wait(self, condition, seconds=10.0):
        """Calls callbacks until a condition holds. Returns whether it did in time."""
        end = time.monotonic() + seconds
        while not condition():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.poll(min(left, 0.02))
        return True

    def brokers_add(self, servers):
        return _lib.brokers_add(self._handle, servers.encode())

    def cluster_id(self, seconds):
        address = _lib.clusterid(self._handle, int(seconds * 1000))
        if not address:
            return None
        text = ctypes.string_at(address).decode()
        _lib.mem_free(self._handle, address)
        return text

    def controller_id(self, seconds):
        return _lib.controllerid(self._handle, int(seconds * 1000))

    def metadata(self, seconds, topic=None):
        """The error, the ids of the brokers, and the leaders of each topic's partitions."""
        answer = POINTER(_Metadata)()
        only = self.topic(topic) if topic else None
        err = _lib.metadata(self._handle, 0 if only else 1, only, byref(answer), int(seconds * 1000))
        if err != 0:
            return name_of(err), [], {}
        brokers = [answer[0].brokers[i].id for i in range(answer[0].broker_cnt)]
        topics = {}
        for i in range(answer[0].topic_cnt):
            found = answer[0].topics[i]
            topics[found.topic.decode()] = [found.partitions[p].leader for p in range(found.partition_cnt)]
        _lib.metadata_destroy(answer)
        return name_of(err), brokers, topics

    def watermarks(self, topic, partition, seconds):
        """The error, the first and the next offset of a partition."""
        low, high = c_int64(-1), c_int64(-1)
        err = _lib.query_watermark_offsets(
            self._handle, topic.encode(), partition, byref(low), byref(high), int(seconds * 1000))
        return name_of(err), low.value, high.value

    def fatal_error(self):
        text = ctypes.create_string_buffer(512)
        return name_of(_lib.fatal_error(self._handle, text, len(text)))

    def raise_fatal_error(self, code, reason):
        return name_of(_lib.test_fatal_error(self._handle, code, reason.encode()))

    def error_codes(self):
        return [error.err for error in self.errors]

    def close(self):
        if self._handle:
            for topic in self._topics.values():
                _lib.topic_destroy(topic)
            self._destroy()
            self._handle = None

    def _destroy(self):
        _lib.destroy(self._handle)


class Producer(Client):
    kind = PRODUCER

    def _more_callbacks(self):
        return [(_lib.conf_set_dr_msg_cb, _DeliveryCallback(self._on_delivery))]

    def _on_delivery(self, _handle, message, _opaque):
        m = message[0]
        kind = c_int()
        self.reports.append(Report(
            _text(m.payload, m.len), name_of(m.err), STATUSES[_lib.message_status(message)], m.partition, m.offset,
            _lib.message_timestamp(message, byref(kind)), time.monotonic()))

    def produce(self, topic, value, partition=0, key=None):
        """Produces without waiting. Returns the error's name and errno."""
        value, key = value.encode(), key.encode() if key else None
        ctypes.set_errno(0)
        done = _lib.produce(self.topic(topic), partition, MSG_F_COPY, value, len(value), key, len(key or b""), None)
        errno = ctypes.get_errno()
        return ("NO_ERROR", 0) if done == 0 else (name_of(_lib.last_error()), errno)

    def must_produce(self, topic, *values, partition=0):
        for value in values:
            err, _ = self.produce(topic, value, partition)
            if err != "NO_ERROR":
                raise AssertionError(f"produce({value}): {err}")

    def flush(self, seconds):
        return name_of(_lib.flush(self._handle, int(seconds * 1000)))

    def purge(self, flags):
        return name_of(_lib.purge(self._handle, flags))

    def queued(self):
        return _lib.outq_len(self._handle)

    def reported(self, count, seconds=10.0):
        """Returns the first `count` reports in the order of their arrival; fewer at the timeout."""
        self.wait(lambda: len(self.reports) >= count, seconds)
        return self.reports[:count]

    def _destroy(self):
        # Pending messages must not delay the test.
        _lib.purge(self._handle, PURGE_QUEUE | PURGE_INFLIGHT)
        self.poll()
        super()._destroy()


def _list(partitions):
    """A partition list of (topic, partition[, offset])s."""
    made = ctypes.cast(_lib.topic_partition_list_new(len(partitions)), _LIST)
    for topic, partition, *offset in partitions:
        element = ctypes.cast(_lib.topic_partition_list_add(made, topic.encode(), partition), POINTER(_TopicPartition))
        if offset:
            element[0].offset = offset[0]
    return made


def _elements(listed):
    if not listed:
        return ()
    found = (listed[0].elems[i] for i in range(listed[0].cnt))
    return tuple((e.topic.decode(), e.partition, e.offset, name_of(e.err)) for e in found)


class Consumer(Client):
    kind = CONSUMER

    def __init__(self, settings, legacy=False):
        super().__init__(settings)
        if not legacy:
            _lib.poll_set_consumer(self._handle)

    def _more_callbacks(self):
        return [(_lib.conf_set_offset_commit_cb, _CommitCallback(self._on_commit))]

    def _on_commit(self, _handle, err, listed, _opaque):
        self.commits.append(Commit(name_of(err), _elements(listed), threading.get_ident()))

    def subscribe(self, *topics):
        listed = _list([(topic, UNASSIGNED) for topic in topics])
        err = _lib.subscribe(self._handle, listed)
        _lib.topic_partition_list_destroy(listed)
        return name_of(err)

    def assign(self, *partitions):
        listed = _list(partitions)
        err = _lib.assign(self._handle, listed)
        _lib.topic_partition_list_destroy(listed)
        return name_of(err)

    def consume(self, seconds=0.1):
        """The next message or error, or None."""
        return self._record(_lib.consumer_poll(self._handle, int(seconds * 1000)))

    @staticmethod
    def _record(address):
        if not address:
            return None
        m = ctypes.cast(address, POINTER(_Message))[0]
        topic = _lib.topic_name(m.rkt).decode() if m.rkt else None
        record = Record(name_of(m.err), topic, m.partition, m.offset, _text(m.payload, m.len),
                        _text(m.key, m.key_len), time.monotonic())
        _lib.message_destroy(address)
        return record

    def poll(self, seconds=0.0):
        raise AssertionError("a consumer is served by consume()")

    def wait(self, condition, seconds=10.0):
        raise AssertionError("a consumer waits with consumed()")

    def consumed(self, count, seconds=10.0):
        """Polls for `count` messages and errors until the timeout, and returns them."""
        records, end = [], time.monotonic() + seconds
        while len(records) < count and time.monotonic() < end:
            record = self.consume(min(0.05, max(0.0, end - time.monotonic())))
            if record:
                records.append(record)
        return records

    def consumed_until(self, condition, seconds=10.0):
        """Polls until a condition on the records so far holds or time ran out; returns them."""
        records, end = [], time.monotonic() + seconds
        while not condition(records) and time.monotonic() < end:
            record = self.consume(0.02)
            if record:
                records.append(record)
        return records

    def commit(self, *partitions, blocking=True):
        """Commits (topic, partition, offset)s, or without any what is stored."""
        listed = _list(partitions) if partitions else None
        err = _lib.commit(self._handle, listed, int(not blocking))
        if listed:
            _lib.topic_partition_list_destroy(listed)
        return name_of(err)

    def committed(self, topic, partition, seconds=5.0):
        listed = _list([(topic, partition)])
        err = _lib.committed(self._handle, listed, int(seconds * 1000))
        offset = listed[0].elems[0].offset
        _lib.topic_partition_list_destroy(listed)
        return offset if err == 0 else name_of(err)

    def store_offsets(self, *partitions):
        listed = _list(partitions)
        err = _lib.offsets_store(self._handle, listed)
        _lib.topic_partition_list_destroy(listed)
        return name_of(err)

    def leave(self):
        return name_of(_lib.consumer_close(self._handle))

    def start(self, topic, partition, offset):
        """Starts the legacy consumer for a partition."""
        return _lib.consume_start(self.topic(topic), partition, offset)

    def stop(self, topic, partition):
        return _lib.consume_stop(self.topic(topic), partition)

    def consume_partition(self, topic, partition, seconds):
        return self._record(_lib.consume(self.topic(topic), partition, int(seconds * 1000)))

    def _destroy(self):
        # A coordinator that does not answer must not hold a test up.
        _lib.destroy_flags(self._handle, NO_CONSUMER_CLOSE)
