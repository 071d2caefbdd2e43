/* The consumer: groups, assignments, commits, positions, queues, the end. */

#include "test.hpp"

using RdKafka::Topic;

static void a_group_with_one_member() {
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 5);
        ConsumerPtr c = new_consumer(consumer_conf(servers_of(p), "g"));
        CHECK_FINE(c->subscribe(std::vector<std::string>(1, "t")));
        std::vector<std::string> topics(3, "before");
        CHECK_FINE(c->subscription(topics));
        REQUIRE(topics.size() == 1);
        CHECK_TEXT(topics[0], "t");

        for (int i = 0; i < 5; i++) {
                MessagePtr m = next_message(c);
                REQUIRE(m != NULL);
                CHECK_TEXT(text_of(*m), std::to_string(i));
                CHECK_TEXT(m->topic_name(), "t");
                CHECK(m->topic() == NULL);
                CHECK_INT(m->offset(), i);
                CHECK_INT(m->partition(), 0);
                CHECK(m->key() == NULL && m->key_pointer() == NULL);
                CHECK(m->timestamp().timestamp > 0);
                CHECK(m->msg_opaque() == NULL);
                CHECK_TEXT(m->errstr(), "");
                CHECK_INT(m->latency(), -1);
                RdKafka::ErrorCode err;
                CHECK(m->headers(&err) == NULL);
                CHECK_CODE(err, RdKafka::ERR__NOENT);
        }
        CHECK(!c->memberid().empty());
        CHECK_TEXT(c->rebalance_protocol(), "EAGER");
        CHECK(!c->assignment_lost());
        std::vector<RdKafka::TopicPartition *> assigned;
        CHECK_FINE(c->assignment(assigned));
        CHECK(assigned.size() > 1);
        RdKafka::TopicPartition::destroy(assigned);
        std::unique_ptr<RdKafka::ConsumerGroupMetadata> group(c->groupMetadata());
        CHECK(group != NULL);

        CHECK_FINE(c->commitSync());
        CHECK_CODE(c->commitSync(), RdKafka::ERR__NO_OFFSET);
        Partitions committed("t", 1);
        CHECK_FINE(c->committed(committed.list, 10000));
        CHECK_INT(committed.list[0]->offset(), 5);
        CHECK_FINE(committed.list[0]->err());

        CHECK_FINE(c->unsubscribe());
        CHECK(!c->closed());
        CHECK_FINE(c->close());
        CHECK(c->closed());
        MessagePtr after(c->consume(10));
        CHECK(after->err() != RdKafka::ERR_NO_ERROR);
}

static void timed_out_message() {
        ProducerPtr p = new_cluster();
        ConsumerPtr c = new_consumer(consumer_conf(servers_of(p), "g"));
        MessagePtr m(c->consume(0));
        REQUIRE(m != NULL);
        CHECK_CODE(m->err(), RdKafka::ERR__TIMED_OUT);
        CHECK(!m->errstr().empty());
        CHECK(m->topic() == NULL);
        CHECK_TEXT(m->topic_name(), "");
        CHECK_INT(m->partition(), Topic::PARTITION_UA);
        CHECK_INT(m->offset(), Topic::OFFSET_INVALID);
        CHECK(m->payload() == NULL && m->len() == 0);
        CHECK(m->key() == NULL && m->key_len() == 0);
        CHECK(m->headers() == NULL);
        CHECK_INT(m->timestamp().timestamp, -1);
        CHECK_INT(m->broker_id(), -1);
        CHECK_INT(m->leader_epoch(), -1);
        CHECK_INT(m->latency(), -1);
        CHECK_INT(m->status(), RdKafka::Message::MSG_STATUS_NOT_PERSISTED);
        CHECK(m->msg_opaque() == NULL);
        REQUIRE(m->c_ptr() != NULL);
        CHECK_ERR(m->c_ptr()->err, RD_KAFKA_RESP_ERR__TIMED_OUT);
        std::unique_ptr<RdKafka::Error> error(m->offset_store());
        REQUIRE(error != NULL);
        CHECK_CODE(error->code(), RdKafka::ERR__INVALID_ARG);
        CHECK(c->commitSync(m.get()) != RdKafka::ERR_NO_ERROR);
}

