/* Partitioners as objects, of one topic and of all. */

#include "test.hpp"

using RdKafka::Topic;

/* Chooses by the key's first letter; remembers what it was called with. */
struct ByLetter : RdKafka::PartitionerCb, RdKafka::PartitionerKeyPointerCb {
        const Topic *topic = NULL;
        std::string name;
        int calls = 0, pointer_calls = 0, without_key = 0;
        void *opaque = NULL;

        int32_t partitioner_cb(const Topic *t, const std::string *key, int32_t cnt, void *op) {
                calls++;
                note(t, op);
                without_key += key == NULL;
                return key && !key->empty() ? ((*key)[0] - 'a') % cnt : 0;
        }

        int32_t
        partitioner_cb(const Topic *t, const void *key, size_t len, int32_t cnt, void *op) {
                pointer_calls++;
                note(t, op);
                return len ? (*static_cast<const char *>(key) - 'a') % cnt : 0;
        }

        void note(const Topic *t, void *op) {
                topic = t;
                name = t->name();
                opaque = op;
                CHECK(t->partition_available(0));
        }
};

struct LastPartition : RdKafka::DeliveryReportCb {
        int32_t partition = -1;
        RdKafka::ErrorCode err = RdKafka::ERR_NO_ERROR;
        Topic *topic = NULL;

        void dr_cb(RdKafka::Message &m) {
                partition = m.partition();
                err = m.err();
                topic = m.topic();
        }
};

static RdKafka::ErrorCode send_key(const ProducerPtr &p, Topic *topic, const char *key, void *opaque) {
        return p->produce(topic, Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY,
                          const_cast<char *>("x"), 1, key, key ? strlen(key) : 0, opaque);
}

/* Waits until a topic's partitions are known, so that producing chooses at once. */
static void know(const ProducerPtr &p, const Topic *topic) {
        for (int i = 0; i < 50; i++) {
                RdKafka::Metadata *metadata = NULL;
                CHECK_FINE(p->metadata(false, topic, &metadata, 10000));
                bool known = metadata && metadata->topics()->at(0)->partitions()->size() > 1;
                delete metadata;
                if (known)
                        return;
        }
}

static void partitioner_of_a_topic() {
        ByLetter by_letter;
        LastPartition last;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &last);
        ConfPtr topic_conf(RdKafka::Conf::create(RdKafka::Conf::CONF_TOPIC));
        set_cb<RdKafka::PartitionerCb>(topic_conf, "partitioner_cb", &by_letter);
        ProducerPtr p = new_cluster(conf);
        std::string errstr;
        std::unique_ptr<Topic> topic(Topic::create(p.get(), "t", topic_conf.get(), errstr));
        topic_conf.reset();
        know(p, topic.get());
        int tag;
        CHECK_FINE(send_key(p, topic.get(), "d", &tag));
        CHECK_FINE(p->flush(10000));
        CHECK_INT(by_letter.calls, 1);
        CHECK(by_letter.topic == topic.get());
        CHECK(by_letter.opaque == &tag);
        CHECK_INT(last.partition, 3);
        CHECK_FINE(send_key(p, topic.get(), NULL, NULL));
        CHECK_FINE(p->flush(10000));
        CHECK_INT(by_letter.without_key, 1);
        CHECK_INT(last.partition, 0);
        CHECK_INT(by_letter.pointer_calls, 0);
}

/* Sends one message with the partitioners of `topic_conf`; is its partition. */
static int32_t send_with(const ConfPtr &topic_conf) {
        LastPartition last;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &last);
        ProducerPtr p = new_cluster(conf);
        std::string errstr;
        std::unique_ptr<Topic> topic(Topic::create(p.get(), "t", topic_conf.get(), errstr));
        know(p, topic.get());
        CHECK_FINE(send_key(p, topic.get(), "c", NULL));
        CHECK_FINE(p->flush(10000));
        return last.partition;
}

