/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_sharepp.h: share consumers (KIP-932) in C++11, which rdkafkacpp.h does not have. The header is a
 * layer over the functions of rdkafka.h and ottla_share.h, and needs no library but librdkafka.
 *
 *      ottla::share::Conf conf;
 *      conf.set("bootstrap.servers", "localhost:9092");
 *      conf.set("group.id", "workers");
 *      conf.set("share.acknowledgement.mode", "explicit");
 *      auto created = ottla::share::Consumer::create(conf);
 *      if (!created.ok())
 *              return fail(created.error().text);
 *      ottla::share::Consumer &consumer = *created.value();
 *      consumer.subscribe({"jobs"});
 *      while (running) {
 *              auto polled = consumer.poll(1000);
 *              if (!polled.ok())
 *                      std::cerr << polled.error().text << "\n";
 *              for (const ottla::share::Record &record : polled.value())
 *                      if (!record.error())
 *                              consumer.acknowledge(record, work(record) ? ottla::share::Acknowledge::ACCEPT
 *                                                                        : ottla::share::Acknowledge::RELEASE);
 *      }
 *      consumer.close();
 *
 * Rules that hold for every method:
 *
 *  - ERRORS. Methods return an Error, or a Result with an error or a value. None throws but for a lack of
 *    memory, and for exceptions of the application's callbacks: the call that served the callback throws
 *    them again at its end. RdKafka::ErrorCode does not name all codes of share groups: compare with
 *    `error.code == static_cast<RdKafka::ErrorCode>(RD_KAFKA_RESP_ERR_INVALID_RECORD_STATE)`.
 *  - OWNERSHIP. Consumer, Conf and Records own the C objects that they wrap. A Record belongs to its
 *    Records.
 *  - THREADS. One thread at a time uses a Consumer; a call while another thread is in one returns
 *    ERR__CONFLICT. Records may be read by any thread. closed(), wakeup() and
 *    lock_timeout_ms() are thread-safe.
 *  - CALLBACKS. They are called by poll(), commit_async(), commit_sync(), close() and the destructor. In
 *    a callback, every method of its consumer returns ERR__STATE. A callback must not destroy it.
 *
 * docs/SHARE.md is the guide to share groups.
 */

#ifndef _OTTLA_SHAREPP_H_
#define _OTTLA_SHAREPP_H_

#include <stdint.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ottla_adminpp_convert.h"
#include "ottla_adminpp_types.h"
#include "ottla_share.h"
#include "rdkafka.h"

namespace ottla {
namespace share {

using admin::Error;
using admin::None;
using admin::Result;
using admin::Results;
using admin::TopicPartition;

/** The acknowledgement of a record. */
enum class Acknowledge {
        ACCEPT,  /**< Processed: not delivered again. */
        RELEASE, /**< Not processed: available for another delivery to any member. */
        REJECT,  /**< Cannot be processed: not delivered again. */
        RENEW    /**< Still being processed: its lock is renewed (KIP-1222, Kafka 4.2). The record is
                      acknowledged again later, after polls as well. */
};

/** The result of acknowledgements of one partition, as one response of a broker has it. */
struct AcknowledgementResult {
        TopicPartition partition;
        std::vector<int64_t> offsets; /**< In ascending order. */
        Error error;                  /**< After an error the records may be delivered again. */
};

/* ==========================================================================
 *  RECORDS
 * ========================================================================== */

/** A header of a record. */
struct Header {
        std::string name;
        std::string value; /**< Empty for a null value. */
        bool is_null;
};

/**
 * A record that is locked for this member, or the error of records that cannot be read, which the library
 * has acknowledged. Refers to its Records, which must live longer.
 */
class Record {
       public:
        /** Wraps a message of a share consumer, which must live longer. */
        explicit Record(const rd_kafka_message_t *message) : message_(message) {
        }

        /** Returns the error of records that cannot be read; no error for a record. */
        Error error() const {
                return message_->err ? admin::detail::error(message_->err, rd_kafka_message_errstr(message_))
                                     : Error();
        }

        std::string topic() const {
                return rd_kafka_topic_name(message_->rkt);
        }

        int32_t partition() const {
                return message_->partition;
        }

        /** Returns the offset; of records that cannot be read the first one. */
        int64_t offset() const {
                return message_->offset;
        }

        /** Returns whether the record has a key, possibly an empty one. */
        bool has_key() const {
                return message_->key != NULL;
        }

        /** Returns a copy of the key; empty without one. */
        std::string key() const {
                return copy(message_->key, message_->key_len);
        }