static void assigned_by_the_application() {
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 10);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        set(conf, "enable.auto.offset.store", "false");
        ConsumerPtr c = new_consumer(conf);
        Partitions from("t", 1, 4);
        CHECK_FINE(c->assign(from.list));
        MessagePtr m = next_message(c);
        REQUIRE(m != NULL);
        CHECK_TEXT(text_of(*m), "4");

        Partitions at("t", 1);
        CHECK_FINE(c->position(at.list));
        CHECK_INT(at.list[0]->offset(), 5);
        std::unique_ptr<RdKafka::Error> error(m->offset_store());
        CHECK(error == NULL);
        CHECK_FINE(c->commitSync());
        CHECK_FINE(c->committed(at.list, 10000));
        CHECK_INT(at.list[0]->offset(), 5);
        CHECK_FINE(c->commitSync(m.get()));
        CHECK_FINE(c->commitAsync(m.get()));

        std::unique_ptr<RdKafka::TopicPartition> to(RdKafka::TopicPartition::create("t", 0, 8));
        CHECK_FINE(c->seek(*to, 10000));
        m = next_message(c);
        REQUIRE(m != NULL);
        CHECK_TEXT(text_of(*m), "8");
        to.reset(RdKafka::TopicPartition::create("t", 1, 8));
        CHECK_CODE(c->seek(*to, 1000), RdKafka::ERR__STATE);

        Partitions store("t", 1, 7);
        CHECK_FINE(c->offsets_store(store.list));
        CHECK_FINE(store.list[0]->err());
        CHECK_FINE(c->commitAsync());
        std::vector<unsigned char> note(1, 'n');
        store.list[0]->set_metadata(note);
        CHECK_FINE(c->commitAsync(store.list));
        CHECK_FINE(c->commitSync(store.list));
        at.list[0]->set_offset(0);
        CHECK_FINE(c->committed(at.list, 10000));
        CHECK_INT(at.list[0]->offset(), 7);
        CHECK(at.list[0]->get_metadata() == note);

        Partitions twice("t", 1);
        twice.list.push_back(RdKafka::TopicPartition::create("t", 0));
        CHECK_CODE(c->assign(twice.list), RdKafka::ERR__INVALID_ARG);
        CHECK_FINE(c->unassign());
        std::vector<RdKafka::TopicPartition *> assigned;
        CHECK_FINE(c->assignment(assigned));
        CHECK(assigned.empty());
        CHECK_FINE(c->close());
}

static void incremental_assignments() {
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 1, 0, 1);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        ConsumerPtr c = new_consumer(conf);
        Partitions both("t", 2, 0);
        std::unique_ptr<RdKafka::Error> error(c->incremental_assign(both.list));
        CHECK(error == NULL);
        std::vector<RdKafka::TopicPartition *> assigned;
        CHECK_FINE(c->assignment(assigned));
        CHECK_INT(assigned.size(), 2);
        RdKafka::TopicPartition::destroy(assigned);
        error.reset(c->incremental_assign(both.list));
        REQUIRE(error != NULL);
        CHECK_CODE(error->code(), RdKafka::ERR__CONFLICT);
        error.reset(c->incremental_unassign(both.list));
        CHECK(error == NULL);
        error.reset(c->incremental_unassign(both.list));
        REQUIRE(error != NULL);
        CHECK_CODE(error->code(), RdKafka::ERR__INVALID_ARG);
}

static void pausing() {
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 2);
        ConsumerPtr c = new_consumer(consumer_conf(servers_of(p), "g"));
        Partitions part("t", 1, 0);
        CHECK_FINE(c->assign(part.list));
        CHECK_FINE(c->pause(part.list));
        CHECK_FINE(part.list[0]->err());
        MessagePtr m(c->consume(300));
        CHECK_CODE(m->err(), RdKafka::ERR__TIMED_OUT);
        CHECK_FINE(c->resume(part.list));
        m = next_message(c);
        CHECK(m != NULL);
        Partitions none("no-such-topic", 1, 0);
        c->pause(none.list);
        CHECK(none.list[0]->err() != RdKafka::ERR_NO_ERROR);
}

