/* The simple consumer: partitions, queues, callbacks. */

#include "test.hpp"

using RdKafka::Topic;

/* A consumer without a group, and its topic. */
struct Simple {
        std::unique_ptr<RdKafka::Consumer> consumer;
        std::unique_ptr<Topic> topic;

        explicit Simple(const ProducerPtr &cluster) {
                ConfPtr conf = new_conf();
                std::string errstr;
                set(conf, "bootstrap.servers", servers_of(cluster));
                set(conf, "enable.partition.eof", "true");
                consumer.reset(RdKafka::Consumer::create(conf.get(), errstr));
                if (!consumer)
                        bail(errstr);
                topic.reset(Topic::create(consumer.get(), "t", NULL, errstr));
                if (!topic)
                        bail(errstr);
        }
};

static void one_partition() {
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 5);
        Simple s(p);
        CHECK_FINE(s.consumer->start(s.topic.get(), 0, Topic::OFFSET_BEGINNING));
        for (int i = 0; i < 5; i++) {
                MessagePtr m(s.consumer->consume(s.topic.get(), 0, 10000));
                CHECK_FINE(m->err());
                CHECK_TEXT(text_of(*m), std::to_string(i));
                CHECK(m->topic() == s.topic.get());
        }
        MessagePtr m(s.consumer->consume(s.topic.get(), 0, 10000));
        CHECK_CODE(m->err(), RdKafka::ERR__PARTITION_EOF);
        m.reset(s.consumer->consume(s.topic.get(), 0, 10));
        CHECK_CODE(m->err(), RdKafka::ERR__TIMED_OUT);
        CHECK(m->topic() == s.topic.get());
        CHECK_TEXT(m->topic_name(), "t");
        CHECK_FINE(s.consumer->seek(s.topic.get(), 0, 3, 10000));
        m.reset(s.consumer->consume(s.topic.get(), 0, 10000));
        CHECK_TEXT(text_of(*m), "3");
        CHECK_FINE(s.consumer->stop(s.topic.get(), 0));
        CHECK_FINE(s.consumer->start(s.topic.get(), 0, RdKafka::Consumer::OffsetTail(2)));
        m.reset(s.consumer->consume(s.topic.get(), 0, 10000));
        CHECK_TEXT(text_of(*m), "3");
        CHECK_FINE(s.topic->offset_store(0, 3));
        CHECK_FINE(s.consumer->stop(s.topic.get(), 0));
        CHECK_INT(s.consumer->poll(0), 0);
}

static void errors_of_wrong_use() {
        ProducerPtr p = new_cluster();
        Simple s(p);
        CHECK_CODE(s.consumer->start(s.topic.get(), -1, 0), RdKafka::ERR__UNKNOWN_PARTITION);
        CHECK_CODE(s.consumer->stop(s.topic.get(), 0), RdKafka::ERR__UNKNOWN_PARTITION);
        CHECK_CODE(s.consumer->seek(s.topic.get(), 0, 1, 100), RdKafka::ERR__STATE);
        MessagePtr m(s.consumer->consume(s.topic.get(), 0, 10));
        CHECK_CODE(m->err(), RdKafka::ERR__UNKNOWN_PARTITION);
        CHECK_TEXT(s.consumer->memberid(), "");
}

static void a_queue_of_partitions() {
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 3);
        send_numbers(p, "t", 1, 0, 3);
        Simple s(p);
        std::unique_ptr<RdKafka::Queue> queue(RdKafka::Queue::create(s.consumer.get()));
        CHECK_FINE(s.consumer->start(s.topic.get(), 0, 0, queue.get()));
        CHECK_FINE(s.consumer->start(s.topic.get(), 1, 0, queue.get()));
        int cnt = 0;
        for (int i = 0; i < 50 && cnt < 6; i++) {
                MessagePtr m(s.consumer->consume(queue.get(), 1000));
                cnt += m->err() == RdKafka::ERR_NO_ERROR;
        }
        CHECK_INT(cnt, 6);
        CHECK(RdKafka::Queue::create(NULL) == NULL);
        CHECK_FINE(s.consumer->stop(s.topic.get(), 0));
        CHECK_FINE(s.consumer->stop(s.topic.get(), 1));
}

struct Counts : RdKafka::ConsumeCb {
        int cnt = 0;
        void *opaque = NULL;

        void consume_cb(RdKafka::Message &m, void *op) {
                cnt += m.err() == RdKafka::ERR_NO_ERROR;
                opaque = op;
        }
};

static void by_callback() {
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 4);
        Simple s(p);
        Counts counts;
        int tag;
        CHECK_INT(s.consumer->consume_callback(s.topic.get(), 0, 10, &counts, &tag), -1);
        CHECK_FINE(s.consumer->start(s.topic.get(), 0, 0));
        for (int i = 0; i < 50 && counts.cnt < 4; i++)
                CHECK(s.consumer->consume_callback(s.topic.get(), 0, 1000, &counts, &tag) >= 0);
        CHECK_INT(counts.cnt, 4);
        CHECK(counts.opaque == &tag);
        CHECK_FINE(s.consumer->stop(s.topic.get(), 0));

        std::unique_ptr<RdKafka::Queue> queue(RdKafka::Queue::create(s.consumer.get()));
        CHECK_FINE(s.consumer->start(s.topic.get(), 0, 0, queue.get()));
        for (int i = 0; i < 50 && counts.cnt < 8; i++)
                CHECK(s.consumer->consume_callback(queue.get(), 1000, &counts, NULL) >= 0);
        CHECK_INT(counts.cnt, 8);
        CHECK(counts.opaque == NULL);
        CHECK_FINE(s.consumer->stop(s.topic.get(), 0));
}

int main() {
        RUN(one_partition);
        RUN(errors_of_wrong_use);
        RUN(a_queue_of_partitions);
        RUN(by_callback);
        return test_end();
}