        /** Returns whether the record has a value, possibly an empty one. A record without is a tombstone. */
        bool has_value() const {
                return message_->payload != NULL;
        }

        /** Returns a copy of the value; empty without one. */
        std::string value() const {
                return copy(message_->payload, message_->len);
        }

        /** Returns the bytes of the value without a copy; NULL without one. */
        const void *payload() const {
                return message_->payload;
        }

        /** Returns the size of the value in bytes. */
        size_t len() const {
                return message_->len;
        }

        /** Returns the headers, in order and with duplicates. */
        std::vector<Header> headers() const {
                std::vector<Header> headers;
                rd_kafka_headers_t *from;
                if (rd_kafka_message_headers(message_, &from))
                        return headers;
                const char *name;
                const void *value;
                size_t size;
                for (size_t i = 0; !rd_kafka_header_get_all(from, i, &name, &value, &size); i++)
                        headers.push_back(Header{name, copy(value, size), value == NULL});
                return headers;
        }

        /** Returns the timestamp in milliseconds since 1970; -1 for none. */
        int64_t timestamp_ms() const {
                return rd_kafka_message_timestamp(message_, NULL);
        }

        /**
         * Returns how often the broker has delivered the record to a member of the group, this time
         * included: 1 at first; 0 for an error.
         */
        int16_t delivery_count() const {
                return rd_kafka_message_delivery_count(message_);
        }

        /** Returns the message, which belongs to Records. */
        const rd_kafka_message_t *c_ptr() const {
                return message_;
        }

       private:
        static std::string copy(const void *data, size_t size) {
                return data ? std::string(static_cast<const char *>(data), size) : std::string();
        }

        const rd_kafka_message_t *message_;
};

/** The records of one poll, which one broker has locked for this member. Empty when there were none. */
class Records {
       public:
        Records() {
        }

        /** Takes ownership of messages; NULL is none. */
        explicit Records(rd_kafka_messages_t *messages) : messages_(messages) {
        }

        class const_iterator {
               public:
                typedef std::forward_iterator_tag iterator_category;
                typedef Record value_type;
                typedef std::ptrdiff_t difference_type;
                typedef const Record *pointer;
                typedef Record reference;

                const_iterator(const Records *records, size_t index) : records_(records), index_(index) {
                }

                Record operator*() const {
                        return (*records_)[index_];
                }

                const_iterator &operator++() {
                        index_++;
                        return *this;
                }

                const_iterator operator++(int) {
                        const_iterator before = *this;
                        index_++;
                        return before;
                }

                bool operator==(const const_iterator &other) const {
                        return index_ == other.index_ && records_ == other.records_;
                }

                bool operator!=(const const_iterator &other) const {
                        return !(*this == other);
                }

               private:
                const Records *records_;
                size_t index_;
        };

        const_iterator begin() const {
                return const_iterator(this, 0);
        }

        const_iterator end() const {
                return const_iterator(this, size());
        }

        /** Returns the number of records and errors. */
        size_t size() const {
                return rd_kafka_messages_count(messages_.get());
        }

        bool empty() const {
                return size() == 0;
        }

        /** Returns a record by its index, which must be less than size(). */
        Record operator[](size_t index) const {
                return Record(rd_kafka_messages_get(messages_.get(), index));
        }

       private:
        struct Destroy {
                void operator()(rd_kafka_messages_t *messages) const {
                        rd_kafka_messages_destroy(messages);
                }
        };

        std::unique_ptr<rd_kafka_messages_t, Destroy> messages_;
};

/* ==========================================================================
 *  CONFIGURATION
 * ========================================================================== */

namespace detail {

struct Callbacks {
        std::function<void(const Error &)> on_error;
        std::function<void(const std::string &)> on_statistics;
};

/** The state of the callbacks of a consumer. Its address is their opaque pointer. */
struct State {
        Callbacks callbacks;
        std::function<void(const AcknowledgementResult &)> on_acknowledged;
        /** The first exception of a callback in the present call. */
        std::exception_ptr thrown;

        /** Calls a callback from C code, which exceptions must not leave. Returns false if there is one. */
        template <class Call>
        bool guard(Call call) {
                try {
                        call();
                        return true;
                } catch (...) {
                        if (!thrown)
                                thrown = std::current_exception();
                        return false;
                }
        }

        /** Throws the exception of a callback. */
        void rethrow() {
                if (!thrown)
                        return;
                std::exception_ptr exception;
                exception.swap(thrown);
                std::rethrow_exception(exception);
        }

