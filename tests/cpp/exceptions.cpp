/* Exceptions that leave callbacks: the call that throws them, and the state of the client afterwards. */

#include <atomic>
#include <stdexcept>

#include "test.hpp"

using RdKafka::Topic;

/* Returns true if `call` throws a runtime_error with this text. */
template <class Call>
static bool throws(const char *text, Call call) {
        try {
                call();
        } catch (const std::runtime_error &e) {
                CHECK_TEXT(e.what(), text);
                return true;
        }
        return false;
}

/* Every report throws, with its number. */
struct BadReports : RdKafka::DeliveryReportCb {
        int cnt = 0;

        void dr_cb(RdKafka::Message &) {
                throw std::runtime_error(std::to_string(++cnt));
        }
};

static void exception_from_poll() {
        BadReports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ProducerPtr p = new_cluster(conf);
        for (int i = 0; i < 3; i++)
                CHECK_FINE(send(p, "t", 0, "x"));
        /* One at a time: the reports behind the one that threw are not lost. */
        for (int i = 1; i <= 3; i++)
                CHECK(throws(std::to_string(i).c_str(), [&] { p->poll(10000); }));
        CHECK_INT(reports.cnt, 3);
        CHECK_INT(p->poll(0), 0);
        CHECK_FINE(p->flush(1000));
}

static void exception_from_flush() {
        BadReports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ProducerPtr p = new_cluster(conf);
        for (int i = 0; i < 3; i++)
                CHECK_FINE(send(p, "t", 0, "x"));
        /* The call runs all callbacks and throws the first exception. */
        CHECK(throws("1", [&] { p->flush(10000); }));
        CHECK_INT(reports.cnt, 3);
        CHECK_INT(p->outq_len(), 0);
        CHECK_FINE(p->flush(1000));
}

static void a_destructor_does_not_throw() {
        BadReports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ProducerPtr p = new_cluster(conf);
        CHECK_FINE(send(p, "t", 0, "x"));
        p.reset();
}

struct BadPartitioner : RdKafka::PartitionerCb {
        std::atomic<bool> bad{true};

        int32_t partitioner_cb(const Topic *, const std::string *, int32_t, void *) {
                if (bad)
                        throw std::runtime_error("no partition");
                return 0;
        }
};

struct Reports : RdKafka::DeliveryReportCb {
        int cnt = 0;
        RdKafka::ErrorCode err = RdKafka::ERR_NO_ERROR;

        void dr_cb(RdKafka::Message &m) {
                cnt++;
                err = m.err();
        }
};

static void exception_from_produce() {
        BadPartitioner partitioner;
        Reports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ConfPtr topic_conf(RdKafka::Conf::create(RdKafka::Conf::CONF_TOPIC));
        set_cb<RdKafka::PartitionerCb>(topic_conf, "partitioner_cb", &partitioner);
        ProducerPtr p = new_cluster(conf);
        std::string errstr;
        std::unique_ptr<Topic> topic(Topic::create(p.get(), "t", topic_conf.get(), errstr));
        auto produce = [&](int32_t partition) {
                return p->produce(topic.get(), partition, RdKafka::Producer::RK_MSG_COPY,
                                  const_cast<char *>("x"), 1, NULL, 0, NULL);
        };
        /* Afterwards the partitions are known, and produce() itself calls the partitioner. */
        CHECK_FINE(produce(0));
        CHECK_FINE(p->flush(10000));
        CHECK_INT(reports.cnt, 1);
        CHECK(throws("no partition", [&] { produce(Topic::PARTITION_UA); }));
        /* The caller keeps payload and headers of a message that was not accepted. */
        void *given = RdKafka::mem_malloc(1);
        memset(given, 'x', 1);
        std::unique_ptr<RdKafka::Headers> headers(RdKafka::Headers::create());
        CHECK(throws("no partition", [&] {
                p->produce("t", Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_FREE, given, 1, NULL,
                           0, 0, headers.get(), NULL);
        }));
        CHECK_INT(headers->size(), 0);
        RdKafka::mem_free(given);
        CHECK_FINE(p->flush(10000));
        CHECK_INT(reports.cnt, 1);
        partitioner.bad = false;
        CHECK_FINE(produce(Topic::PARTITION_UA));
        CHECK_FINE(p->flush(10000));
        CHECK_INT(reports.cnt, 2);
        CHECK_FINE(reports.err);
}

