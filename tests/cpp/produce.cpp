/* Producing, delivery reports, headers, flush and purge. */

#include <map>

#include "test.hpp"

using RdKafka::Producer;

/* Stores the contents of reports. */
struct Reports : RdKafka::DeliveryReportCb {
        int cnt = 0, failed = 0;
        RdKafka::ErrorCode last_err = RdKafka::ERR_NO_ERROR;
        std::string last_text, last_key, last_errstr, last_topic, last_header;
        bool had_key = false, had_value = false;
        int32_t last_partition = -1;
        int64_t last_offset = -1, last_timestamp = -1, last_latency = -1;
        int32_t last_broker = -1;
        void *last_opaque = NULL;
        RdKafka::Topic *last_object = NULL;
        RdKafka::Message::Status last_status = RdKafka::Message::MSG_STATUS_NOT_PERSISTED;
        RdKafka::MessageTimestamp::MessageTimestampType last_type =
            RdKafka::MessageTimestamp::MSG_TIMESTAMP_NOT_AVAILABLE;

        void dr_cb(RdKafka::Message &m) {
                cnt++;
                failed += m.err() != RdKafka::ERR_NO_ERROR;
                last_err = m.err();
                last_errstr = m.errstr();
                last_topic = m.topic_name();
                last_object = m.topic();
                last_partition = m.partition();
                last_offset = m.offset();
                last_opaque = m.msg_opaque();
                last_status = m.status();
                last_latency = m.latency();
                last_broker = m.broker_id();
                last_timestamp = m.timestamp().timestamp;
                last_type = m.timestamp().type;
                had_value = m.payload() != NULL;
                last_text = had_value ? text_of(m) : "";
                had_key = m.key() != NULL;
                last_key = had_key ? *m.key() : "";
                CHECK_INT(had_key ? m.key()->size() : 0, m.key_len());
                CHECK((m.key_pointer() != NULL) == had_key);
                CHECK(m.c_ptr() != NULL && m.c_ptr()->partition == last_partition);
                CHECK_INT(m.leader_epoch(), -1);
                RdKafka::Headers *headers = m.headers();
                last_header = headers ? headers->get_last("h").value_string() : "";
                CHECK(m.headers() == headers);
        }
};

static void every_form_of_produce() {
        Reports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ProducerPtr p = new_cluster(conf);
        std::string errstr, key = "key";
        std::unique_ptr<RdKafka::Topic> topic(RdKafka::Topic::create(p.get(), "forms", NULL, errstr));
        REQUIRE(topic != NULL);
        CHECK_TEXT(topic->name(), "forms");
        int tag;
        char text[] = "value";

        CHECK_FINE(p->produce(topic.get(), 0, Producer::RK_MSG_COPY, text, 5, &key, &tag));
        CHECK_FINE(p->flush(10000));
        CHECK_INT(reports.cnt, 1);
        CHECK_FINE(reports.last_err);
        CHECK_TEXT(reports.last_text, "value");
        CHECK_TEXT(reports.last_key, "key");
        CHECK_TEXT(reports.last_topic, "forms");
        CHECK(reports.last_object == topic.get());
        CHECK(reports.last_opaque == &tag);
        CHECK_INT(reports.last_partition, 0);
        CHECK_INT(reports.last_offset, 0);
        CHECK_INT(reports.last_status, RdKafka::Message::MSG_STATUS_PERSISTED);
        CHECK(reports.last_latency > 0);
        CHECK(reports.last_broker > 0);

        CHECK_FINE(p->produce(topic.get(), 0, 0, text, 5, "k2", 2, NULL));
        CHECK_FINE(p->flush(10000));
        CHECK_TEXT(reports.last_key, "k2");
        CHECK(reports.last_opaque == NULL);

        char *given = static_cast<char *>(RdKafka::mem_malloc(4));
        memcpy(given, "gift", 4);
        CHECK_FINE(p->produce("forms", 1, Producer::RK_MSG_FREE, given, 4, NULL, 0, 123456789, NULL));
        CHECK_FINE(p->flush(10000));
        CHECK_TEXT(reports.last_text, "gift");
        CHECK(!reports.had_key);
        CHECK_INT(reports.last_partition, 1);
        CHECK_INT(reports.last_timestamp, 123456789);
        CHECK_INT(reports.last_type, RdKafka::MessageTimestamp::MSG_TIMESTAMP_CREATE_TIME);

        std::vector<char> value(3, 'v'), empty;
        CHECK_FINE(p->produce(topic.get(), 0, &value, &empty, NULL));
        CHECK_FINE(p->flush(10000));
        CHECK_TEXT(reports.last_text, "vvv");
        CHECK(reports.had_key && reports.last_key.empty());
        CHECK_FINE(p->produce(topic.get(), 0, &empty, NULL, NULL));
        CHECK_FINE(p->flush(10000));
        CHECK(reports.had_value && reports.last_text.empty());
        CHECK_FINE(p->produce(topic.get(), 0, NULL, NULL, NULL));
        CHECK_FINE(p->flush(10000));
        CHECK(!reports.had_value && !reports.had_key);
        CHECK_INT(reports.cnt, 6);
        CHECK_INT(p->outq_len(), 0);
}