        static void error_cb(rd_kafka_t *rk, int code, const char *reason, void *opaque) {
                State *state = static_cast<State *>(opaque);
                if (!state->guard([&] {
                            state->callbacks.on_error(
                                admin::detail::error(static_cast<rd_kafka_resp_err_t>(code), reason));
                    }))
                        rd_kafka_yield(rk);
        }

        static int stats_cb(rd_kafka_t *rk, char *json, size_t len, void *opaque) {
                State *state = static_cast<State *>(opaque);
                if (!state->guard([&] { state->callbacks.on_statistics(std::string(json, len)); }))
                        rd_kafka_yield(rk);
                return 0;
        }

        static void acknowledged_cb(rd_kafka_share_t *share,
                                    rd_kafka_share_partition_offsets_list_t *list,
                                    rd_kafka_resp_err_t err,
                                    void *opaque) {
                State *state = static_cast<State *>(opaque);
                if (!state->guard([&] {
                            for (size_t i = 0; i < rd_kafka_share_partition_offsets_list_count(list); i++)
                                    state->on_acknowledged(
                                        result(rd_kafka_share_partition_offsets_list_get(list, i), err));
                    }))
                        rd_kafka_share_wakeup(share);
        }

        static AcknowledgementResult result(const rd_kafka_share_partition_offsets_t *from,
                                            rd_kafka_resp_err_t err) {
                const rd_kafka_topic_partition_t *partition = rd_kafka_share_partition_offsets_partition(from);
                const int64_t *offsets = rd_kafka_share_partition_offsets_offsets(from);
                AcknowledgementResult result;
                result.partition = TopicPartition(partition->topic, partition->partition);
                result.offsets.assign(offsets, offsets + rd_kafka_share_partition_offsets_offsets_cnt(from));
                result.error = admin::detail::error(err, NULL);
                return result;
        }
};

}  // namespace detail

/** The configuration of share consumers. Can be used for several. */
class Conf {
       public:
        Conf() : conf_(rd_kafka_conf_new()) {
        }

        /**
         * Sets a property; docs/CONFIGURATION.md lists them. `group.id` is required.
         *
         * Errors: ERR__INVALID_ARG for a value that the property does not have, ERR__NOT_CONFIGURED for a
         * name that is no property. Consumer::create() refuses properties that share consumers do not have.
         */
        Error set(const std::string &name, const std::string &value) {
                char errstr[512];
                switch (rd_kafka_conf_set(conf_.get(), name.c_str(), value.c_str(), errstr, sizeof(errstr))) {
                case RD_KAFKA_CONF_OK:
                        return Error();
                case RD_KAFKA_CONF_UNKNOWN:
                        return Error(RdKafka::ERR__NOT_CONFIGURED, errstr);
                default:
                        return admin::detail::invalid(errstr);
                }
        }

        /**
         * Sets the receiver of the errors of the client as a whole, such as ERR__ALL_BROKERS_DOWN. The
         * client recovers from them by itself; fatal errors are returned by poll().
         */
        void on_error(std::function<void(const Error &)> callback) {
                callbacks_.on_error = std::move(callback);
        }

        /** Sets the receiver of statistics, JSON as docs/STATISTICS.md describes (`statistics.interval.ms`). */
        void on_statistics(std::function<void(const std::string &)> callback) {
                callbacks_.on_statistics = std::move(callback);
        }

        /**
         * Returns the configuration, which belongs to this object, for functions of rdkafka.h, such as
         * rd_kafka_conf_set_log_cb(). The opaque pointer is the library's.
         */
        rd_kafka_conf_t *c_ptr() const {
                return conf_.get();
        }

       private:
        friend class Consumer;

        struct Destroy {
                void operator()(rd_kafka_conf_t *conf) const {
                        rd_kafka_conf_destroy(conf);
                }
        };

        typedef std::unique_ptr<rd_kafka_conf_t, Destroy> Owned;

        Owned conf_;
        detail::Callbacks callbacks_;
};

/* ==========================================================================
 *  CONSUMER
 * ========================================================================== */

/** A member of a share group. */
class Consumer {
       public:
        /** The result of each partition. */
        typedef Results<TopicPartition, None> CommitResults;