static void exception_from_delayed_partitioner() {
        BadPartitioner partitioner;
        Reports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ConfPtr topic_conf(RdKafka::Conf::create(RdKafka::Conf::CONF_TOPIC));
        set_cb<RdKafka::PartitionerCb>(topic_conf, "partitioner_cb", &partitioner);
        ProducerPtr p = new_cluster(conf);
        std::string errstr;
        std::unique_ptr<Topic> topic(Topic::create(p.get(), "new", topic_conf.get(), errstr));
        RdKafka::ErrorCode err = RdKafka::ERR__UNKNOWN_PARTITION;
        bool thrown = throws("no partition", [&] {
                err = p->produce(topic.get(), Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY,
                                 const_cast<char *>("x"), 1, NULL, 0, NULL);
        });
        CHECK_FINE(p->flush(10000));
        /* Metadata and message may arrive in either order: the exception is thrown exactly once. */
        CHECK(thrown ? reports.cnt == 0
                     : err == RdKafka::ERR_NO_ERROR && reports.cnt == 1 &&
                           reports.err == RdKafka::ERR__UNKNOWN_PARTITION);
}

/* Throws in its first call, before or after it has done what it must. */
struct BadRebalances : RdKafka::RebalanceCb {
        bool first;
        int assigned = 0, revoked = 0;
        bool throw_before, throw_at_the_end = false;

        explicit BadRebalances(bool before) : first(true), throw_before(before) {
        }

        void rebalance_cb(RdKafka::KafkaConsumer *c,
                          RdKafka::ErrorCode err,
                          std::vector<RdKafka::TopicPartition *> &list) {
                bool throws_now = first;
                first = false;
                if (throws_now && throw_before)
                        throw std::runtime_error("before");
                if (err == RdKafka::ERR__ASSIGN_PARTITIONS) {
                        assigned++;
                        c->assign(list);
                } else {
                        revoked++;
                        c->unassign();
                        if (throw_at_the_end)
                                throw std::runtime_error("at the end");
                }
                if (throws_now)
                        throw std::runtime_error("after");
        }
};

/* Reads until an exception is thrown; every message before it counts. */
static bool consume_until_thrown(const ConsumerPtr &c, const char *text, int *cnt) {
        int64_t end = test_now_ms() + 20000;
        while (test_now_ms() < end)
                if (throws(text, [&] {
                            MessagePtr m(c->consume(100));
                            *cnt += m->err() == RdKafka::ERR_NO_ERROR;
                    }))
                        return true;
        return false;
}

static void exception_from_consume() {
        BadRebalances rebalances(false);
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 5);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        set_cb<RdKafka::RebalanceCb>(conf, "rebalance_cb", &rebalances);
        ConsumerPtr c = new_consumer(conf);
        CHECK_FINE(c->subscribe(std::vector<std::string>(1, "t")));
        int cnt = 0;
        CHECK(consume_until_thrown(c, "after", &cnt));
        CHECK_INT(cnt, 0);
        /* No message was lost on the way. */
        for (int i = 0; i < 5; i++) {
                MessagePtr m = next_message(c);
                REQUIRE(m != NULL);
                CHECK_TEXT(text_of(*m), std::to_string(i));
        }
        rebalances.throw_at_the_end = true;
        CHECK(throws("at the end", [&] { c->close(); }));
        CHECK(c->closed());
        CHECK_INT(rebalances.revoked, 1);
}

static void exception_in_rebalance_cb_before_assign() {
        BadRebalances rebalances(true);
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 1);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        set_cb<RdKafka::RebalanceCb>(conf, "rebalance_cb", &rebalances);
        ConsumerPtr c = new_consumer(conf);
        CHECK_FINE(c->subscribe(std::vector<std::string>(1, "t")));
        int cnt = 0;
        CHECK(consume_until_thrown(c, "before", &cnt));
        /* Whoever catches may do it instead. */
        Partitions part("t", 1, 0);
        CHECK_FINE(c->assign(part.list));
        CHECK(next_message(c) != NULL);
        CHECK_FINE(c->close());
}

static void exception_from_queue() {
        BadRebalances rebalances(false);
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 1);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        set_cb<RdKafka::RebalanceCb>(conf, "rebalance_cb", &rebalances);
        rebalances.first = false;
        ConsumerPtr c = new_consumer(conf);
        CHECK_FINE(c->subscribe(std::vector<std::string>(1, "t")));
        CHECK(next_message(c) != NULL);
        rebalances.throw_at_the_end = true;
        std::unique_ptr<RdKafka::Queue> queue(RdKafka::Queue::create(c.get()));
        CHECK(std::unique_ptr<RdKafka::Error>(c->close(queue.get())) == NULL);
        int thrown = 0;
        for (int i = 0; i < 100 && !c->closed(); i++)
                thrown += throws("at the end", [&] { queue->poll(100); });
        CHECK(c->closed());
        CHECK_INT(thrown, 1);
}

struct BadCommits : RdKafka::OffsetCommitCb {
        void offset_commit_cb(RdKafka::ErrorCode, std::vector<RdKafka::TopicPartition *> &) {
                throw std::runtime_error("commit");
        }
};