static void headers_ownership_on_produce() {
        Reports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ProducerPtr p = new_cluster(conf);
        RdKafka::Headers *headers = RdKafka::Headers::create();
        headers->add("h", "one");
        /* Refused: they stay ours. */
        CHECK_CODE(p->produce("t", 0, Producer::RK_MSG_COPY | Producer::RK_MSG_FREE,
                              const_cast<char *>("x"), 1, NULL, 0, 0, headers, NULL),
                   RdKafka::ERR__INVALID_ARG);
        CHECK_INT(headers->size(), 1);
        /* Accepted: the library owns them. */
        CHECK_FINE(p->produce("t", 0, Producer::RK_MSG_COPY, const_cast<char *>("x"), 1, NULL, 0, 0,
                              headers, NULL));
        CHECK_FINE(p->flush(10000));
        CHECK_TEXT(reports.last_header, "one");
        CHECK_FINE(p->produce("t", 0, Producer::RK_MSG_COPY, const_cast<char *>("x"), 1, NULL, 0, 0,
                              static_cast<RdKafka::Headers *>(NULL), NULL));
        CHECK_FINE(p->flush(10000));
        CHECK_TEXT(reports.last_header, "");
}

static void headers_of_a_message_are_passed_on() {
        Reports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ProducerPtr p = new_cluster(conf);
        RdKafka::Headers *headers = RdKafka::Headers::create();
        headers->add("h", "passed");
        CHECK_FINE(p->produce("t", 0, Producer::RK_MSG_COPY, const_cast<char *>("x"), 1, NULL, 0, 0,
                              headers, NULL));
        CHECK_FINE(p->flush(10000));
        ConsumerPtr c = new_consumer(consumer_conf(servers_of(p), "g"));
        Partitions from("t", 1, 0);
        CHECK_FINE(c->assign(from.list));
        MessagePtr m = next_message(c);
        REQUIRE(m != NULL);
        RdKafka::ErrorCode err;
        REQUIRE(m->headers(&err) != NULL);
        CHECK_FINE(err);
        CHECK_FINE(p->produce("t", 1, Producer::RK_MSG_COPY, m->payload(), m->len(), NULL, 0, 0,
                              m->headers(), NULL));
        CHECK_INT(m->headers()->size(), 1);
        CHECK_CODE(p->produce("t", 1, Producer::RK_MSG_COPY | Producer::RK_MSG_FREE, m->payload(),
                              m->len(), NULL, 0, 0, m->headers(), NULL),
                   RdKafka::ERR__INVALID_ARG);
        CHECK_INT(m->headers()->size(), 1);
        CHECK_FINE(p->flush(10000));
        CHECK_TEXT(reports.last_header, "passed");
        CHECK_INT(reports.last_partition, 1);
        CHECK_FINE(c->close());
}