        /**
         * Creates a consumer. It joins its group when it subscribes.
         *
         * Errors: ERR__INVALID_ARG without `group.id`, for properties that share consumers do not have and
         * for properties that contradict each other; ERR__CRIT_SYS_RESOURCE.
         */
        static Result<std::unique_ptr<Consumer>> create(const Conf &conf) {
                std::unique_ptr<Consumer> consumer(new Consumer());
                detail::State *state = consumer->state_.get();
                state->callbacks     = conf.callbacks_;
                Conf::Owned copy(rd_kafka_conf_dup(conf.c_ptr()));
                rd_kafka_conf_set_opaque(copy.get(), state);
                if (state->callbacks.on_error)
                        rd_kafka_conf_set_error_cb(copy.get(), detail::State::error_cb);
                if (state->callbacks.on_statistics)
                        rd_kafka_conf_set_stats_cb(copy.get(), detail::State::stats_cb);
                char errstr[512];
                consumer->share_ = rd_kafka_share_consumer_new(copy.get(), errstr, sizeof(errstr));
                if (!consumer->share_)
                        return admin::detail::error(rd_kafka_last_error(), errstr);
                copy.release();
                return Result<std::unique_ptr<Consumer>>(std::move(consumer));
        }

        Consumer(const Consumer &)            = delete;
        Consumer &operator=(const Consumer &) = delete;

        /** Closes the consumer as close() does, unless it is closed, and destroys it. */
        ~Consumer() {
                /* A consumer in use by another thread or in a callback remains, with its state. */
                if (share_ && admin::detail::owned_error(rd_kafka_share_destroy(share_)))
                        state_.release();
        }

        /* -- Subscription -- */

        /**
         * Joins the group for these topics, or replaces the topics. Names are literal. Without a topic it
         * leaves the group.
         *
         * Errors: ERR__INVALID_ARG for an empty name and for a name that is in the list twice, ERR__FATAL.
         */
        Error subscribe(const std::vector<std::string> &topics) {
                admin::detail::List list(rd_kafka_topic_partition_list_new(static_cast<int>(topics.size())));
                for (const std::string &topic : topics)
                        rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
                return admin::detail::error(rd_kafka_share_subscribe(share_, list.get()), NULL);
        }

        /** Leaves the group. */
        Error unsubscribe() {
                return admin::detail::error(rd_kafka_share_unsubscribe(share_), NULL);
        }

        /** Returns the subscribed topics. */
        Result<std::vector<std::string>> subscription() {
                rd_kafka_topic_partition_list_t *list = NULL;
                rd_kafka_resp_err_t err               = rd_kafka_share_subscription(share_, &list);
                admin::detail::List owned(list);
                if (err)
                        return admin::detail::error(err, NULL);
                std::vector<std::string> topics;
                for (int i = 0; i < list->cnt; i++)
                        topics.push_back(list->elems[i].topic);
                return topics;
        }

        /* -- Records -- */

        /**
         * Waits for records of a broker, for `timeout_ms` milliseconds at most, with -1 without limit; empty
         * when the time is up. It first sends the acknowledgements of the last poll; in implicit mode it
         * accepts its records. The pauses between polls must not exceed `max.poll.interval.ms`.
         *
         * When a callback has thrown, the records that the call received are returned by the next poll.
         *
         * Errors: ERR__STATE without a subscription, after close(), and in explicit mode while records of
         * the last poll are not acknowledged; ERR__MAX_POLL_EXCEEDED, after which the next poll joins the
         * group again; errors of the group and of topics, such as ERR_TOPIC_AUTHORIZATION_FAILED.
         */
        Result<Records> poll(int timeout_ms) {
                if (!pending_.empty())
                        return std::move(pending_);
                rd_kafka_messages_t *messages = NULL;
                Error error = admin::detail::owned_error(rd_kafka_share_poll(share_, timeout_ms, &messages));
                Records records(messages);
                if (state_->thrown)
                        pending_ = std::move(records);
                state_->rethrow();
                return error ? Result<Records>(std::move(error)) : Result<Records>(std::move(records));
        }

        /**
         * Acknowledges a record of the last poll, or changes its acknowledgement. The next poll or commit
         * sends it. Only in explicit mode.
         *
         * Errors: ERR__STATE in implicit mode, for a record that is not of the last poll, for one whose
         * acknowledgement was sent, and for an error.
         */
        Error acknowledge(const Record &record, Acknowledge type = Acknowledge::ACCEPT) {
                return admin::detail::error(
                    type == Acknowledge::RENEW
                        ? rd_kafka_share_renew(share_, record.c_ptr())
                        : rd_kafka_share_acknowledge_type(share_, record.c_ptr(), number(type)),
                    NULL);
        }

