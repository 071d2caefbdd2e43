/*
 * The three functions of the mock cluster with variable arguments, turned into forms that Rust can
 * implement.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ERR_CRIT_SYS_RESOURCE (-194)
#define ERR_INVALID_ARG (-186)

/* The most errors of one call; src/mock/errors.rs has the same limit. */
#define ERRORS_MAX ((size_t)1 << 20)

/* Errors kept on the stack; more of them are allocated. */
#define ON_STACK 32

struct error_rtt {
        int error;
        int rtt_ms;
};

extern void rd_kafka_mock_push_request_errors_array(void *mcluster,
                                                    int16_t api_key,
                                                    size_t cnt,
                                                    const int *errors);
extern int ottla_mock_broker_push_error_rtts(void *mcluster,
                                             int32_t broker_id,
                                             int16_t api_key,
                                             size_t cnt,
                                             const struct error_rtt *errors);
extern int ottla_mock_partition_push_errors(void *mcluster,
                                            const char *topic,
                                            int32_t partition,
                                            int16_t api_key,
                                            size_t cnt,
                                            const int *errors);

void rd_kafka_mock_push_request_errors(void *mcluster, int16_t api_key, size_t cnt, ...);
int rd_kafka_mock_broker_push_request_error_rtts(
    void *mcluster, int32_t broker_id, int16_t api_key, size_t cnt, ...);
int rd_kafka_mock_partition_push_request_errors(
    void *mcluster, const char *topic, int32_t partition, int16_t api_key, size_t cnt, ...);

/* Reads `cnt` errors. The result is `fixed`, or malloc'ed if they are too many for it, or NULL if there
 * is no memory. */
static int *read_errors(int *fixed, size_t cnt, va_list *ap) {
        int *errors = cnt <= ON_STACK ? fixed : malloc(cnt * sizeof(*errors));
        size_t i;

        for (i = 0; errors && i < cnt; i++)
                errors[i] = va_arg(*ap, int);
        return errors;
}

void rd_kafka_mock_push_request_errors(void *mcluster, int16_t api_key, size_t cnt, ...) {
        int fixed[ON_STACK];
        int *errors = NULL;
        va_list ap;

        if (cnt <= ERRORS_MAX) {
                va_start(ap, cnt);
                errors = read_errors(fixed, cnt, &ap);
                va_end(ap);
        }
        /* NULL with a count sets the last error. */
        rd_kafka_mock_push_request_errors_array(mcluster, api_key, cnt, errors);
        if (errors != fixed)
                free(errors);
}

int rd_kafka_mock_broker_push_request_error_rtts(
    void *mcluster, int32_t broker_id, int16_t api_key, size_t cnt, ...) {
        struct error_rtt fixed[ON_STACK];
        struct error_rtt *errors = fixed;
        size_t i;
        int result;
        va_list ap;

        if (cnt > ERRORS_MAX)
                return ERR_INVALID_ARG;
        if (cnt > ON_STACK && !(errors = malloc(cnt * sizeof(*errors))))
                return ERR_CRIT_SYS_RESOURCE;
        va_start(ap, cnt);
        for (i = 0; i < cnt; i++) {
                errors[i].error  = va_arg(ap, int);
                errors[i].rtt_ms = va_arg(ap, int);
        }
        va_end(ap);
        result = ottla_mock_broker_push_error_rtts(mcluster, broker_id, api_key, cnt, errors);
        if (errors != fixed)
                free(errors);
        return result;
}

int rd_kafka_mock_partition_push_request_errors(
    void *mcluster, const char *topic, int32_t partition, int16_t api_key, size_t cnt, ...) {
        int fixed[ON_STACK];
        int *errors;
        int result;
        va_list ap;

        if (cnt > ERRORS_MAX)
                return ERR_INVALID_ARG;
        va_start(ap, cnt);
        errors = read_errors(fixed, cnt, &ap);
        va_end(ap);
        if (!errors)
                return ERR_CRIT_SYS_RESOURCE;
        result = ottla_mock_partition_push_errors(mcluster, topic, partition, api_key, cnt, errors);
        if (errors != fixed)
                free(errors);
        return result;
}
