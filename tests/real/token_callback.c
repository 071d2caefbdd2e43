/* Produces at a steady rate with tokens that the application fetches.
 *
 *   token_callback MODE BROKERS TOPIC COUNT MESSAGES_PER_SECOND [PROPERTY=VALUE]...
 *
 * MODE is how the request for a token arrives: "poll" by a callback in rd_kafka_poll(), "background" by a callback in the
 * library's own thread while the application does not poll, "event" by an event of the main queue. The property
 * sasl.oauthbearer.config is the name of a file with a token, which is passed on with a life of LIFE_MS.
 *
 * Prints `delivered NUMBER refreshed TIMES`. Exit status: 0 when everything was delivered, 1 when not, 2 when it could not start.
 */
#include "client.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <unistd.h>

#define LIFE_MS 5000

static long delivered;
static atomic_int refreshed;

static void refresh(rd_kafka_t *rk, const char *config, void *opaque) {
    char token[8192], reason[512];
    struct timespec now;

    (void)opaque;
    FILE *file = fopen(config, "r");
    if (file == NULL || fgets(token, sizeof(token), file) == NULL) {
        rd_kafka_oauthbearer_set_token_failure(rk, "the file cannot be read");
    } else {
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t end_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + LIFE_MS;
        if (rd_kafka_oauthbearer_set_token(rk, token, end_ms, "alice", NULL, 0, reason, sizeof(reason))) {
            fprintf(stderr, "token: %s\n", reason);
            exit(2);
        }
        refreshed++;
    }
    if (file != NULL)
        fclose(file);
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    (void)rk;
    (void)opaque;
    delivered += message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
    (void)rk;
    (void)opaque;
    fprintf(stderr, "error %s: %s\n", rd_kafka_err2name((rd_kafka_resp_err_t)err), reason);
}

/* Serves events of the main queue for a time. */
static void serve_events(rd_kafka_t *rk, rd_kafka_queue_t *queue, int ms) {
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ms);

    if (event == NULL)
        return;
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH)
        refresh(rk, rd_kafka_event_config_string(event), NULL);
    else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
        on_error(rk, rd_kafka_event_error(event), rd_kafka_event_error_string(event), NULL);
    for (const rd_kafka_message_t *message; (message = rd_kafka_event_message_next(event)) != NULL;)
        on_delivery(rk, message, NULL);
    rd_kafka_event_destroy(event);
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: %s MODE BROKERS TOPIC COUNT MESSAGES_PER_SECOND [PROPERTY=VALUE]...\n", argv[0]);
        return 2;
    }
    int background = !strcmp(argv[1], "background"), events = !strcmp(argv[1], "event");
    long count = atol(argv[4]);
    double interval_s = 1.0 / atof(argv[5]);
    rd_kafka_conf_t *conf = conf_or_exit(argv[2], argc - 6, argv + 6);
    if (events) {
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH);
    } else {
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_conf_set_error_cb(conf, on_error);
        rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, refresh);
    }
    if (background)
        rd_kafka_conf_enable_sasl_queue(conf, 1);
    rd_kafka_t *rk = client_or_exit(RD_KAFKA_PRODUCER, conf);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_main(rk);
    rd_kafka_error_t *error = background ? rd_kafka_sasl_background_callbacks_enable(rk) : NULL;
    if (error != NULL) {
        fprintf(stderr, "background: %s\n", rd_kafka_error_string(error));
        return 2;
    }
    double start_s = now_s();
    for (long number = 0; number < count; number++) {
        if (rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(argv[3]), RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END))
            return 1;
        /* Polling ends early when it has served something. */
        for (double due_s = start_s + (double)(number + 1) * interval_s, ahead_s; (ahead_s = due_s - now_s()) > 0;) {
            int ms = (int)(ahead_s * 1000) + 1;
            if (background)
                usleep((useconds_t)ms * 1000);
            else if (events)
                serve_events(rk, queue, ms);
            else
                rd_kafka_poll(rk, ms);
        }
    }
    for (double end_s = now_s() + 20; delivered < count && now_s() < end_s;) {
        if (events)
            serve_events(rk, queue, 100);
        else
            rd_kafka_poll(rk, 100);
    }
    printf("delivered %ld refreshed %d\n", delivered, refreshed);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
    return delivered != count;
}