static void exception_from_commit() {
        BadCommits commits;
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 2);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        set_cb<RdKafka::OffsetCommitCb>(conf, "offset_commit_cb", &commits);
        ConsumerPtr c = new_consumer(conf);
        Partitions part("t", 1, 0), committed("t", 1);
        CHECK_FINE(c->assign(part.list));
        CHECK(next_message(c) != NULL);
        CHECK(throws("commit", [&] { c->commitSync(&commits); }));
        CHECK_FINE(c->committed(committed.list, 10000));
        CHECK_INT(committed.list[0]->offset(), 1);
        CHECK(next_message(c) != NULL);
        CHECK_FINE(c->commitAsync());
        int cnt = 0;
        CHECK(consume_until_thrown(c, "commit", &cnt));
        CHECK_FINE(c->committed(committed.list, 10000));
        CHECK_INT(committed.list[0]->offset(), 2);
}

struct BadConsume : RdKafka::ConsumeCb {
        int cnt = 0;

        void consume_cb(RdKafka::Message &m, void *) {
                if (m.err() == RdKafka::ERR_NO_ERROR)
                        throw std::runtime_error(std::to_string(++cnt));
        }
};

static void exception_from_consume_callback() {
        BadConsume bad;
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 3);
        ConfPtr conf = new_conf();
        std::string errstr;
        set(conf, "bootstrap.servers", servers_of(p));
        std::unique_ptr<RdKafka::Consumer> c(RdKafka::Consumer::create(conf.get(), errstr));
        REQUIRE(c != NULL);
        std::unique_ptr<Topic> t(Topic::create(c.get(), "t", NULL, errstr));
        CHECK_FINE(c->start(t.get(), 0, 0));
        for (int i = 1; i <= 3; i++)
                CHECK(throws(std::to_string(i).c_str(), [&] {
                        c->consume_callback(t.get(), 0, 10000, &bad, NULL);
                }));
        CHECK_FINE(c->stop(t.get(), 0));
}

struct BadEvents : RdKafka::EventCb {
        std::atomic<int> logs{0};

        void event_cb(RdKafka::Event &e) {
                if (e.type() == RdKafka::Event::EVENT_LOG) {
                        if (logs++)
                                return;
                        throw 7;
                }
                throw std::runtime_error("event");
        }
};

static void events() {
        BadEvents bad;
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", "127.0.0.1:1");
        set_cb<RdKafka::EventCb>(conf, "event_cb", &bad);
        ProducerPtr p = new_producer(conf);
        CHECK_FINE(send(p, "t", 0, "x"));
        CHECK(throws("event", [&] {
                for (int i = 0; i < 100; i++)
                        p->poll(100);
        }));
}

static void exception_in_log_callback_is_swallowed() {
        BadEvents bad;
        ConfPtr conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
        set(conf, "debug", "all");
        set_cb<RdKafka::EventCb>(conf, "event_cb", &bad);
        ProducerPtr p = new_cluster(conf);
        CHECK_FINE(send(p, "t", 0, "x"));
        CHECK_FINE(p->flush(10000));
        CHECK(bad.logs > 1);
}

/* Serves another client from a callback, whose callbacks throw. */
struct Nested : RdKafka::DeliveryReportCb {
        const ProducerPtr *inner = NULL;
        bool caught = false;

        void dr_cb(RdKafka::Message &) {
                caught = throws("1", [&] { (*inner)->poll(10000); });
        }
};

static void the_innermost_call_throws() {
        BadReports bad;
        Nested nested;
        ConfPtr conf = new_conf(), other = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &nested);
        set_cb<RdKafka::DeliveryReportCb>(other, "dr_cb", &bad);
        ProducerPtr outer = new_cluster(conf), inner = new_cluster(other);
        nested.inner = &inner;
        CHECK_FINE(send(inner, "t", 0, "x"));
        CHECK_FINE(send(outer, "t", 0, "x"));
        CHECK_FINE(outer->flush(20000));
        CHECK(nested.caught);
}

static void calls_of_the_c_interface_do_not_throw() {
        BadReports bad;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &bad);
        ProducerPtr p = new_cluster(conf);
        CHECK_FINE(send(p, "t", 0, "x"));
        CHECK_OK(rd_kafka_flush(p->c_ptr(), 10000));
        CHECK_INT(bad.cnt, 1);
        CHECK_INT(p->poll(0), 0);
}

int main() {
        RUN(exception_from_poll);
        RUN(exception_from_flush);
        RUN(a_destructor_does_not_throw);
        RUN(exception_from_produce);
        RUN(exception_from_delayed_partitioner);
        RUN(exception_from_consume);
        RUN(exception_in_rebalance_cb_before_assign);
        RUN(exception_from_queue);
        RUN(exception_from_commit);
        RUN(exception_from_consume_callback);
        RUN(events);
        RUN(exception_in_log_callback_is_swallowed);
        RUN(the_innermost_call_throws);
        RUN(calls_of_the_c_interface_do_not_throw);
        return test_end();
}
