/* Configurations: properties, callbacks, topics, what is refused. */

#include <algorithm>

#include "test.hpp"

using RdKafka::Conf;

static void properties() {
        ConfPtr conf(Conf::create(Conf::CONF_GLOBAL));
        std::string errstr, value = "before";
        CHECK_INT(conf->set("client.id", std::string("me"), errstr), Conf::CONF_OK);
        CHECK_TEXT(errstr, "");
        CHECK_INT(conf->get("client.id", value), Conf::CONF_OK);
        CHECK_TEXT(value, "me");
        CHECK_INT(conf->set("no.such.property", std::string("1"), errstr), Conf::CONF_UNKNOWN);
        CHECK(errstr.find("no.such.property") != std::string::npos);
        CHECK_INT(conf->set("linger.ms", std::string("soon"), errstr), Conf::CONF_INVALID);
        CHECK(errstr.find("linger.ms") != std::string::npos);
        value = "before";
        CHECK_INT(conf->get("no.such.property", value), Conf::CONF_UNKNOWN);
        CHECK_TEXT(value, "before");
        std::string text(5000, 'x');
        CHECK_INT(conf->set("client.id", text, errstr), Conf::CONF_OK);
        CHECK_INT(conf->get("client.id", value), Conf::CONF_OK);
        CHECK(value == text);
        CHECK_INT(conf->set("client.id", std::string(), errstr), Conf::CONF_OK);
        CHECK(conf->c_ptr_global() != NULL);
        CHECK(conf->c_ptr_topic() == NULL);
}

static void topic_properties() {
        ConfPtr conf(Conf::create(Conf::CONF_TOPIC));
        std::string errstr, value;
        CHECK_INT(conf->set("acks", std::string("1"), errstr), Conf::CONF_OK);
        CHECK_INT(conf->get("acks", value), Conf::CONF_OK);
        CHECK_TEXT(value, "1");
        CHECK_INT(conf->set("client.id", std::string("me"), errstr), Conf::CONF_UNKNOWN);
        CHECK(conf->c_ptr_global() == NULL);
        CHECK(conf->c_ptr_topic() != NULL);
}

static void dumps() {
        ConfPtr conf(Conf::create(Conf::CONF_GLOBAL));
        std::string errstr;
        conf->set("client.id", std::string("me"), errstr);
        std::unique_ptr<std::list<std::string> > list(conf->dump());
        CHECK(list->size() > 100 && list->size() % 2 == 0);
        std::list<std::string>::iterator at = std::find(list->begin(), list->end(), "client.id");
        REQUIRE(at != list->end());
        CHECK_TEXT(*++at, "me");
        ConfPtr topic(Conf::create(Conf::CONF_TOPIC));
        list.reset(topic->dump());
        CHECK(std::find(list->begin(), list->end(), "request.required.acks") !=
              list->end());
}

struct Everything : RdKafka::DeliveryReportCb,
                    RdKafka::EventCb,
                    RdKafka::SocketCb,
                    RdKafka::OpenCb,
                    RdKafka::RebalanceCb,
                    RdKafka::OffsetCommitCb,
                    RdKafka::ConsumeCb,
                    RdKafka::PartitionerCb,
                    RdKafka::PartitionerKeyPointerCb {
        void dr_cb(RdKafka::Message &) {
        }
        void event_cb(RdKafka::Event &) {
        }
        int socket_cb(int, int, int) {
                return -1;
        }
        int open_cb(const std::string &, int, int) {
                return -1;
        }
        void rebalance_cb(RdKafka::KafkaConsumer *,
                          RdKafka::ErrorCode,
                          std::vector<RdKafka::TopicPartition *> &) {
        }
        void offset_commit_cb(RdKafka::ErrorCode, std::vector<RdKafka::TopicPartition *> &) {
        }
        void consume_cb(RdKafka::Message &, void *) {
        }
        int32_t partitioner_cb(const RdKafka::Topic *, const std::string *, int32_t, void *) {
                return 0;
        }
        int32_t partitioner_cb(const RdKafka::Topic *, const void *, size_t, int32_t, void *) {
                return 0;
        }
};

