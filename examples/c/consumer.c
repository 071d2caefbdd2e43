/*
 * consumer: prints the messages of topics, as a member of a group, until Ctrl-C.
 *
 *     consumer BROKERS GROUP TOPIC...
 *
 * Shows: subscribing, polling, messages and errors, the orderly end.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include <rdkafka.h>

static volatile sig_atomic_t running = 1;

static void on_signal(int sig) {
        (void)sig;
        running = 0;
}

static rd_kafka_t *create(const char *brokers, const char *group) {
        const char *settings[][2] = {
            {"bootstrap.servers", brokers},
            {"group.id", group},
            {"auto.offset.reset", "earliest"}, /* where a new group starts */
        };
        char errstr[512];
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_t *rk;
        size_t i;

        for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
                if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], errstr,
                                      sizeof(errstr)) != RD_KAFKA_CONF_OK) {
                        fprintf(stderr, "%s\n", errstr);
                        rd_kafka_conf_destroy(conf);
                        return NULL;
                }
        rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, errstr, sizeof(errstr));
        if (!rk) {
                fprintf(stderr, "%s\n", errstr);
                rd_kafka_conf_destroy(conf);
                return NULL;
        }
        rd_kafka_poll_set_consumer(rk); /* one function, rd_kafka_consumer_poll(), serves all */
        return rk;
}

static rd_kafka_resp_err_t subscribe(rd_kafka_t *rk, char **names, int cnt) {
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(cnt);
        rd_kafka_resp_err_t err;
        int i;

        for (i = 0; i < cnt; i++)
                rd_kafka_topic_partition_list_add(topics, names[i], RD_KAFKA_PARTITION_UA);
        err = rd_kafka_subscribe(rk, topics);
        rd_kafka_topic_partition_list_destroy(topics);
        return err;
}

static void print_message(const rd_kafka_message_t *m) {
        printf("%s [%" PRId32 "] %" PRId64 ": ", rd_kafka_topic_name(m->rkt), m->partition,
               m->offset);
        if (m->key)
                printf("%.*s = ", (int)m->key_len, (const char *)m->key);
        printf("%.*s\n", (int)m->len, m->payload ? (const char *)m->payload : "");
}

int main(int argc, char **argv) {
        rd_kafka_resp_err_t err;
        rd_kafka_t *rk;

        if (argc < 4) {
                fprintf(stderr, "usage: %s BROKERS GROUP TOPIC...\n", argv[0]);
                return 1;
        }
        signal(SIGINT, on_signal);
        rk = create(argv[1], argv[2]);
        if (!rk)
                return 1;
        err = subscribe(rk, argv + 3, argc - 3);
        if (err) {
                fprintf(stderr, "subscribe: %s\n", rd_kafka_err2str(err));
                rd_kafka_destroy(rk);
                return 1;
        }

        while (running) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 500);
                if (!m)
                        continue; /* nothing came in this time */
                if (m->err)
                        fprintf(stderr, "%s\n", rd_kafka_message_errstr(m)); /* and go on */
                else
                        print_message(m);
                rd_kafka_message_destroy(m);
        }

        rd_kafka_consumer_close(rk); /* commits, and leaves the group */
        rd_kafka_destroy(rk);
        return 0;
}
