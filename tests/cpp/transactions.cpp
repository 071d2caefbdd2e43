/* Transactions: committed and aborted messages, and the action that each error requires. */

#include <chrono>
#include <stdexcept>
#include <thread>

#include "test.hpp"

typedef std::unique_ptr<RdKafka::Error> ErrorPtr;

/* Success, or what went wrong is printed. */
static bool fine(RdKafka::Error *e) {
        ErrorPtr error(e);
        if (error)
                printf("# %s: %s\n", error->name().c_str(), error->str().c_str());
        return !error;
}

/* The code and the kind of an error: 'f'atal, 'a'bort, 'r'etry, '-' none of them. */
static void check_error(RdKafka::Error *e, RdKafka::ErrorCode code, char kind) {
        ErrorPtr error(e);
        REQUIRE(error != NULL);
        CHECK_CODE(error->code(), code);
        CHECK_INT(error->is_fatal(), kind == 'f');
        CHECK_INT(error->txn_requires_abort(), kind == 'a');
        CHECK_INT(error->is_retriable(), kind == 'r');
}

static ProducerPtr new_transactional(const std::string &servers, const char *id) {
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", servers);
        set(conf, "transactional.id", id);
        return new_producer(conf);
}

/* The values of a partition that read_committed shows, with blanks between them. */
static std::string committed(const std::string &servers, const char *topic) {
        ConsumerPtr c = new_consumer(consumer_conf(servers, "reader"));
        Partitions part(topic, 1, 0);
        CHECK_FINE(c->assign(part.list));
        std::string text;
        for (;;) {
                MessagePtr m(c->consume(20000));
                if (m->err()) {
                        CHECK_CODE(m->err(), RdKafka::ERR__PARTITION_EOF);
                        return text;
                }
                text += text_of(*m) + " ";
        }
}

/* Waits until that is what a reader finds: a transaction's end reaches its partitions soon after the call that ends it. */
static void check_committed(const std::string &servers, const char *topic, const std::string &expected) {
        std::string found = committed(servers, topic);
        for (int i = 0; i < 200 && found != expected; i++) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                found = committed(servers, topic);
        }
        CHECK_TEXT(found, expected);
}

static void committed_and_aborted() {
        ProducerPtr cluster = new_cluster();
        std::string servers = servers_of(cluster);
        ProducerPtr p = new_transactional(servers, "id");
        REQUIRE(fine(p->init_transactions(-1)));
        REQUIRE(fine(p->begin_transaction()));
        CHECK_FINE(send(p, "t", 0, "a"));
        CHECK(fine(p->commit_transaction(-1)));
        REQUIRE(fine(p->begin_transaction()));
        CHECK_FINE(send(p, "t", 0, "b"));
        CHECK_FINE(p->flush(20000));
        CHECK(fine(p->abort_transaction(-1)));
        REQUIRE(fine(p->begin_transaction()));
        CHECK_FINE(send(p, "t", 0, "c"));
        CHECK(fine(p->commit_transaction(-1)));
        check_committed(servers, "t", "a c ");
}

/* Reads, writes what was read, commits both together; the second time it does not. */
static void consumed_offsets_are_committed_with_the_transaction() {
        ProducerPtr cluster = new_cluster();
        std::string servers = servers_of(cluster);
        send_numbers(cluster, "in", 0, 0, 4);
        ConsumerPtr c = new_consumer(consumer_conf(servers, "g"));
        CHECK_FINE(c->subscribe(std::vector<std::string>(1, "in")));
        ProducerPtr p = new_transactional(servers, "id");
        REQUIRE(fine(p->init_transactions(-1)));
        for (int round = 0; round < 2; round++) {
                REQUIRE(fine(p->begin_transaction()));
                for (int i = 0; i < 2; i++) {
                        MessagePtr m = next_message(c);
                        REQUIRE(m != NULL);
                        CHECK_FINE(send(p, "out", 0, text_of(*m)));
                }
                Partitions at("in", 1);
                CHECK_FINE(c->position(at.list));
                std::unique_ptr<RdKafka::ConsumerGroupMetadata> group(c->groupMetadata());
                CHECK(fine(p->send_offsets_to_transaction(at.list, group.get(), -1)));
                CHECK(fine(round == 0 ? p->commit_transaction(-1) : p->abort_transaction(-1)));
        }
        Partitions kept("in", 1);
        CHECK_FINE(c->committed(kept.list, 10000));
        CHECK_INT(kept.list[0]->offset(), 2);
        check_committed(servers, "out", "0 1 ");
        CHECK_FINE(c->close());
}

static void error_retriable_and_abort_flags() {
        ProducerPtr cluster = new_cluster();
        std::string servers = servers_of(cluster);
        check_error(cluster->init_transactions(-1), RdKafka::ERR__NOT_CONFIGURED, '-');
        ProducerPtr p = new_transactional(servers, "id");
        check_error(p->begin_transaction(), RdKafka::ERR__STATE, '-');
        CHECK_CODE(send(p, "t", 0, "x"), RdKafka::ERR__STATE);
        REQUIRE(fine(p->init_transactions(-1)));
        REQUIRE(fine(p->begin_transaction()));
        check_error(p->send_offsets_to_transaction(Partitions("t", 1, 1).list, NULL, -1),
                    RdKafka::ERR__INVALID_ARG, '-');
        CHECK_FINE(send(p, "t", 0, "x"));
        CHECK_FINE(p->flush(20000));
        ProducerPtr newer = new_transactional(servers, "id");
        REQUIRE(fine(newer->init_transactions(-1)));
        check_error(p->commit_transaction(-1), RdKafka::ERR__FENCED, 'f');
        std::string errstr;
        CHECK_CODE(p->fatal_error(errstr), RdKafka::ERR__FENCED);

        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", "127.0.0.1:1");
        set(conf, "transactional.id", "far");
        check_error(new_producer(conf)->init_transactions(300), RdKafka::ERR__TIMED_OUT, 'r');
}

struct BadReports : RdKafka::DeliveryReportCb {
        int cnt = 0;

        void dr_cb(RdKafka::Message &) {
                cnt++;
                throw std::runtime_error("report");
        }
};

static void outcome_survives_exceptions() {
        ProducerPtr cluster = new_cluster();
        std::string servers = servers_of(cluster);
        BadReports reports;
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", servers);
        set(conf, "transactional.id", "id");
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ProducerPtr p = new_producer(conf);
        REQUIRE(fine(p->init_transactions(-1)));
        REQUIRE(fine(p->begin_transaction()));
        CHECK_FINE(send(p, "t", 0, "a"));
        CHECK_FINE(send(p, "t", 0, "b"));
        CHECK(fine(p->commit_transaction(-1)));
        CHECK_INT(reports.cnt, 2);
        check_committed(servers, "t", "a b ");
}

int main() {
        RUN(committed_and_aborted);
        RUN(consumed_offsets_are_committed_with_the_transaction);
        RUN(error_retriable_and_abort_flags);
        RUN(outcome_survives_exceptions);
        return test_end();
}
