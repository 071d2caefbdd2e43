/* A consumer's identity in its group: from a client, from parts, as bytes. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static void check_parts(const rd_kafka_consumer_group_metadata_t *m,
                        const char *group,
                        int32_t generation,
                        const char *member,
                        const char *instance) {
        CHECK_STR(rd_kafka_consumer_group_metadata_group_id(m), group);
        CHECK_INT(rd_kafka_consumer_group_metadata_generation_id(m), generation);
        CHECK_STR(rd_kafka_consumer_group_metadata_member_id(m), member);
        CHECK_STR(rd_kafka_consumer_group_metadata_group_instance_id(m), instance);
}

/* The bytes of metadata; their number in `size`. To be freed with rd_kafka_mem_free(). */
static void *written(const rd_kafka_consumer_group_metadata_t *m, size_t *size) {
        void *buffer = NULL;
        rd_kafka_error_t *error = rd_kafka_consumer_group_metadata_write(m, &buffer, size);
        CHECK(error == NULL);
        rd_kafka_error_destroy(error);
        return buffer;
}

static void getters_return_the_parts(void) {
        struct {
                const char *group;
                int32_t generation;
                const char *member;
                const char *instance;
        } rows[] = {
            {"group", 7, "member", "instance"}, {"group", -1, "", NULL},
            {"group", 0, "m", ""},              {"g", INT32_MAX, "consumer-1-2-3", NULL},
            {"", INT32_MIN, "", "i"},
        };
        size_t i;

        for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                rd_kafka_consumer_group_metadata_t *read = NULL, *m;
                size_t size = 0;
                void *bytes;

                m = rd_kafka_consumer_group_metadata_new_with_genid(
                    rows[i].group, rows[i].generation, rows[i].member, rows[i].instance);
                REQUIRE(m != NULL);
                check_parts(m, rows[i].group, rows[i].generation, rows[i].member, rows[i].instance);
                bytes = written(m, &size);
                rd_kafka_consumer_group_metadata_destroy(m);
                CHECK(rd_kafka_consumer_group_metadata_read(&read, bytes, size) == NULL);
                REQUIRE(read != NULL);
                check_parts(read, rows[i].group, rows[i].generation, rows[i].member,
                            rows[i].instance);
                rd_kafka_consumer_group_metadata_destroy(read);
                rd_kafka_mem_free(NULL, bytes);
        }
}

static void a_group_id_alone_has_no_member(void) {
        rd_kafka_consumer_group_metadata_t *m = rd_kafka_consumer_group_metadata_new("alone");
        REQUIRE(m != NULL);
        check_parts(m, "alone", -1, "", NULL);
        rd_kafka_consumer_group_metadata_destroy(m);
}

/* Bindings hand these bytes from one client to another, which may use another library. */
static void serialization_matches_librdkafka(void) {
        static const char want[] = "CGMDv2:\xff\xff\xff\xffgroup\0member\0\0inst";
        rd_kafka_consumer_group_metadata_t *m =
            rd_kafka_consumer_group_metadata_new_with_genid("group", -1, "member", "inst");
        size_t size = 0;
        void *bytes = written(m, &size);
        CHECK_INT(size, sizeof(want));
        CHECK(size == sizeof(want) && !memcmp(bytes, want, size));
        rd_kafka_mem_free(NULL, bytes);
        rd_kafka_consumer_group_metadata_destroy(m);
}

static void damaged_bytes_are_refused(void) {
        rd_kafka_consumer_group_metadata_t *m =
            rd_kafka_consumer_group_metadata_new_with_genid("group", 3, "member", "inst");
        size_t size = 0, cut;
        char *bytes = written(m, &size);

        rd_kafka_consumer_group_metadata_destroy(m);
        for (cut = 0; cut < size; cut++) {
                rd_kafka_error_t *error = rd_kafka_consumer_group_metadata_read(&m, bytes, cut);
                CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__BAD_MSG);
                rd_kafka_error_destroy(error);
        }
        for (cut = 0; cut < 7; cut++) {
                rd_kafka_error_t *error;
                bytes[cut] ^= 1;
                error = rd_kafka_consumer_group_metadata_read(&m, bytes, size);
                CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__BAD_MSG);
                rd_kafka_error_destroy(error);
                bytes[cut] ^= 1;
        }
        rd_kafka_mem_free(NULL, bytes);
}

static void a_member_knows_its_generation(void) {
        rd_kafka_t *c = test_consumer(servers, "metadata-group");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_consumer_group_metadata_t *m = rd_kafka_consumer_group_metadata(c);
        int64_t until = test_now_ms() + 30000;
        int32_t generation = -1;

        REQUIRE(m != NULL);
        check_parts(m, "metadata-group", -1, "", NULL);
        rd_kafka_topic_partition_list_add(l, "metadata-topic", RD_KAFKA_PARTITION_UA);
        CHECK_INT(test_produce(cluster, "metadata-topic", 0, 0, 1), 0);
        CHECK_OK(rd_kafka_subscribe(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        while (generation < 0 && test_now_ms() < until) {
                rd_kafka_message_t *message = rd_kafka_consumer_poll(c, 100);
                if (message)
                        rd_kafka_message_destroy(message);
                rd_kafka_consumer_group_metadata_destroy(m);
                m          = rd_kafka_consumer_group_metadata(c);
                generation = rd_kafka_consumer_group_metadata_generation_id(m);
        }
        CHECK(generation > 0);
        CHECK(rd_kafka_consumer_group_metadata_member_id(m)[0]);
        rd_kafka_consumer_group_metadata_destroy(m);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void no_metadata_without_group_id(void) {
        rd_kafka_t *c = test_client(RD_KAFKA_CONSUMER, test_conf());
        CHECK(rd_kafka_consumer_group_metadata(cluster) == NULL);
        CHECK(rd_kafka_consumer_group_metadata(c) == NULL);
        rd_kafka_destroy(c);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(getters_return_the_parts);
        RUN(a_group_id_alone_has_no_member);
        RUN(serialization_matches_librdkafka);
        RUN(damaged_bytes_are_refused);
        RUN(a_member_knows_its_generation);
        RUN(no_metadata_without_group_id);
        rd_kafka_destroy(cluster);
        return test_end();
}
