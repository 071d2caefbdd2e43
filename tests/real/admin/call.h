/* A call of the admin API: its arguments, its options, and the error of a result. */

#ifndef OTTLA_TESTS_REAL_ADMIN_CALL_H
#define OTTLA_TESTS_REAL_ADMIN_CALL_H

#include "client.h"
#include "json.h"

#include <sys/resource.h>

typedef struct Call Call;

typedef struct {
    const char *name;
    rd_kafka_admin_op_t op;
    /* Calls the operation. */
    void (*send)(Call *);
    /* Writes the rows of a successful result. */
    void (*print)(rd_kafka_event_t *);
} Operation;

/* A call without a result: the opaque value of its result, which frees it. */
typedef struct {
    const Operation *operation;
    char *id;
    double start_s, start_cpu_s;
} Pending;

struct Call {
    const Operation *operation;
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;
    rd_kafka_AdminOptions_t *options;
    char **argv;
    size_t argc;
    Pending *pending;
};

static double cpu_s(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void wrong(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

/* Returns the next part of an argument, whose parts | separates; exits with 2 where there is none. */
static char *part(char **argument) {
    char *found = strsep(argument, "|");
    if (found == NULL)
        wrong("argument", "has too few parts");
    return found;
}

static int64_t number(const char *text) {
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0')
        wrong(text, "not a number");
    return value;
}

/* Cuts "NAME=VALUE" in two; returns the value. */
static char *value_of(char *pair) {
    char *value = strchr(pair, '=');
    if (value == NULL)
        wrong(pair, "not NAME=VALUE");
    *value = '\0';
    return value + 1;
}

/* Makes an object of each argument. */
static void **each(Call *call, void *(*make)(char *)) {
    void **objects = calloc(call->argc + 1, sizeof(*objects));
    for (size_t i = 0; i < call->argc; i++)
        if ((objects[i] = make(call->argv[i])) == NULL)
            wrong(call->operation->name, "an object of the call was refused");
    return objects;
}

/* Takes the time of the call, whose arguments are ready. The result may arrive at once: `pending` is not used afterwards. */
static void begin(Call *call) {
    call->pending->start_cpu_s = cpu_s();
    call->pending->start_s     = now_s();
}

/* Calls `function` with the objects that `make` makes of the arguments. */
#define CALL_WITH(call, TYPE, make, function)                                            \
    do {                                                                                 \
        TYPE##_t **objects_ = (TYPE##_t **)each(call, make);                             \
        begin(call);                                                                     \
        function((call)->rk, objects_, (call)->argc, (call)->options, (call)->queue);    \
        TYPE##_destroy_array(objects_, (call)->argc);                                    \
        free(objects_);                                                                  \
    } while (0)

/* Returns the partitions of the arguments "TOPIC|PARTITION" or "TOPIC|PARTITION|OFFSET"; PARTITION may be FIRST-LAST. */
static rd_kafka_topic_partition_list_t *partitions(char **argv, size_t argc) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)argc);
    for (size_t i = 0; i < argc; i++) {
        char *rest = argv[i], *topic = part(&rest), *range = part(&rest), *first = strsep(&range, "-");
        int32_t last   = (int32_t)number(range ? range : first);
        int64_t offset = rest ? number(rest) : RD_KAFKA_OFFSET_INVALID;
        for (int32_t p = (int32_t)number(first); p <= last; p++)
            rd_kafka_topic_partition_list_add(list, topic, p)->offset = offset;
    }
    return list;
}

/* Returns the partitions of [TOPIC:PARTITION:OFFSET]..., separated by |; NULL when there are none. OFFSET may be absent, and
 * a leader epoch may follow it. */
static rd_kafka_topic_partition_list_t *group_partitions(char *argument) {
    if (argument == NULL)
        return NULL;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(4);
    for (char *row; (row = strsep(&argument, "|")) != NULL;) {
        char *topic = strsep(&row, ":"), *partition = strsep(&row, ":");
        char *offset = row ? strsep(&row, ":") : NULL;
        rd_kafka_topic_partition_t *p =
            rd_kafka_topic_partition_list_add(list, topic, (int32_t)number(partition ? partition : ""));
        p->offset = offset ? number(offset) : RD_KAFKA_OFFSET_INVALID;
        if (row != NULL)
            rd_kafka_topic_partition_set_leader_epoch(p, (int32_t)number(row));
    }
    return list;
}

/* ---- options ------------------------------------------------------------- */

static void need_ok(const char *option, rd_kafka_resp_err_t err, const char *reason) {
    if (err)
        wrong(option, reason);
}

static void need_no_error(const char *option, rd_kafka_error_t *error) {
    if (error != NULL)
        wrong(option, rd_kafka_error_string(error));
}

static void match_states(rd_kafka_AdminOptions_t *options, char *names) {
    rd_kafka_consumer_group_state_t states[8];
    size_t cnt = 0;
    for (char *name; (name = strsep(&names, ",")) != NULL && cnt < 8;)
        states[cnt++] = rd_kafka_consumer_group_state_code(name);
    need_no_error("states", rd_kafka_AdminOptions_set_match_consumer_group_states(options, states, cnt));
}

static void match_types(rd_kafka_AdminOptions_t *options, char *names) {
    rd_kafka_consumer_group_type_t types[4];
    size_t cnt = 0;
    for (char *name; (name = strsep(&names, ",")) != NULL && cnt < 4;)
        types[cnt++] = rd_kafka_consumer_group_type_code(name);
    need_no_error("types", rd_kafka_AdminOptions_set_match_consumer_group_types(options, types, cnt));
}

/* Sets an option "NAME=VALUE". */
static void set_option(rd_kafka_AdminOptions_t *options, char *option) {
    char reason[256], *value = value_of(option);
    size_t size = sizeof(reason);
    if (!strcmp(option, "timeout"))
        need_ok(option, rd_kafka_AdminOptions_set_request_timeout(options, atoi(value), reason, size), reason);
    else if (!strcmp(option, "operation_timeout"))
        need_ok(option, rd_kafka_AdminOptions_set_operation_timeout(options, atoi(value), reason, size), reason);
    else if (!strcmp(option, "validate"))
        need_ok(option, rd_kafka_AdminOptions_set_validate_only(options, atoi(value), reason, size), reason);
    else if (!strcmp(option, "broker"))
        need_ok(option, rd_kafka_AdminOptions_set_broker(options, atoi(value), reason, size), reason);
    else if (!strcmp(option, "stable"))
        need_no_error(option, rd_kafka_AdminOptions_set_require_stable_offsets(options, atoi(value)));
    else if (!strcmp(option, "authorized"))
        need_no_error(option, rd_kafka_AdminOptions_set_include_authorized_operations(options, atoi(value)));
    else if (!strcmp(option, "isolation"))
        need_no_error(option, rd_kafka_AdminOptions_set_isolation_level(options, (rd_kafka_IsolationLevel_t)atoi(value)));
    else if (!strcmp(option, "states"))
        match_states(options, value);
    else if (!strcmp(option, "types"))
        match_types(options, value);
    else
        wrong(option, "no such option");
}

static void print_error(const rd_kafka_error_t *error) {
    json_int("code", rd_kafka_error_code(error));
    json_str("text", error ? rd_kafka_error_string(error) : NULL);
}

#endif
