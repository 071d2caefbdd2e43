/* Offsets in local files, for partitions of rd_kafka_consume_start(). */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <sys/stat.h>

static rd_kafka_t *cluster;
static char servers[512];
static char folder[256];
static char file[512];
static char last_error[512];

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        (void)rk;
        (void)opaque;
        if (err == RD_KAFKA_RESP_ERR__FS)
                snprintf(last_error, sizeof(last_error), "%s", reason);
}

/* A consumer whose topic "t" stores its offsets in `path`. */
static rd_kafka_t *consumer(const char *path, const char *group, rd_kafka_topic_t **rkt) {
        rd_kafka_topic_conf_t *tconf = rd_kafka_topic_conf_new();
        rd_kafka_conf_t *conf        = test_conf();
        static const char *const settings[][2] = {{"offset.store.method", "file"},
                                                  {"auto.commit.interval.ms", "20"},
                                                  {"auto.offset.reset", "earliest"}};
        char errstr[256];
        rd_kafka_t *c;
        size_t i;

        test_set(conf, "bootstrap.servers", servers);
        if (group)
                test_set(conf, "group.id", group);
        rd_kafka_conf_set_error_cb(conf, on_error);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        for (i = 0; i < 3; i++)
                CHECK_INT(rd_kafka_topic_conf_set(tconf, settings[i][0], settings[i][1], errstr,
                                                  sizeof(errstr)),
                          RD_KAFKA_CONF_OK);
        CHECK_INT(rd_kafka_topic_conf_set(tconf, "offset.store.path", path, errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        *rkt = rd_kafka_topic_new(c, "t", tconf);
        return c;
}

/* The number in a file, -1 if there is none. */
static int64_t content(const char *path) {
        long long n = -1;
        FILE *f     = fopen(path, "r");
        if (f) {
                if (fscanf(f, "%lld", &n) != 1)
                        n = -1;
                fclose(f);
        }
        return n;
}

static void write_file(const char *path, const char *text) {
        FILE *f = fopen(path, "w");
        CHECK(f != NULL);
        if (f) {
                fputs(text, f);
                fclose(f);
        }
}

/* Takes `cnt` messages; is the offset of the first. */
static int64_t take(rd_kafka_topic_t *rkt, int cnt) {
        int64_t first = -1, until = test_now_ms() + 20000;
        while (cnt > 0 && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consume(rkt, 0, 200);
                if (m && !m->err) {
                        if (first < 0)
                                first = m->offset;
                        cnt--;
                }
                if (m)
                        rd_kafka_message_destroy(m);
        }
        CHECK_INT(cnt, 0);
        return first;
}

static int64_t wait_for(const char *path, int64_t want) {
        int64_t until = test_now_ms() + 10000;
        while (content(path) != want && test_now_ms() < until)
                test_sleep_ms(5);
        return content(path);
}

static void offsets_are_written_and_read_again(void) {
        rd_kafka_topic_t *rkt;
        rd_kafka_t *c = consumer(folder, NULL, &rkt);

        snprintf(file, sizeof(file), "%s/t-0.offset", folder);
        /* Without a file the reset policy counts. */
        CHECK_INT(rd_kafka_consume_start(rkt, 0, RD_KAFKA_OFFSET_STORED), 0);
        CHECK_INT(take(rkt, 5), 0);
        CHECK_INT(wait_for(file, 5), 5);
        CHECK_INT(take(rkt, 2), 5);
        CHECK_INT(rd_kafka_consume_stop(rkt, 0), 0);
        CHECK_INT(wait_for(file, 7), 7);
        CHECK_INT(rd_kafka_consume_start(rkt, 0, RD_KAFKA_OFFSET_STORED), 0);
        CHECK_INT(take(rkt, 4), 7);
        rd_kafka_topic_destroy(rkt);
        /* Pending offsets are written before the call returns. */
        rd_kafka_destroy(c);
        CHECK_INT(content(file), 11);

        c = consumer(folder, NULL, &rkt);
        CHECK_INT(rd_kafka_consume_start(rkt, 0, RD_KAFKA_OFFSET_STORED), 0);
        CHECK_INT(take(rkt, 1), 11);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(c);
        CHECK_INT(content(file), 12);
}

static void stored_offset_does_not_go_back(void) {
        rd_kafka_topic_t *rkt;
        rd_kafka_t *c = consumer(folder, NULL, &rkt);

        CHECK_INT(rd_kafka_consume_start(rkt, 0, RD_KAFKA_OFFSET_STORED), 0);
        CHECK_INT(take(rkt, 1), 12);
        CHECK_OK(rd_kafka_seek(rkt, 0, 3, 10000));
        CHECK_INT(take(rkt, 2), 3);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(c);
        CHECK_INT(content(file), 13);
}

static void file_names_contain_the_group(void) {
        rd_kafka_topic_t *rkt;
        rd_kafka_t *c = consumer(folder, "a/b:c", &rkt);
        char own[512];

        snprintf(own, sizeof(own), "%s/t-0-a%%2Fb%%3Ac.offset", folder);
        CHECK_INT(rd_kafka_consume_start(rkt, 0, RD_KAFKA_OFFSET_STORED), 0);
        CHECK_INT(take(rkt, 2), 0);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(c);
        CHECK_INT(content(own), 2);
        CHECK_INT(content(file), 13);
        remove(own);
}

static void the_path_may_be_the_file(void) {
        rd_kafka_topic_t *rkt;
        rd_kafka_t *c;
        char own[512];

        snprintf(own, sizeof(own), "%s/own name", folder);
        write_file(own, "9\n");
        c = consumer(own, NULL, &rkt);
        CHECK_INT(rd_kafka_consume_start(rkt, 0, RD_KAFKA_OFFSET_STORED), 0);
        CHECK_INT(take(rkt, 1), 9);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(c);
        CHECK_INT(content(own), 10);
        remove(own);
}

static void invalid_file_content_is_reported_and_replaced(void) {
        rd_kafka_topic_t *rkt;
        rd_kafka_t *c;
        int64_t until;

        last_error[0] = '\0';
        write_file(file, "not a number\n");
        c = consumer(folder, NULL, &rkt);
        CHECK_INT(rd_kafka_consume_start(rkt, 0, RD_KAFKA_OFFSET_STORED), 0);
        CHECK_INT(take(rkt, 4), 0);
        until = test_now_ms() + 10000;
        while (!last_error[0] && test_now_ms() < until)
                rd_kafka_poll(c, 50);
        CHECK(strstr(last_error, folder) != NULL);
        CHECK(strstr(last_error, "not a number") != NULL);
        CHECK_INT(wait_for(file, 4), 4);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(c);
}

static void write_error_is_reported(void) {
        rd_kafka_topic_t *rkt;
        char nowhere[512];
        int64_t until;
        rd_kafka_t *c;

        last_error[0] = '\0';
        snprintf(nowhere, sizeof(nowhere), "%s/no/such/folder/file", folder);
        c = consumer(nowhere, NULL, &rkt);
        CHECK_INT(rd_kafka_consume_start(rkt, 0, RD_KAFKA_OFFSET_STORED), 0);
        CHECK_INT(take(rkt, 3), 0);
        until = test_now_ms() + 10000;
        while (!last_error[0] && test_now_ms() < until)
                rd_kafka_poll(c, 50);
        CHECK(strstr(last_error, nowhere) != NULL);
        CHECK_INT(rd_kafka_consume_stop(rkt, 0), 0);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(c);
}

int main(void) {
        char pattern[] = "/tmp/ottla-offset-file-XXXXXX";
        if (!mkdtemp(pattern)) {
                printf("Bail out! no folder\n");
                return 1;
        }
        snprintf(folder, sizeof(folder), "%s", pattern);
        cluster = test_cluster(NULL, servers, sizeof(servers));
        CHECK_INT(test_produce(cluster, "t", 0, 0, 40), 0);
        RUN(offsets_are_written_and_read_again);
        RUN(stored_offset_does_not_go_back);
        RUN(file_names_contain_the_group);
        RUN(the_path_may_be_the_file);
        RUN(invalid_file_content_is_reported_and_replaced);
        RUN(write_error_is_reported);
        rd_kafka_destroy(cluster);
        remove(file);
        CHECK_INT(rmdir(folder), 0);
        return test_end();
}