/* Sets a callback: by its name only, and in the right type of configuration only. */
template <class Callback>
static void set_callback(const char *name, Conf::ConfType type, Callback *callback) {
        ConfPtr conf(Conf::create(type));
        ConfPtr other(
            Conf::create(type == Conf::CONF_GLOBAL ? Conf::CONF_TOPIC : Conf::CONF_GLOBAL));
        std::string errstr;
        CHECK_INT(conf->set(name, callback, errstr), Conf::CONF_OK);
        CHECK_INT(conf->set("client.id", callback, errstr), Conf::CONF_INVALID);
        CHECK(errstr.find(name) != std::string::npos);
        errstr.clear();
        CHECK_INT(other->set(name, callback, errstr), Conf::CONF_INVALID);
        CHECK(errstr.find(name) != std::string::npos);
}

/* The same of one that can be read, too. */
template <class Callback>
static void read_callback(const char *name, Conf::ConfType type, Callback *callback) {
        ConfPtr conf(Conf::create(type));
        ConfPtr other(
            Conf::create(type == Conf::CONF_GLOBAL ? Conf::CONF_TOPIC : Conf::CONF_GLOBAL));
        std::string errstr;
        Callback *got = callback;
        set_callback(name, type, callback);
        CHECK_INT(conf->get(got), Conf::CONF_OK);
        CHECK(got == NULL);
        CHECK_INT(conf->set(name, callback, errstr), Conf::CONF_OK);
        CHECK_INT(conf->get(got), Conf::CONF_OK);
        CHECK(got == callback);
        CHECK_INT(conf->set(name, static_cast<Callback *>(NULL), errstr), Conf::CONF_OK);
        CHECK_INT(conf->get(got), Conf::CONF_OK);
        CHECK(got == NULL);
        CHECK_INT(other->get(got), Conf::CONF_INVALID);
}

static void callbacks() {
        Everything all;
        read_callback<RdKafka::DeliveryReportCb>("dr_cb", Conf::CONF_GLOBAL, &all);
        read_callback<RdKafka::EventCb>("event_cb", Conf::CONF_GLOBAL, &all);
        read_callback<RdKafka::SocketCb>("socket_cb", Conf::CONF_GLOBAL, &all);
        read_callback<RdKafka::OpenCb>("open_cb", Conf::CONF_GLOBAL, &all);
        read_callback<RdKafka::RebalanceCb>("rebalance_cb", Conf::CONF_GLOBAL, &all);
        read_callback<RdKafka::OffsetCommitCb>("offset_commit_cb", Conf::CONF_GLOBAL, &all);
        read_callback<RdKafka::PartitionerCb>("partitioner_cb", Conf::CONF_TOPIC, &all);
        read_callback<RdKafka::PartitionerKeyPointerCb>("partitioner_key_pointer_cb",
                                                        Conf::CONF_TOPIC, &all);
        set_callback<RdKafka::ConsumeCb>("consume_cb", Conf::CONF_GLOBAL, &all);
}

static void default_topics() {
        ConfPtr conf(Conf::create(Conf::CONF_GLOBAL));
        ConfPtr topic(Conf::create(Conf::CONF_TOPIC));
        const Conf *given = topic.get();
        std::string errstr, value;
        topic->set("acks", std::string("1"), errstr);
        CHECK_INT(conf->set("default_topic_conf", given, errstr), Conf::CONF_OK);
        CHECK_INT(conf->get("acks", value), Conf::CONF_OK);
        CHECK_TEXT(value, "1");
        CHECK_INT(topic->set("default_topic_conf", given, errstr), Conf::CONF_INVALID);
        given = conf.get();
        CHECK_INT(conf->set("default_topic_conf", given, errstr), Conf::CONF_INVALID);
}