static void by_key_pointer() {
        ByLetter by_letter;
        ConfPtr topic_conf(RdKafka::Conf::create(RdKafka::Conf::CONF_TOPIC));
        set_cb<RdKafka::PartitionerKeyPointerCb>(topic_conf, "partitioner_key_pointer_cb",
                                                 &by_letter);
        CHECK_INT(send_with(topic_conf), 2);
        CHECK_INT(by_letter.pointer_calls, 1);
}

static void partitioner_cb_takes_precedence_over_key_pointer() {
        ByLetter by_letter;
        ConfPtr topic_conf(RdKafka::Conf::create(RdKafka::Conf::CONF_TOPIC));
        set_cb<RdKafka::PartitionerKeyPointerCb>(topic_conf, "partitioner_key_pointer_cb",
                                                 &by_letter);
        set_cb<RdKafka::PartitionerCb>(topic_conf, "partitioner_cb", &by_letter);
        CHECK_INT(send_with(topic_conf), 2);
        CHECK_INT(by_letter.pointer_calls, 0);
        CHECK_INT(by_letter.calls, 1);
}

static void partitioner_of_the_default_topic_conf() {
        ByLetter by_letter;
        LastPartition last;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &last);
        ConfPtr topic_conf(RdKafka::Conf::create(RdKafka::Conf::CONF_TOPIC));
        set_cb<RdKafka::PartitionerCb>(topic_conf, "partitioner_cb", &by_letter);
        set_cb<const RdKafka::Conf>(conf, "default_topic_conf", topic_conf.get());
        ProducerPtr p = new_cluster(conf);
        /* By name: there is no object of the application. */
        CHECK_FINE(p->produce("named", Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY,
                              const_cast<char *>("x"), 1, "b", 1, 0, NULL));
        CHECK_FINE(p->flush(10000));
        CHECK_INT(by_letter.calls, 1);
        CHECK_TEXT(by_letter.name, "named");
        CHECK_INT(last.partition, 1);
        CHECK(last.topic == NULL);
        /* An object without a configuration has the default one. */
        std::string errstr;
        std::unique_ptr<Topic> topic(Topic::create(p.get(), "object", NULL, errstr));
        know(p, topic.get());
        CHECK_FINE(send_key(p, topic.get(), "c", NULL));
        CHECK_FINE(p->flush(10000));
        CHECK_INT(by_letter.calls, 2);
        CHECK(by_letter.topic == topic.get());
        CHECK_INT(last.partition, 2);
        CHECK(last.topic == topic.get());
}

struct Refuses : RdKafka::PartitionerCb {
        int32_t partitioner_cb(const Topic *, const std::string *, int32_t, void *) {
                return Topic::PARTITION_UA;
        }
};

static void partitioner_returns_unassigned() {
        Refuses refuses;
        LastPartition last;
        ConfPtr conf = new_conf();
        set_cb<RdKafka::DeliveryReportCb>(conf, "dr_cb", &last);
        ConfPtr topic_conf(RdKafka::Conf::create(RdKafka::Conf::CONF_TOPIC));
        set_cb<RdKafka::PartitionerCb>(topic_conf, "partitioner_cb", &refuses);
        ProducerPtr p = new_cluster(conf);
        std::string errstr;
        std::unique_ptr<Topic> topic(Topic::create(p.get(), "t", topic_conf.get(), errstr));
        /* The error comes from the call or with the report, depending on when the partitions are known. */
        RdKafka::ErrorCode err = send_key(p, topic.get(), "a", NULL);
        CHECK_FINE(p->flush(10000));
        CHECK_CODE(err ? err : last.err, RdKafka::ERR__UNKNOWN_PARTITION);
}

int main() {
        RUN(partitioner_of_a_topic);
        RUN(by_key_pointer);
        RUN(partitioner_cb_takes_precedence_over_key_pointer);
        RUN(partitioner_of_the_default_topic_conf);
        RUN(partitioner_returns_unassigned);
        return test_end();
}