/* Carries out what the group decides, and notes it. */
struct Rebalances : RdKafka::RebalanceCb {
        RdKafka::KafkaConsumer *consumer = NULL;
        int assigned = 0, revoked = 0;
        size_t partitions = 0;

        void rebalance_cb(RdKafka::KafkaConsumer *c,
                          RdKafka::ErrorCode err,
                          std::vector<RdKafka::TopicPartition *> &list) {
                consumer = c;
                partitions = list.size();
                if (err == RdKafka::ERR__ASSIGN_PARTITIONS) {
                        assigned++;
                        c->assign(list);
                } else {
                        revoked++;
                        c->unassign();
                }
        }
};

struct Commits : RdKafka::OffsetCommitCb {
        int cnt = 0;
        RdKafka::ErrorCode err = RdKafka::ERR_NO_ERROR;
        int64_t offset = -1;

        void offset_commit_cb(RdKafka::ErrorCode e, std::vector<RdKafka::TopicPartition *> &offsets) {
                cnt++;
                err = e;
                /* Of the partition that was consumed. */
                for (RdKafka::TopicPartition *p : offsets)
                        if (p->partition() == 0)
                                offset = p->offset();
        }
};

static void callbacks_of_a_group() {
        Rebalances rebalances;
        Commits commits;
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 3);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        set_cb<RdKafka::RebalanceCb>(conf, "rebalance_cb", &rebalances);
        set_cb<RdKafka::OffsetCommitCb>(conf, "offset_commit_cb", &commits);
        ConsumerPtr c = new_consumer(conf);
        CHECK_FINE(c->subscribe(std::vector<std::string>(1, "t")));
        for (int i = 0; i < 3; i++)
                CHECK(next_message(c) != NULL);
        CHECK_INT(rebalances.assigned, 1);
        CHECK(rebalances.partitions > 1);
        CHECK(rebalances.consumer == c.get());

        CHECK_FINE(c->commitAsync());
        for (int i = 0; i < 50 && !commits.cnt; i++)
                MessagePtr(c->consume(100));
        CHECK_INT(commits.cnt, 1);
        CHECK_FINE(commits.err);
        CHECK_INT(commits.offset, 3);

        Commits own;
        Partitions two("t", 1, 2);
        CHECK_FINE(c->commitSync(two.list, &own));
        CHECK_INT(own.cnt, 1);
        CHECK_INT(own.offset, 2);
        RdKafka::ErrorCode err = c->commitSync(&own);
        CHECK_INT(own.cnt, 2);
        CHECK_CODE(own.err, err);

        CHECK_FINE(c->close());
        CHECK_INT(rebalances.revoked, 1);
}

/* Elements that a careless callback removes from a vector are deleted nevertheless. */
struct EmptiesTheList : Rebalances {
        void rebalance_cb(RdKafka::KafkaConsumer *c,
                          RdKafka::ErrorCode err,
                          std::vector<RdKafka::TopicPartition *> &list) {
                Rebalances::rebalance_cb(c, err, list);
                list.clear();
        }
};

static void close_queue() {
        EmptiesTheList rebalances;
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 1);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        set_cb<RdKafka::RebalanceCb>(conf, "rebalance_cb", &rebalances);
        ConsumerPtr c = new_consumer(conf);
        CHECK_FINE(c->subscribe(std::vector<std::string>(1, "t")));
        CHECK(next_message(c) != NULL);
        std::unique_ptr<RdKafka::Queue> queue(RdKafka::Queue::create(c.get()));
        std::unique_ptr<RdKafka::Error> error(c->close(queue.get()));
        CHECK(error == NULL);
        for (int i = 0; i < 100 && !c->closed(); i++)
                queue->poll(100);
        CHECK(c->closed());
        CHECK_INT(rebalances.revoked, 1);
        error.reset(c->close(queue.get()));
        REQUIRE(error != NULL);
        CHECK_CODE(error->code(), RdKafka::ERR__DESTROY);
}

