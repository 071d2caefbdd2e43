/*
 * producer: sends the lines of standard input to a topic.
 *
 *     producer BROKERS TOPIC < lines.txt
 *
 * Shows: the least configuration, delivery reports, a full queue, the end without loss.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rdkafka.h>

static unsigned long failures;

/* Called by rd_kafka_poll() and rd_kafka_flush(), once for each message. */
static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)opaque;
        if (m->err) {
                failures++;
                fprintf(stderr, "not delivered: %s\n", rd_kafka_err2str(m->err));
        } else
                fprintf(stderr, "delivered to partition %" PRId32 " at offset %" PRId64 "\n",
                        m->partition, m->offset);
}

static rd_kafka_t *create(const char *brokers) {
        char errstr[512];
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_t *rk;

        if (rd_kafka_conf_set(conf, "bootstrap.servers", brokers, errstr, sizeof(errstr)) !=
            RD_KAFKA_CONF_OK) {
                fprintf(stderr, "%s\n", errstr);
                rd_kafka_conf_destroy(conf);
                return NULL;
        }
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);

        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
        if (!rk) {
                fprintf(stderr, "%s\n", errstr);
                rd_kafka_conf_destroy(conf); /* after a failure it is still ours */
        }
        return rk;
}

static rd_kafka_resp_err_t send_line(rd_kafka_t *rk, const char *topic, char *line, size_t len) {
        rd_kafka_resp_err_t err;

        for (;;) {
                err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_VALUE(line, len),
                                        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
                if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                        return err;
                rd_kafka_poll(rk, 1000); /* wait for deliveries, which make room */
        }
}

int main(int argc, char **argv) {
        char line[4096];
        rd_kafka_t *rk;

        if (argc != 3) {
                fprintf(stderr, "usage: %s BROKERS TOPIC\n", argv[0]);
                return 1;
        }
        rk = create(argv[1]);
        if (!rk)
                return 1;

        while (fgets(line, sizeof(line), stdin)) {
                rd_kafka_resp_err_t err = send_line(rk, argv[2], line, strcspn(line, "\n"));
                if (err) {
                        failures++;
                        fprintf(stderr, "not accepted: %s\n", rd_kafka_err2str(err));
                }
                rd_kafka_poll(rk, 0); /* delivery reports of earlier lines */
        }

        if (rd_kafka_flush(rk, 30000) == RD_KAFKA_RESP_ERR__TIMED_OUT) {
                failures++;
                fprintf(stderr, "%d messages were not delivered in time\n", rd_kafka_outq_len(rk));
        }
        rd_kafka_destroy(rk);
        return failures ? 1 : 0;
}
