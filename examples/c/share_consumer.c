/*
 * Receives as a member of a share group (KIP-932): every member reads every partition, and each record
 * is acknowledged by itself.
 *
 *     share_consumer BROKERS GROUP TOPIC... [-X PROPERTY=VALUE]...
 *
 * A record is printed and accepted. A value that begins with "!" simulates failed work: the record
 * is released, so that it is delivered again, to this member or another one, and rejected once it was
 * delivered three times.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdkafka.h>

#define DELIVERIES_MAX 3

static volatile sig_atomic_t running = 1;

static void stop(int sig) {
        (void)sig;
        running = 0;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
        char errstr[512];
        if (rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr)) != RD_KAFKA_CONF_OK) {
                fprintf(stderr, "%s\n", errstr);
                exit(1);
        }
}

/* Prints an error and frees it. */
static void complain(const char *what, rd_kafka_error_t *error) {
        fprintf(stderr, "%s: %s\n", what, rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
}

/* Is called with the result of acknowledgements of one partition's records. */
static void acknowledged(rd_kafka_share_t *rkshare,
                         rd_kafka_share_partition_offsets_list_t *partitions,
                         rd_kafka_resp_err_t err,
                         void *opaque) {
        size_t i;
        (void)rkshare;
        (void)opaque;
        if (!err)
                return;
        for (i = 0; i < rd_kafka_share_partition_offsets_list_count(partitions); i++) {
                const rd_kafka_share_partition_offsets_t *entry =
                    rd_kafka_share_partition_offsets_list_get(partitions, i);
                const rd_kafka_topic_partition_t *partition =
                    rd_kafka_share_partition_offsets_partition(entry);
                fprintf(stderr, "%s [%d]: %d records will be delivered again: %s\n", partition->topic,
                        (int)partition->partition,
                        (int)rd_kafka_share_partition_offsets_offsets_cnt(entry),
                        rd_kafka_err2str(err));
        }
}

/* Processes a record and returns how to acknowledge it. */
static rd_kafka_share_AcknowledgeType_t handle(const rd_kafka_message_t *msg) {
        int deliveries = rd_kafka_message_delivery_count(msg);

        printf("%s [%d] offset %lld, delivery %d: %.*s\n", rd_kafka_topic_name(msg->rkt),
               (int)msg->partition, (long long)msg->offset, deliveries, (int)msg->len,
               msg->payload ? (const char *)msg->payload : "");
        if (msg->len == 0 || ((const char *)msg->payload)[0] != '!')
                return RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT;
        return deliveries < DELIVERIES_MAX ? RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_RELEASE
                                           : RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_REJECT;
}

/* Handles and acknowledges the records of a batch. */
static void handle_all(rd_kafka_share_t *rkshare, const rd_kafka_messages_t *batch) {
        size_t i;
        for (i = 0; i < rd_kafka_messages_count(batch); i++) {
                const rd_kafka_message_t *msg = rd_kafka_messages_get(batch, i);
                if (msg->err)
                        /* Cannot be read; the library has acknowledged it. */
                        fprintf(stderr, "%s\n", rd_kafka_message_errstr(msg));
                else
                        rd_kafka_share_acknowledge_type(rkshare, msg, handle(msg));
        }
        fflush(stdout);
}

int main(int argc, char **argv) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_share_t *rkshare;
        rd_kafka_error_t *error;
        rd_kafka_resp_err_t err;
        char errstr[512];
        int i;

        if (argc < 4) {
                fprintf(stderr, "usage: %s BROKERS GROUP TOPIC... [-X PROPERTY=VALUE]...\n", argv[0]);
                return 1;
        }
        set(conf, "bootstrap.servers", argv[1]);
        set(conf, "group.id", argv[2]);
        set(conf, "share.acknowledgement.mode", "explicit");
        for (i = 3; i < argc; i++) {
                char *value;
                if (strcmp(argv[i], "-X") || i + 1 == argc) {
                        rd_kafka_topic_partition_list_add(topics, argv[i], RD_KAFKA_PARTITION_UA);
                        continue;
                }
                value = strchr(argv[++i], '=');
                if (!value) {
                        fprintf(stderr, "%s is not PROPERTY=VALUE\n", argv[i]);
                        return 1;
                }
                *value++ = '\0';
                set(conf, argv[i], value);
        }
        signal(SIGINT, stop);
        signal(SIGTERM, stop);

        rkshare = rd_kafka_share_consumer_new(conf, errstr, sizeof(errstr));
        if (!rkshare) {
                fprintf(stderr, "%s\n", errstr);
                return 1;
        }
        error = rd_kafka_share_set_acknowledgement_commit_cb(rkshare, acknowledged, NULL);
        if (error)
                complain("callback", error);
        err = rd_kafka_share_subscribe(rkshare, topics);
        if (err)
                fprintf(stderr, "subscribe: %s\n", rd_kafka_err2str(err));
        rd_kafka_topic_partition_list_destroy(topics);

        while (running && !err) {
                rd_kafka_messages_t *batch;
                /* Sends the acknowledgements of the last batch, too. */
                error = rd_kafka_share_poll(rkshare, 500, &batch);
                if (error) {
                        running = !rd_kafka_error_is_fatal(error);
                        complain("poll", error);
                }
                handle_all(rkshare, batch);
                rd_kafka_messages_destroy(batch);
        }

        /* Sends the last acknowledgements, and leaves the group. */
        error = rd_kafka_share_consumer_close(rkshare);
        if (error)
                complain("close", error);
        error = rd_kafka_share_destroy(rkshare);
        if (error)
                complain("destroy", error);
        return err ? 1 : 0;
}
