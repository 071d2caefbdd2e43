/* Parts of results that several operations of librdkafka have. */

#ifndef OTTLA_TESTS_REAL_ADMIN_RESULTS_H
#define OTTLA_TESTS_REAL_ADMIN_RESULTS_H

#include "call.h"

static void print_code(rd_kafka_resp_err_t err) {
    json_int("code", err);
    json_str("text", err ? rd_kafka_err2str(err) : NULL);
}

/* Writes the authorized operations in ascending order; null where they were not requested. */
static void print_operations(const rd_kafka_AclOperation_t *operations, size_t cnt) {
    if (operations == NULL) {
        json_null("operations");
        return;
    }
    json_open("operations", '[');
    for (int number = 0; number < 64; number++)
        for (size_t i = 0; i < cnt; i++)
            if ((int)operations[i] == number)
                json_int(NULL, number);
    json_close(']');
}

static void print_topic_results(const rd_kafka_topic_result_t **topics, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("topic", rd_kafka_topic_result_name(topics[i]));
        json_int("code", rd_kafka_topic_result_error(topics[i]));
        json_str("text", rd_kafka_topic_result_error_string(topics[i]));
        json_close('}');
    }
}

#endif
