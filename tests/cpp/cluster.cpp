/* Queries of the cluster: metadata, watermarks, offsets by time, ids. */

#include "test.hpp"

static void metadata() {
        ProducerPtr p = new_cluster();
        send_numbers(p, "t", 0, 0, 1);
        RdKafka::Metadata *answer = NULL;
        CHECK_FINE(p->metadata(true, NULL, &answer, 10000));
        REQUIRE(answer != NULL);
        std::unique_ptr<RdKafka::Metadata> all(answer);
        CHECK_INT(all->brokers()->size(), 3);
        for (RdKafka::Metadata::BrokerMetadataIterator it = all->brokers()->begin();
             it != all->brokers()->end(); ++it) {
                CHECK((*it)->id() >= 1 && (*it)->id() <= 3);
                CHECK((*it)->port() > 0);
                CHECK(!(*it)->host().empty());
        }
        CHECK(all->orig_broker_id() >= 1);
        CHECK(!all->orig_broker_name().empty());
        REQUIRE(all->topics()->size() == 1);
        const RdKafka::TopicMetadata *topic = (*all->topics())[0];
        CHECK_TEXT(topic->topic(), "t");
        CHECK_FINE(topic->err());
        CHECK(topic->partitions()->size() > 1);
        for (const RdKafka::PartitionMetadata *part : *topic->partitions()) {
                CHECK_FINE(part->err());
                CHECK(part->leader() >= 1);
                CHECK(!part->replicas()->empty());
                CHECK_INT(part->isrs()->size(), part->replicas()->size());
                CHECK_INT((*part->replicas())[0], part->leader());
        }
        CHECK_INT((*topic->partitions())[1]->id(), 1);

        std::string errstr;
        std::unique_ptr<RdKafka::Topic> one(RdKafka::Topic::create(p.get(), "t", NULL, errstr));
        CHECK_FINE(p->metadata(false, one.get(), &answer, 10000));
        std::unique_ptr<RdKafka::Metadata> some(answer);
        CHECK_INT(some->topics()->size(), 1);
}

static void no_cluster() {
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", "127.0.0.1:1");
        ProducerPtr p = new_producer(conf);
        int not_null;
        RdKafka::Metadata *answer = reinterpret_cast<RdKafka::Metadata *>(&not_null);
        CHECK(p->metadata(true, NULL, &answer, 100) != RdKafka::ERR_NO_ERROR);
        CHECK(answer == NULL);
        CHECK_TEXT(p->clusterid(10), "");
        CHECK_INT(p->controllerid(10), -1);
        int64_t low, high;
        CHECK(p->query_watermark_offsets("t", 0, &low, &high, 100) != RdKafka::ERR_NO_ERROR);
}

static void ids() {
        ProducerPtr p = new_cluster();
        CHECK(!p->clusterid(10000).empty());
        CHECK(p->controllerid(10000) >= 1);
        CHECK(p->name().find("producer") != std::string::npos);
        CHECK_TEXT(p->memberid(), "");
        CHECK_TEXT(rd_kafka_name(p->c_ptr()), p->name());
        void *memory = p->mem_malloc(8);
        CHECK(memory != NULL);
        p->mem_free(memory);
}

static void offsets() {
        ProducerPtr p = new_cluster();
        for (int i = 0; i < 5; i++)
                CHECK_FINE(p->produce("t", 0, RdKafka::Producer::RK_MSG_COPY,
                                      const_cast<char *>("x"), 1, NULL, 0, (i + 1) * 1000, NULL));
        CHECK_FINE(p->flush(10000));
        int64_t low = -1, high = -1;
        CHECK_FINE(p->query_watermark_offsets("t", 0, &low, &high, 10000));
        CHECK_INT(low, 0);
        CHECK_INT(high, 5);
        Partitions times("t", 2, 2500);
        CHECK_FINE(p->offsetsForTimes(times.list, 10000));
        CHECK_INT(times.list[0]->offset(), 2);
        CHECK_FINE(times.list[0]->err());
        CHECK_INT(times.list[1]->offset(), RdKafka::Topic::OFFSET_END);

        ConsumerPtr c = new_consumer(consumer_conf(servers_of(p), "g"));
        Partitions part("t", 1, 0);
        CHECK_FINE(c->assign(part.list));
        CHECK(next_message(c) != NULL);
        CHECK_FINE(c->get_watermark_offsets("t", 0, &low, &high));
        CHECK_INT(high, 5);
}

int main() {
        RUN(metadata);
        RUN(no_cluster);
        RUN(ids);
        RUN(offsets);
        return test_end();
}
