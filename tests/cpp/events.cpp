/* Events: errors, fatal errors, log lines, statistics; the background queue. */

#include <atomic>
#include <mutex>
#include <thread>

#include "test.hpp"

using RdKafka::Event;

struct Notes : RdKafka::EventCb {
        std::mutex lock;
        int errors = 0, logs = 0, fatal = 0, statistics = 0;
        RdKafka::ErrorCode err = RdKafka::ERR_NO_ERROR;
        std::string text, facility;
        std::thread::id log_thread;

        void event_cb(Event &e) {
                std::lock_guard<std::mutex> hold(lock);
                switch (e.type()) {
                case Event::EVENT_ERROR:
                        errors++;
                        fatal += e.fatal();
                        err = e.err();
                        text = e.str();
                        CHECK_TEXT(e.fac(), "");
                        break;
                case Event::EVENT_LOG:
                        logs++;
                        facility = e.fac();
                        log_thread = std::this_thread::get_id();
                        CHECK(!e.str().empty());
                        CHECK_INT(e.severity(), Event::EVENT_SEVERITY_DEBUG);
                        CHECK_FINE(e.err());
                        CHECK(!e.fatal());
                        break;
                case Event::EVENT_STATS:
                        statistics++;
                        text = e.str();
                        CHECK_FINE(e.err());
                        CHECK_TEXT(e.fac(), "");
                        break;
                default:
                        CHECK(!"an event that nothing has caused");
                }
                CHECK_TEXT(e.broker_name(), "");
                CHECK_INT(e.broker_id(), -1);
                CHECK_INT(e.throttle_time(), 0);
        }
};

static void errors() {
        Notes notes;
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", "127.0.0.1:1");
        set_cb<RdKafka::EventCb>(conf, "event_cb", &notes);
        ProducerPtr p = new_producer(conf);
        CHECK_FINE(send(p, "t", 0, "x"));
        for (int i = 0; i < 100 && !notes.errors; i++)
                p->poll(100);
        CHECK(notes.errors > 0);
        CHECK(notes.err != RdKafka::ERR_NO_ERROR);
        CHECK(!notes.text.empty());
        CHECK_INT(notes.fatal, 0);
        std::string errstr = "before";
        CHECK_FINE(p->fatal_error(errstr));
        CHECK_TEXT(errstr, "before");
}

static void statistics() {
        Notes notes;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::EventCb>(conf, "event_cb", &notes);
        set(conf, "statistics.interval.ms", "20");
        ProducerPtr p = new_cluster(conf);
        for (int i = 0; i < 100 && !notes.statistics; i++)
                p->poll(100);
        CHECK(notes.statistics > 0);
        CHECK(notes.text.find("{\"name\":\"" + p->name() + "\"") == 0);
        CHECK(notes.text.back() == '}');
}

static void fatal_errors() {
        Notes notes;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::EventCb>(conf, "event_cb", &notes);
        set(conf, "enable.idempotence", "true");
        ProducerPtr p = new_cluster(conf);
        CHECK_ERR(rd_kafka_test_fatal_error(
                      p->c_ptr(), RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "as asked"),
                  RD_KAFKA_RESP_ERR_NO_ERROR);
        for (int i = 0; i < 100 && !notes.fatal; i++)
                p->poll(100);
        CHECK_INT(notes.fatal, 1);
        CHECK_CODE(notes.err, RdKafka::ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        CHECK(notes.text.find("as asked") != std::string::npos);
        std::string errstr;
        CHECK_CODE(p->fatal_error(errstr), RdKafka::ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        CHECK(errstr.find("as asked") != std::string::npos);
}

static void log_lines() {
        Notes notes;
        ConfPtr conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
        set(conf, "debug", "broker");
        set_cb<RdKafka::EventCb>(conf, "event_cb", &notes);
        ProducerPtr p = new_cluster(conf);
        send_numbers(p, "t", 0, 0, 1);
        p.reset();
        CHECK(notes.logs > 0);
        CHECK(!notes.facility.empty());
}

static void log_lines_by_queue() {
        Notes notes;
        ConfPtr conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
        set(conf, "debug", "broker");
        set(conf, "log.queue", "true");
        set_cb<RdKafka::EventCb>(conf, "event_cb", &notes);
        ProducerPtr p = new_cluster(conf);
        std::unique_ptr<RdKafka::Queue> queue(RdKafka::Queue::create(p.get()));
        CHECK_FINE(p->set_log_queue(queue.get()));
        send_numbers(p, "t", 0, 0, 1);
        CHECK_INT(notes.logs, 0);
        for (int i = 0; i < 50 && !notes.logs; i++)
                queue->poll(100);
        CHECK(notes.logs > 0);
        CHECK(notes.log_thread == std::this_thread::get_id());
        CHECK_FINE(p->set_log_queue(NULL));

        ProducerPtr without = new_producer(new_conf());
        CHECK_CODE(without->set_log_queue(NULL), RdKafka::ERR__NOT_CONFIGURED);
}

/* Notes on which thread it was called. */
struct Where : RdKafka::ConsumeCb {
        std::atomic<int> cnt{0};
        std::atomic<bool> here{false};
        std::thread::id me = std::this_thread::get_id();

        void consume_cb(RdKafka::Message &m, void *) {
                if (m.err() == RdKafka::ERR_NO_ERROR) {
                        here = std::this_thread::get_id() == me;
                        cnt++;
                }
        }
};

static void the_background_queue() {
        Where where;
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 1);
        ConfPtr conf = consumer_conf(servers_of(p), "g");
        set_cb<RdKafka::ConsumeCb>(conf, "consume_cb", &where);
        ConsumerPtr c = new_consumer(conf);
        Partitions part("t", 1, 0);
        std::unique_ptr<RdKafka::Queue> queue(c->get_partition_queue(part.list[0]));
        std::unique_ptr<RdKafka::Queue> background(c->get_background_queue());
        REQUIRE(queue && background);
        CHECK_FINE(queue->forward(background.get()));
        CHECK_FINE(c->assign(part.list));
        for (int i = 0; i < 100 && !where.cnt; i++)
                test_sleep_ms(100);
        CHECK_INT(where.cnt, 1);
        CHECK(!where.here);
        CHECK_FINE(c->close());
}

int main() {
        RUN(errors);
        RUN(fatal_errors);
        RUN(statistics);
        RUN(log_lines);
        RUN(log_lines_by_queue);
        RUN(the_background_queue);
        return test_end();
}