        /** Acknowledges a record of the last poll by its offset; see above. Its Records may be destroyed. */
        Error acknowledge(const TopicPartition &partition,
                          int64_t offset,
                          Acknowledge type = Acknowledge::ACCEPT) {
                const char *topic = partition.topic.c_str();
                return admin::detail::error(
                    type == Acknowledge::RENEW
                        ? rd_kafka_share_renew_offset(share_, topic, partition.partition, offset)
                        : rd_kafka_share_acknowledge_offset(share_, topic, partition.partition, offset,
                                                            number(type)),
                    NULL);
        }

        /**
         * Returns the duration of record locks in milliseconds as brokers state it; -1 before the first
         * records and with brokers older than Kafka 4.2. Thread-safe.
         */
        int lock_timeout_ms() const {
                return rd_kafka_share_lock_timeout_ms(share_);
        }

        /**
         * Ends the wait of the poll that is in progress, or else of the next one, which returns no records
         * then. Thread-safe: for other threads. Not for signal handlers.
         */
        void wakeup() {
                rd_kafka_share_wakeup(share_);
        }

        /* -- Commits and their results -- */

        /**
         * Sends acknowledgements without waiting for their results. In implicit mode it accepts the records
         * of the last poll.
         */
        Error commit_async() {
                Error error = admin::detail::owned_error(rd_kafka_share_commit_async(share_));
                state_->rethrow();
                return error;
        }

        /**
         * Sends acknowledgements and waits for the result of each partition, for `timeout_ms` milliseconds
         * at most, with -1 without limit. Empty if there was nothing to send. In implicit mode it accepts the
         * records of the last poll. Nothing is repeated.
         *
         * Errors of a partition, whose records may be delivered again:
         * RD_KAFKA_RESP_ERR_INVALID_RECORD_STATE when a lock has run out, ERR_NOT_LEADER_FOR_PARTITION
         * when the partition has another leader, ERR_REQUEST_TIMED_OUT at the timeout, and others.
         */
        Result<CommitResults> commit_sync(int timeout_ms) {
                rd_kafka_topic_partition_list_t *list = NULL;
                Error error = admin::detail::owned_error(rd_kafka_share_commit_sync(share_, timeout_ms, &list));
                admin::detail::List owned(list);
                state_->rethrow();
                if (error)
                        return error;
                CommitResults results;
                for (int i = 0; list && i < list->cnt; i++) {
                        const rd_kafka_topic_partition_t &row = list->elems[i];
                        results.add(TopicPartition(row.topic, row.partition),
                                    admin::detail::unless(admin::detail::error(row.err, NULL), None()));
                }
                return results;
        }

        /**
         * Sets the receiver of the results of all acknowledgements, whether a poll, a commit or the close has
         * sent them: one call for each partition of a response. An empty function ends the calls.
         */
        Error on_acknowledged(std::function<void(const AcknowledgementResult &)> callback) {
                Error error = admin::detail::owned_error(rd_kafka_share_set_acknowledgement_commit_cb(
                    share_, callback ? detail::State::acknowledged_cb : NULL, state_.get()));
                if (!error)
                        state_->on_acknowledged = std::move(callback);
                return error;
        }

        /* -- The end -- */

        /**
         * Closes the consumer: sends acknowledgements, closes its sessions and leaves the group, within about
         * `socket.timeout.ms`. Records without an acknowledgement become available to other members; in
         * implicit mode that includes the records of the last poll, unless they were committed.
         *
         * Errors: ERR__TIMED_OUT when brokers did not answer, and the consumer is closed all the same;
         * ERR__STATE when it was closed before.
         */
        Error close() {
                Error error = admin::detail::owned_error(rd_kafka_share_consumer_close(share_));
                state_->rethrow();
                return error;
        }

        /** Returns whether the consumer is closed. Thread-safe. */
        bool closed() const {
                return rd_kafka_share_consumer_closed(share_) != 0;
        }

        /** Returns the C handle, which belongs to this object. */
        rd_kafka_share_t *c_ptr() const {
                return share_;
        }

       private:
        static rd_kafka_share_AcknowledgeType_t number(Acknowledge type) {
                switch (type) {
                case Acknowledge::RELEASE:
                        return RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_RELEASE;
                case Acknowledge::REJECT:
                        return RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_REJECT;
                default:
                        return RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT;
                }
        }

        Consumer() : state_(new detail::State()), share_(NULL) {
        }

        std::unique_ptr<detail::State> state_;
        rd_kafka_share_t *share_;
        /** Records of a poll that has thrown a callback's exception. */
        Records pending_;
};

}  // namespace share
}  // namespace ottla

#endif /* _OTTLA_SHAREPP_H_ */
