/*
 * test.hpp: what the C++ tests share, on top of the C tests' harness.
 *
 * The tests use the public headers only, so that they run on any library of that interface.
 */

#ifndef OTTLA_TEST_HPP
#define OTTLA_TEST_HPP

#include <memory>
#include <string>
#include <vector>

#include <rdkafkacpp.h>

#include "../c/test.h"

typedef std::unique_ptr<RdKafka::Conf> ConfPtr;
typedef std::unique_ptr<RdKafka::Message> MessagePtr;
typedef std::unique_ptr<RdKafka::Producer> ProducerPtr;
typedef std::unique_ptr<RdKafka::KafkaConsumer> ConsumerPtr;

#define CHECK_TEXT(got, want) CHECK_STR(std::string(got).c_str(), std::string(want).c_str())

/** Compares codes of the C++ interface and shows their names. */
#define CHECK_CODE(got, want)                                                                      \
        CHECK_ERR(static_cast<rd_kafka_resp_err_t>(got), static_cast<rd_kafka_resp_err_t>(want))
#define CHECK_FINE(got) CHECK_CODE(got, RdKafka::ERR_NO_ERROR)

/** Ends the program: without this there is nothing to test. */
inline void bail(const std::string &why) {
        printf("Bail out! %s\n", why.c_str());
        exit(1);
}

inline void set(const ConfPtr &conf, const char *name, const std::string &value) {
        std::string errstr;
        if (conf->set(name, value, errstr) != RdKafka::Conf::CONF_OK)
                bail(errstr);
}

/** Sets a callback. */
template <class Callback>
void set_cb(const ConfPtr &conf, const char *name, Callback *callback) {
        std::string errstr;
        if (conf->set(name, callback, errstr) != RdKafka::Conf::CONF_OK)
                bail(errstr);
}

/** A configuration whose clients do not log to stderr. */
inline ConfPtr new_conf() {
        ConfPtr conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
        set(conf, "log_level", "0");
        return conf;
}

inline ProducerPtr new_producer(const ConfPtr &conf) {
        std::string errstr;
        ProducerPtr producer(RdKafka::Producer::create(conf.get(), errstr));
        if (!producer)
                bail(errstr);
        return producer;
}

/** A producer with its own embedded cluster. */
inline ProducerPtr new_cluster(const ConfPtr &conf = new_conf()) {
        set(conf, "test.mock.num.brokers", "3");
        set(conf, "linger.ms", "0");
        return new_producer(conf);
}

/** The addresses of a client's cluster, which is good as long as the producer lives. */
inline std::string servers_of(const ProducerPtr &producer) {
        RdKafka::Metadata *metadata;
        if (producer->metadata(true, NULL, &metadata, 10000))
                bail("the embedded cluster does not answer");
        std::string servers;
        for (const RdKafka::BrokerMetadata *broker : *metadata->brokers())
                servers += (servers.empty() ? "" : ",") + broker->host() + ":" +
                           std::to_string(broker->port());
        delete metadata;
        return servers;
}

inline ConfPtr consumer_conf(const std::string &servers, const std::string &group) {
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", servers);
        set(conf, "group.id", group);
        set(conf, "enable.partition.eof", "true");
        set(conf, "auto.offset.reset", "earliest");
        set(conf, "enable.auto.commit", "false");
        return conf;
}

inline ConsumerPtr new_consumer(const ConfPtr &conf) {
        std::string errstr;
        ConsumerPtr consumer(RdKafka::KafkaConsumer::create(conf.get(), errstr));
        if (!consumer)
                bail(errstr);
        return consumer;
}

inline RdKafka::ErrorCode
send(const ProducerPtr &producer, const std::string &topic, int32_t partition, const std::string &text) {
        return producer->produce(topic, partition, RdKafka::Producer::RK_MSG_COPY,
                                 const_cast<char *>(text.data()), text.size(), NULL, 0, 0, NULL);
}

/** Produces "first", "first + 1", ... and waits for them. */
inline void
send_numbers(const ProducerPtr &producer, const std::string &topic, int32_t partition, int first, int cnt) {
        for (int i = first; i < first + cnt; i++)
                CHECK_FINE(send(producer, topic, partition, std::to_string(i)));
        CHECK_FINE(producer->flush(20000));
}

inline std::string text_of(const RdKafka::Message &message) {
        return std::string(static_cast<const char *>(message.payload()), message.len());
}

/** Returns the next message that is not an event; NULL after half a minute. */
inline MessagePtr next_message(const ConsumerPtr &consumer) {
        int64_t end = test_now_ms() + 30000;
        while (test_now_ms() < end) {
                MessagePtr message(consumer->consume(100));
                if (message->err() == RdKafka::ERR_NO_ERROR)
                        return message;
        }
        return MessagePtr();
}

/** Partitions 0, 1, ... of a topic at an offset; deletes them in the end. */
struct Partitions {
        std::vector<RdKafka::TopicPartition *> list;

        Partitions(const std::string &topic, int cnt, int64_t offset = RdKafka::Topic::OFFSET_INVALID) {
                for (int i = 0; i < cnt; i++)
                        list.push_back(RdKafka::TopicPartition::create(topic, i, offset));
        }

        ~Partitions() {
                RdKafka::TopicPartition::destroy(list);
        }

        Partitions(const Partitions &) = delete;
        Partitions &operator=(const Partitions &) = delete;
};

#endif /* OTTLA_TEST_HPP */