static void failures_are_reported() {
        Reports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        set(conf, "bootstrap.servers", "127.0.0.1:1");
        set(conf, "queue.buffering.max.messages", "2");
        ProducerPtr p = new_producer(conf);
        CHECK_FINE(send(p, "t", 0, "one"));
        CHECK_FINE(send(p, "t", 0, "two"));
        CHECK_CODE(send(p, "t", 0, "three"), RdKafka::ERR__QUEUE_FULL);
        CHECK_CODE(p->flush(100), RdKafka::ERR__TIMED_OUT);
        CHECK_CODE(p->purge(64), RdKafka::ERR__INVALID_ARG);
        CHECK_FINE(p->purge(Producer::PURGE_QUEUE | Producer::PURGE_INFLIGHT));
        CHECK_FINE(p->flush(10000));
        CHECK_INT(reports.failed, 2);
        CHECK_CODE(reports.last_err, RdKafka::ERR__PURGE_QUEUE);
        CHECK_TEXT(reports.last_errstr, RdKafka::err2str(RdKafka::ERR__PURGE_QUEUE));
        CHECK_INT(reports.last_status, RdKafka::Message::MSG_STATUS_NOT_PERSISTED);
        CHECK_INT(reports.last_offset, RdKafka::Topic::OFFSET_INVALID);
}

static void a_topic_object_may_end_before_its_reports() {
        Reports reports;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &reports);
        ProducerPtr p = new_cluster(conf);
        std::string errstr;
        RdKafka::Topic *topic = RdKafka::Topic::create(p.get(), "t", NULL, errstr);
        RdKafka::Topic *again = RdKafka::Topic::create(p.get(), "t", NULL, errstr);
        REQUIRE(topic && again);
        CHECK_FINE(p->produce(topic, 0, Producer::RK_MSG_COPY, const_cast<char *>("x"), 1,
                              static_cast<const std::string *>(NULL), NULL));
        delete topic;
        CHECK_FINE(p->flush(10000));
        CHECK(reports.last_object == NULL);
        CHECK_TEXT(reports.last_topic, "t");
        delete again;
}

static void topics_have_properties_of_their_own() {
        ConfPtr conf = new_conf();
        set(conf, "message.max.bytes", "2000");
        ProducerPtr p = new_cluster(conf);
        ConfPtr topic_conf(RdKafka::Conf::create(RdKafka::Conf::CONF_TOPIC));
        std::string errstr;
        set(topic_conf, "message.timeout.ms", "1234");
        CHECK(RdKafka::Topic::create(p.get(), "t", conf.get(), errstr) == NULL);
        CHECK(errstr.find("CONF_TOPIC") != std::string::npos);
        errstr.clear();
        CHECK(RdKafka::Topic::create(p.get(), "", NULL, errstr) == NULL);
        CHECK(!errstr.empty());
        CHECK(RdKafka::Topic::create(NULL, "t", NULL, errstr) == NULL);
        std::unique_ptr<RdKafka::Topic> t(
            RdKafka::Topic::create(p.get(), "t", topic_conf.get(), errstr));
        REQUIRE(t != NULL);
        CHECK(t->c_ptr() != NULL);
        std::string large(3000, 'x');
        CHECK_CODE(send(p, "t", 0, large), RdKafka::ERR_MSG_SIZE_TOO_LARGE);
}

int main() {
        RUN(every_form_of_produce);
        RUN(headers_ownership_on_produce);
        RUN(headers_of_a_message_are_passed_on);
        RUN(failures_are_reported);
        RUN(a_topic_object_may_end_before_its_reports);
        RUN(topics_have_properties_of_their_own);
        return test_end();
}
