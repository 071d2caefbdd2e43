/* Functions and classes that need no client: version, errors, partitions, headers. */

#include "test.hpp"

static void the_library() {
        /* The harness includes both headers. */
        CHECK_INT(RD_KAFKA_VERSION, 0x021000ff);
        CHECK_INT(RdKafka::version(), RD_KAFKA_VERSION);
        CHECK_TEXT(RdKafka::version_str(), rd_kafka_version_str());
        CHECK_TEXT(RdKafka::get_debug_contexts(), rd_kafka_get_debug_contexts());
        CHECK_TEXT(RdKafka::err2str(RdKafka::ERR__TIMED_OUT),
                   rd_kafka_err2str(RD_KAFKA_RESP_ERR__TIMED_OUT));
        CHECK_INT(RdKafka::wait_destroyed(1000), 0);
        void *memory = RdKafka::mem_malloc(16);
        CHECK(memory != NULL);
        memset(memory, 7, 16);
        RdKafka::mem_free(memory);
}

static void older_names_of_codes() {
        CHECK_CODE(RdKafka::ERR_GROUP_LOAD_IN_PROGRESS, RdKafka::ERR_COORDINATOR_LOAD_IN_PROGRESS);
        CHECK_CODE(RdKafka::ERR_GROUP_COORDINATOR_NOT_AVAILABLE, 15);
        CHECK_CODE(RdKafka::ERR_NOT_COORDINATOR_FOR_GROUP, 16);
}

static void logical_offsets() {
        CHECK_INT(RdKafka::Topic::PARTITION_UA, RD_KAFKA_PARTITION_UA);
        CHECK_INT(RdKafka::Topic::OFFSET_BEGINNING, RD_KAFKA_OFFSET_BEGINNING);
        CHECK_INT(RdKafka::Topic::OFFSET_END, RD_KAFKA_OFFSET_END);
        CHECK_INT(RdKafka::Topic::OFFSET_STORED, RD_KAFKA_OFFSET_STORED);
        CHECK_INT(RdKafka::Topic::OFFSET_INVALID, RD_KAFKA_OFFSET_INVALID);
        CHECK_INT(RdKafka::Consumer::OffsetTail(5), RD_KAFKA_OFFSET_TAIL(5));
}

static void errors() {
        std::string text = "as 100 % asked";
        std::unique_ptr<RdKafka::Error> error(
            RdKafka::Error::create(RdKafka::ERR__QUEUE_FULL, &text));
        CHECK_CODE(error->code(), RdKafka::ERR__QUEUE_FULL);
        CHECK_TEXT(error->name(), "_QUEUE_FULL");
        CHECK_TEXT(error->str(), text);
        CHECK(!error->is_fatal());
        CHECK(!error->is_retriable());
        CHECK(!error->txn_requires_abort());
        error.reset(RdKafka::Error::create(RdKafka::ERR__QUEUE_FULL, NULL));
        CHECK_TEXT(error->str(), RdKafka::err2str(RdKafka::ERR__QUEUE_FULL));
}

static void partitions() {
        std::unique_ptr<RdKafka::TopicPartition> p(RdKafka::TopicPartition::create("t", 3));
        CHECK_TEXT(p->topic(), "t");
        CHECK_INT(p->partition(), 3);
        CHECK_INT(p->offset(), RdKafka::Topic::OFFSET_INVALID);
        CHECK_FINE(p->err());
        CHECK_INT(p->get_leader_epoch(), -1);
        CHECK(p->get_metadata().empty());
        p->set_offset(77);
        CHECK_INT(p->offset(), 77);
        p->set_leader_epoch(5);
        CHECK_INT(p->get_leader_epoch(), 5);
        std::vector<unsigned char> metadata(3, 0);
        metadata[1] = 255;
        p->set_metadata(metadata);
        CHECK(p->get_metadata() == metadata);

        std::vector<RdKafka::TopicPartition *> list;
        list.push_back(RdKafka::TopicPartition::create("t", 1, 9));
        list.push_back(RdKafka::TopicPartition::create("t", 2, RdKafka::Topic::OFFSET_END));
        CHECK_INT(list[0]->offset(), 9);
        RdKafka::TopicPartition::destroy(list);
        CHECK(list.empty());
}

static void headers() {
        std::unique_ptr<RdKafka::Headers> headers(RdKafka::Headers::create());
        CHECK_INT(headers->size(), 0);
        CHECK_FINE(headers->add("a", "one"));
        CHECK_FINE(headers->add("b", "\0z", 2));
        CHECK_FINE(headers->add("a", RdKafka::Headers::Header("", "two", 3).value(), 3));
        CHECK_FINE(headers->add(RdKafka::Headers::Header("n", NULL, 0)));
        CHECK_FINE(headers->add("e", std::string()));
        CHECK_INT(headers->size(), 5);

        std::vector<RdKafka::Headers::Header> found = headers->get("a");
        CHECK_INT(found.size(), 2);
        CHECK_TEXT(found[0].value_string(), "one");
        CHECK_TEXT(found[1].value_string(), "two");
        RdKafka::Headers::Header last = headers->get_last("a");
        CHECK_FINE(last.err());
        CHECK_TEXT(last.key(), "a");
        CHECK_TEXT(last.value_string(), "two");
        CHECK_INT(last.value_size(), 3);
        RdKafka::Headers::Header binary = headers->get_last("b");
        CHECK_INT(binary.value_size(), 2);
        CHECK(memcmp(binary.value(), "\0z", 3) == 0);
        CHECK(headers->get_last("n").value() == NULL);
        CHECK(headers->get_last("e").value() != NULL);
        CHECK_INT(headers->get_last("e").value_size(), 0);
        RdKafka::Headers::Header none = headers->get_last("none");
        CHECK_CODE(none.err(), RdKafka::ERR__NOENT);
        CHECK(none.value() == NULL);
        CHECK(headers->get("none").empty());

        std::vector<RdKafka::Headers::Header> all = headers->get_all();
        CHECK_INT(all.size(), 5);
        CHECK_TEXT(all[4].key(), "e");
        std::unique_ptr<RdKafka::Headers> copy(RdKafka::Headers::create(all));
        CHECK_INT(copy->size(), 5);
        CHECK_FINE(copy->remove("a"));
        CHECK_CODE(copy->remove("a"), RdKafka::ERR__NOENT);
        CHECK_INT(copy->size(), 3);
        CHECK_INT(headers->size(), 5);
}

static void a_header_is_a_value() {
        RdKafka::Headers::Header one("k", "value", 5);
        RdKafka::Headers::Header other("j", NULL, 0, RdKafka::ERR__NOENT);
        CHECK_CODE(other.err(), RdKafka::ERR__NOENT);
        other = one;
        CHECK_TEXT(other.key(), "k");
        CHECK_TEXT(other.value_string(), "value");
        CHECK(other.value() != one.value());
        CHECK_FINE(other.err());
        const RdKafka::Headers::Header &self = other;
        other = self;
        CHECK_TEXT(other.value_string(), "value");
        other = RdKafka::Headers::Header("k", NULL, 0);
        CHECK(other.value() == NULL);
        RdKafka::Headers::Header failed("k", "value", 5, RdKafka::ERR__FAIL);
        CHECK(failed.value() == NULL);
}

int main() {
        RUN(the_library);
        RUN(older_names_of_codes);
        RUN(logical_offsets);
        RUN(errors);
        RUN(partitions);
        RUN(headers);
        RUN(a_header_is_a_value);
        return test_end();
}