static void clients_need_the_right_configuration() {
        ConfPtr topic(Conf::create(Conf::CONF_TOPIC));
        ConfPtr conf(Conf::create(Conf::CONF_GLOBAL));
        std::string errstr;
        CHECK(RdKafka::Producer::create(topic.get(), errstr) == NULL);
        CHECK(errstr.find("CONF_GLOBAL") != std::string::npos);
        errstr.clear();
        CHECK(RdKafka::KafkaConsumer::create(conf.get(), errstr) == NULL);
        CHECK(errstr.find("group.id") != std::string::npos);
        errstr.clear();
        CHECK(RdKafka::KafkaConsumer::create(NULL, errstr) == NULL);
        CHECK(!errstr.empty());
        conf->set("enable.idempotence", std::string("true"), errstr);
        conf->set("acks", std::string("1"), errstr);
        errstr.clear();
        CHECK(RdKafka::Producer::create(conf.get(), errstr) == NULL);
        CHECK(!errstr.empty());
}

static void a_configuration_serves_several_clients() {
        ConfPtr conf = new_conf();
        ProducerPtr one = new_producer(conf), two = new_producer(conf);
        CHECK(one->name() != two->name());
        std::string errstr;
        std::unique_ptr<RdKafka::Consumer> three(RdKafka::Consumer::create(conf.get(), errstr));
        CHECK(three != NULL);
        conf.reset();
        CHECK(one->name().find("producer") != std::string::npos);
}

struct Offers {
        std::vector<std::string> to_first, to_copy;
};

static rd_kafka_conf_res_t on_conf_set(rd_kafka_conf_t *,
                                       const char *name,
                                       const char *val,
                                       char *,
                                       size_t,
                                       void *opaque) {
        auto names = static_cast<std::vector<std::string> *>(opaque);
        names->push_back(std::string(name) + "=" + (val ? val : ""));
        return RD_KAFKA_CONF_UNKNOWN;
}

/** As the library does for plugins: the copy has its own interceptors. */
static rd_kafka_resp_err_t
on_conf_dup(rd_kafka_conf_t *copy, const rd_kafka_conf_t *, size_t, const char **, void *opaque) {
        Offers *offers = static_cast<Offers *>(opaque);
        return rd_kafka_conf_interceptor_add_on_conf_set(copy, "test", on_conf_set,
                                                         &offers->to_copy);
}

/** A client is made of a copy of its configuration. */
static void interceptors_are_offered_what_is_set_after_them() {
        ConfPtr conf(Conf::create(Conf::CONF_GLOBAL));
        Offers offers;
        set(conf, "client.id", "before");
        rd_kafka_conf_interceptor_add_on_conf_set(conf->c_ptr_global(), "test", on_conf_set,
                                                  &offers.to_first);
        rd_kafka_conf_interceptor_add_on_conf_dup(conf->c_ptr_global(), "test", on_conf_dup,
                                                  &offers);
        set(conf, "linger.ms", "1");
        set(conf, "linger.ms", "8");
        CHECK_INT(offers.to_first.size(), 2);
        std::string errstr;
        std::unique_ptr<RdKafka::Producer> p(RdKafka::Producer::create(conf.get(), errstr));
        CHECK(p != nullptr);
        CHECK(std::find(offers.to_copy.begin(), offers.to_copy.end(), "linger.ms=8") !=
              offers.to_copy.end());
        CHECK(std::find(offers.to_copy.begin(), offers.to_copy.end(), "client.id=before") ==
              offers.to_copy.end());
}

int main() {
        RUN(properties);
        RUN(topic_properties);
        RUN(dumps);
        RUN(callbacks);
        RUN(default_topics);
        RUN(clients_need_the_right_configuration);
        RUN(a_configuration_serves_several_clients);
        RUN(interceptors_are_offered_what_is_set_after_them);
        return test_end();
}
