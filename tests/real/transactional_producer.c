/* Writes transactions: transactional_producer BROKERS TOPIC ID ROUNDS [PROPERTY=VALUE ...]
 *
 * Each round is a transaction of 10 messages "committed-N" or, every third round, "aborted-N", over two partitions. With
 * it goes the offset N of topic "TOPIC-in" for group "TOPIC-group". Prints "begun" when the first message of a last
 * transaction, "zombie-0", is written, commits that when a line comes on stdin, and prints the name of the error. Where that
 * asks for an abort, it aborts, commits "after-0" and prints "went on". */
#include "client.h"

static void must(rd_kafka_error_t *error, const char *what) {
    if (error == NULL)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, rd_kafka_error_name(error), rd_kafka_error_string(error));
    exit(1);
}

static void put(rd_kafka_t *rk, const char *topic, const char *kind, int number) {
    char text[64];
    int len = snprintf(text, sizeof(text), "%s-%d", kind, number);
    rd_kafka_resp_err_t err =
        rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(number % 2), RD_KAFKA_V_VALUE(text, (size_t)len),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    if (err) {
        fprintf(stderr, "producing: %s\n", rd_kafka_err2name(err));
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    const char *topic = argv[2];
    char in[256], group_id[256], line[16];
    snprintf(in, sizeof(in), "%s-in", topic);
    snprintf(group_id, sizeof(group_id), "%s-group", topic);
    rd_kafka_conf_t *conf = conf_or_exit(argv[1], argc - 5, argv + 5);
    set_or_exit(conf, "transactional.id", argv[3]);
    rd_kafka_t *rk = client_or_exit(RD_KAFKA_PRODUCER, conf);
    rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata_new(group_id);
    rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(offsets, in, 0);
    double begun = now_s();
    int number = 0;

    must(rd_kafka_init_transactions(rk, -1), "init");
    for (int round = 0; round < atoi(argv[4]); round++) {
        int aborts = round % 3 == 2;
        must(rd_kafka_begin_transaction(rk), "begin");
        for (int i = 0; i < 10; i++)
            put(rk, topic, aborts ? "aborted" : "committed", number++);
        offsets->elems[0].offset = number;
        must(rd_kafka_send_offsets_to_transaction(rk, offsets, group, -1), "offsets");
        /* An abort purges what was not sent, and this one is to have been written. */
        if (aborts && rd_kafka_flush(rk, 30000))
            return 1;
        if (aborts)
            must(rd_kafka_abort_transaction(rk, -1), "abort");
        else
            must(rd_kafka_commit_transaction(rk, -1), "commit");
    }
    fprintf(stderr, "%.3f s\n", now_s() - begun);
    must(rd_kafka_begin_transaction(rk), "begin");
    put(rk, topic, "zombie", 0);
    if (rd_kafka_flush(rk, 30000))
        return 1;
    printf("begun\n");
    fflush(stdout);
    if (fgets(line, sizeof(line), stdin) == NULL)
        return 1;
    rd_kafka_error_t *error = rd_kafka_commit_transaction(rk, -1);
    printf("%s %d\n", error ? rd_kafka_error_name(error) : "NO_ERROR", rd_kafka_error_is_fatal(error));
    if (rd_kafka_error_txn_requires_abort(error)) {
        must(rd_kafka_abort_transaction(rk, -1), "abort");
        must(rd_kafka_begin_transaction(rk), "begin");
        put(rk, topic, "after", 0);
        must(rd_kafka_commit_transaction(rk, -1), "commit");
        printf("went on\n");
    }
    rd_kafka_error_destroy(error);
    rd_kafka_topic_partition_list_destroy(offsets);
    rd_kafka_consumer_group_metadata_destroy(group);
    rd_kafka_destroy(rk);
    return 0;
}
