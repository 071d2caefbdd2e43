/*
 * Shared by the admin examples: the client, the results of calls, and errors that name whose fault
 * they are.
 */

#ifndef EXAMPLES_ADMIN_H
#define EXAMPLES_ADMIN_H

#include <errno.h>
#include <limits.h>
#include <rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char errstr[512];
static rd_kafka_t *rk;
static rd_kafka_queue_t *queue;
/* The program's name, for messages. */
static const char *program;
/* 1 after an error of a part of a call, which does not end the program. */
static int status;

/* Returns whose fault an error is. */
static const char *fault(rd_kafka_resp_err_t err) {
        switch (err) {
        case RD_KAFKA_RESP_ERR__TIMED_OUT:
        case RD_KAFKA_RESP_ERR__TRANSPORT:
        case RD_KAFKA_RESP_ERR__RESOLVE:
        case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
        case RD_KAFKA_RESP_ERR__SSL:
        case RD_KAFKA_RESP_ERR__AUTHENTICATION:
                return "no answer from the brokers";
        case RD_KAFKA_RESP_ERR__INVALID_ARG:
        case RD_KAFKA_RESP_ERR__CONFLICT:
        case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
                return "wrong arguments";
        case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
                return "the brokers are too old";
        default:
                return err > 0 ? "refused by the broker" : "error in the client";
        }
}

/* Reports an error of one part of a call: a topic, an entry, a partition. */
static inline void report(const char *part, rd_kafka_resp_err_t err, const char *text) {
        if (err) {
                fprintf(stderr, "%s: %s: %s: %s\n", program, part, fault(err),
                        text ? text : rd_kafka_err2str(err));
                status = 1;
        }
}

/* As report(), for an error object; NULL is none. */
static inline void report_error(const char *part, const rd_kafka_error_t *error) {
        if (error)
                report(part, rd_kafka_error_code(error), rd_kafka_error_string(error));
}

/* Ends the program because its arguments are wrong. */
static void wrong(const char *what, const char *why) {
        fprintf(stderr, "%s: wrong arguments: %s: %s\n", program, what, why);
        exit(2);
}

/* Returns a number in a range; ends the program for another text. */
static inline long long number(const char *text, long long min, long long max) {
        char *end;
        long long value;
        errno = 0;
        value = strtoll(text, &end, 10);
        if (!*text || *end || errno)
                wrong(text, "not a number");
        if (value < min || value > max)
                wrong(text, "out of range");
        return value;
}

/* Creates the client. A producer that sends nothing serves as a client for admin calls. */
static void connect_to(const char *brokers) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        if (rd_kafka_conf_set(conf, "bootstrap.servers", brokers, errstr, sizeof(errstr)) !=
                RD_KAFKA_CONF_OK ||
            /* The errors of calls say what is wrong: no log beside them. */
            rd_kafka_conf_set(conf, "log_level", "0", errstr, sizeof(errstr)) != RD_KAFKA_CONF_OK)
                wrong(brokers, errstr);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
        if (!rk)
                wrong(brokers, errstr);
        queue = rd_kafka_queue_new(rk);
}

/* Returns options with a timeout of 30 seconds for the call; the caller frees them. */
static rd_kafka_AdminOptions_t *options(rd_kafka_admin_op_t operation) {
        rd_kafka_AdminOptions_t *o = rd_kafka_AdminOptions_new(rk, operation);
        rd_kafka_AdminOptions_set_request_timeout(o, 30000, errstr, sizeof(errstr));
        return o;
}

/* Frees the options of a call, and returns its result. Ends the program if the call has failed. */
static rd_kafka_event_t *result(rd_kafka_AdminOptions_t *o) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, -1);
        rd_kafka_AdminOptions_destroy(o);
        if (rd_kafka_event_error(event)) {
                fprintf(stderr, "%s: %s: %s\n", program, fault(rd_kafka_event_error(event)),
                        rd_kafka_event_error_string(event));
                exit(1);
        }
        return event;
}

/* Ends the client; returns the exit status of the program. */
static int disconnect(void) {
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(rk);
        return status;
}

#endif /* EXAMPLES_ADMIN_H */
