/* The program around a table of operations: calls them as standard input says, and prints the results.
 *
 *   PROGRAM BROKERS [PROPERTY=VALUE]...
 *
 * A line of input is one call, its fields separated by tabs: ID, OPERATION, options as @NAME=VALUE, arguments. Calls do not
 * wait for one another. Each result is a line of JSON:
 *
 *   {"id": ID, "operation": OPERATION, "code": ERROR, "text": TEXT, "ms": TIME, "cpu_us": TIME, "rows": [...]}
 *
 * with rows unless the call failed as a whole. An error of the client itself has the id null. The operation "Statistics" is
 * answered with the next statistics of the client; statistics.interval.ms must be set. Ends when the input has ended and
 * every call has its result. Exit status 2 for bad input.
 *
 * AdminCheck.java understands the same calls and writes the same rows, by Kafka's own client.
 */

#ifndef OTTLA_TESTS_REAL_ADMIN_PROGRAM_H
#define OTTLA_TESTS_REAL_ADMIN_PROGRAM_H

#include "call.h"

#include <pthread.h>
#include <stdatomic.h>

#define ARGUMENTS_MAX 20000
#define OP(name) RD_KAFKA_ADMIN_OP_##name

/* The program's operations; the last has no name. */
extern const Operation OPERATIONS[];

static rd_kafka_t *rk;
static rd_kafka_queue_t *queue;
/* Calls without a result, and true while there is input. */
static atomic_int open_calls, has_input = 1;
/* The id of a call for statistics; NULL when there is none. */
static char *_Atomic wants_statistics;

static const Operation *operation_of(const char *name) {
    for (int i = 0; OPERATIONS[i].name != NULL; i++)
        if (!strcmp(OPERATIONS[i].name, name))
            return &OPERATIONS[i];
    wrong(name, "no such operation");
    return NULL;
}

/* Calls what a line of input says. */
static void serve(char *line) {
    static char *arguments[ARGUMENTS_MAX];
    char *id = strsep(&line, "\t"), *name = strsep(&line, "\t");
    if (name == NULL)
        wrong(id, "no operation");
    open_calls++;
    if (!strcmp(name, "Statistics")) {
        wants_statistics = strdup(id);
        return;
    }
    Call call = {.operation = operation_of(name), .rk = rk, .queue = queue, .argv = arguments};
    call.pending            = calloc(1, sizeof(*call.pending));
    call.pending->operation = call.operation;
    call.pending->id        = strdup(id);
    call.options            = rd_kafka_AdminOptions_new(rk, call.operation->op);
    rd_kafka_AdminOptions_set_opaque(call.options, call.pending);
    for (char *field; (field = strsep(&line, "\t")) != NULL;) {
        if (*field == '@')
            set_option(call.options, field + 1);
        else if (call.argc == ARGUMENTS_MAX)
            wrong(name, "too many arguments");
        else
            arguments[call.argc++] = field;
    }
    call.operation->send(&call);
    rd_kafka_AdminOptions_destroy(call.options);
}

static void *read_input(void *unused) {
    char *line      = NULL;
    size_t capacity = 0;
    ssize_t length;
    (void)unused;
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        serve(line);
    }
    free(line);
    has_input = 0;
    return NULL;
}

static void print_result(Pending *call, rd_kafka_event_t *event) {
    double ms = (now_s() - call->start_s) * 1e3, cpu_us = (cpu_s() - call->start_cpu_s) * 1e6;
    rd_kafka_resp_err_t err = rd_kafka_event_error(event);
    json_open(NULL, '{');
    json_str("id", call->id);
    json_str("operation", call->operation->name);
    json_int("code", err);
    json_str("text", err ? rd_kafka_event_error_string(event) : NULL);
    json_key("ms");
    printf("%.3f", ms);
    json_int("cpu_us", (int64_t)cpu_us);
    if (!err) {
        json_open("rows", '[');
        call->operation->print(event);
        json_close(']');
    }
    json_close('}');
    json_end();
    free(call->id);
    free(call);
    open_calls--;
}

static void print_statistics(const char *statistics) {
    char *id = wants_statistics;
    if (id == NULL)
        return;
    wants_statistics = NULL;
    json_open(NULL, '{');
    json_str("id", id);
    json_int("code", 0);
    json_key("rows");
    printf("[%s]", statistics);
    json_close('}');
    json_end();
    free(id);
    open_calls--;
}

static void print_client_error(rd_kafka_event_t *event) {
    json_open(NULL, '{');
    json_null("id");
    json_int("code", rd_kafka_event_error(event));
    json_str("text", rd_kafka_event_error_string(event));
    json_close('}');
    json_end();
}

static void on_event(rd_kafka_event_t *event) {
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_STATS)
        print_statistics(rd_kafka_event_stats(event));
    else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
        print_client_error(event);
    else if (rd_kafka_event_opaque(event) != NULL)
        print_result(rd_kafka_event_opaque(event), event);
    rd_kafka_event_destroy(event);
}

static int run(int argc, char **argv) {
    pthread_t reader;
    if (argc < 2) {
        fprintf(stderr, "usage: %s BROKERS [PROPERTY=VALUE]...\n", argv[0]);
        return 2;
    }
    rd_kafka_conf_t *conf = conf_or_exit(argv[1], argc - 2, argv + 2);
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_ERROR);
    rk    = client_or_exit(RD_KAFKA_PRODUCER, conf);
    queue = rd_kafka_queue_new(rk);

    rd_kafka_queue_t *own = rd_kafka_queue_get_main(rk);
    rd_kafka_queue_forward(own, queue);
    pthread_create(&reader, NULL, read_input, NULL);
    while (has_input || open_calls > 0) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 50);
        if (event != NULL)
            on_event(event);
    }
    pthread_join(reader, NULL);
    rd_kafka_queue_forward(own, NULL);
    rd_kafka_queue_destroy(own);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
    return 0;
}

#endif