static void partition_queue() {
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 1);
        send_numbers(p, "t", 1, 100, 1);
        ConsumerPtr c = new_consumer(consumer_conf(servers_of(p), "g"));
        Partitions both("t", 2, 0);
        std::unique_ptr<RdKafka::Queue> apart(c->get_partition_queue(both.list[1]));
        REQUIRE(apart != NULL);
        CHECK_FINE(apart->forward(NULL));
        int fds[2];
        REQUIRE(pipe(fds) == 0);
        apart->io_event_enable(fds[1], "!", 1);
        CHECK_FINE(c->assign(both.list));
        char woken = 0;
        CHECK(read(fds[0], &woken, 1) == 1 && woken == '!');
        apart->io_event_enable(-1, NULL, 0);
        MessagePtr m(apart->consume(10000));
        CHECK_FINE(m->err());
        CHECK_TEXT(text_of(*m), "100");
        m = next_message(c);
        REQUIRE(m != NULL);
        CHECK_TEXT(text_of(*m), "0");
        m.reset(apart->consume(10000));
        CHECK_CODE(m->err(), RdKafka::ERR__PARTITION_EOF);
        CHECK_TEXT(m->topic_name(), "t");
        m.reset(apart->consume(0));
        CHECK_CODE(m->err(), RdKafka::ERR__TIMED_OUT);
        close(fds[0]);
        close(fds[1]);
}

/* Takes messages by callback. */
struct Takes : RdKafka::ConsumeCb {
        int cnt = 0;
        void *opaque = NULL;

        void consume_cb(RdKafka::Message &m, void *op) {
                cnt += m.err() == RdKafka::ERR_NO_ERROR;
                opaque = op;
        }
};

static void messages_by_callback() {
        Takes takes;
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 3);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        set_cb<RdKafka::ConsumeCb>(conf, "consume_cb", &takes);
        ConsumerPtr c = new_consumer(conf);
        Partitions part("t", 1, 0);
        CHECK_FINE(c->assign(part.list));
        for (int i = 0; i < 100 && takes.cnt < 3; i++)
                c->poll(100);
        CHECK_INT(takes.cnt, 3);
        CHECK(static_cast<RdKafka::Handle *>(takes.opaque) == c.get());
}

/** A slow application with a full queue: a commit's result is served before the messages that wait. */
static void events_precede_messages() {
        struct Commits : RdKafka::OffsetCommitCb {
                int count = 0;
                void offset_commit_cb(RdKafka::ErrorCode, std::vector<RdKafka::TopicPartition *> &) override {
                        count++;
                }
        } commits;
        ProducerPtr cluster = new_cluster();
        ConfPtr conf = consumer_conf(servers_of(cluster), "slow");
        Partitions partitions("slow", 1, 0);

        send_numbers(cluster, "slow", 0, 0, 200);
        set_cb<RdKafka::OffsetCommitCb>(conf, "offset_commit_cb", &commits);
        ConsumerPtr c = new_consumer(conf);
        CHECK_FINE(c->assign(partitions.list));
        REQUIRE(next_message(c) != nullptr);
        /* The other messages and the end of the partition, and then the commit's result. */
        std::unique_ptr<rd_kafka_queue_t, void (*)(rd_kafka_queue_t *)> queue(
            rd_kafka_queue_get_consumer(c->c_ptr()), rd_kafka_queue_destroy);
        const auto await_length = [&](size_t length) {
                int64_t end = test_now_ms() + 20000;
                while (rd_kafka_queue_length(queue.get()) < length && test_now_ms() < end)
                        test_sleep_ms(10);
                CHECK_INT(rd_kafka_queue_length(queue.get()), length);
        };
        await_length(200);
        CHECK_FINE(c->commitAsync());
        await_length(201);
        CHECK_INT(commits.count, 0);
        MessagePtr message(c->consume(0));
        CHECK_FINE(message->err());
        CHECK_INT(commits.count, 1);
        CHECK_FINE(c->close());
}

int main() {
        RUN(a_group_with_one_member);
        RUN(timed_out_message);
        RUN(assigned_by_the_application);
        RUN(incremental_assignments);
        RUN(pausing);
        RUN(callbacks_of_a_group);
        RUN(close_queue);
        RUN(partition_queue);
        RUN(messages_by_callback);
        RUN(events_precede_messages);
        return test_end();
}
