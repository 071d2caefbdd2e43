/*
 * test.h: what the C tests share.
 *
 * A test is one program on one subject: cases are functions, run by RUN(). It prints TAP ("ok 1 -
 * name", "not ok 2 - name", "1..2") and exits with 0 if every CHECK() of every case held.
 *
 * The tests use the public header only, so that they run on any library of that interface.
 */

#ifndef OTTLA_TEST_H
#define OTTLA_TEST_H

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdkafka.h>

/* A case that runs longer than this hangs; the alarm then ends the program. */
#define TEST_CASE_S 60

static int test_cases, test_failed_cases, test_failed_checks;

/* Reports a failed condition with its location, and continues. Returns 1 if the condition holds, else 0. */
#define CHECK(cond) test_check(!!(cond), __FILE__, __LINE__, #cond)

/* Like CHECK(), but the case ends on failure, for what the rest of it depends on. */
#define REQUIRE(cond)                                                                              \
        do {                                                                                       \
                if (!CHECK(cond))                                                                  \
                        return;                                                                    \
        } while (0)

/* Compare and show both sides. */
#define CHECK_INT(got, want)                                                                       \
        test_check_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got)
#define CHECK_STR(got, want) test_check_str((got), (want), __FILE__, __LINE__, #got)
#define CHECK_ERR(got, want) test_check_err((got), (want), __FILE__, __LINE__, #got)
#define CHECK_OK(got) CHECK_ERR(got, RD_KAFKA_RESP_ERR_NO_ERROR)

#define RUN(fn) test_run(#fn, fn)

static RD_UNUSED int test_check(int ok, const char *file, int line, const char *what) {
        if (!ok) {
                test_failed_checks++;
                printf("# %s:%d: failed: %s\n", file, line, what);
        }
        return ok;
}

static RD_UNUSED int
test_check_int(int64_t got, int64_t want, const char *file, int line, const char *what) {
        if (got == want)
                return 1;
        test_failed_checks++;
        printf("# %s:%d: %s is %" PRId64 ", expected %" PRId64 "\n", file, line, what, got, want);
        return 0;
}

static RD_UNUSED int
test_check_str(const char *got, const char *want, const char *file, int line, const char *what) {
        if (got == want || (got && want && !strcmp(got, want)))
                return 1;
        test_failed_checks++;
        printf("# %s:%d: %s is \"%s\", expected \"%s\"\n", file, line, what, got ? got : "(NULL)",
               want ? want : "(NULL)");
        return 0;
}

static RD_UNUSED int test_check_err(rd_kafka_resp_err_t got,
                                    rd_kafka_resp_err_t want,
                                    const char *file,
                                    int line,
                                    const char *what) {
        if (got == want)
                return 1;
        test_failed_checks++;
        printf("# %s:%d: %s is %s, expected %s\n", file, line, what, rd_kafka_err2name(got),
               rd_kafka_err2name(want));
        return 0;
}

static void test_run(const char *name, void (*fn)(void)) {
        int before = test_failed_checks;
        test_cases++;
        alarm(TEST_CASE_S);
        fn();
        alarm(0);
        if (test_failed_checks != before)
                test_failed_cases++;
        printf("%sok %d - %s\n", test_failed_checks != before ? "not " : "", test_cases, name);
        fflush(stdout);
}

/* For the end of main(). */
static int test_end(void) {
        printf("1..%d\n", test_cases);
        return test_failed_cases ? 1 : 0;
}

static RD_UNUSED int64_t test_now_us(void) {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static RD_UNUSED int64_t test_now_ms(void) {
        return test_now_us() / 1000;
}

static RD_UNUSED void test_sleep_ms(int ms) {
        struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};
        nanosleep(&ts, NULL);
}

/* ---- configuration and clients ------------------------------------------ */

/* Sets a property that must be accepted. */
static RD_UNUSED void test_set(rd_kafka_conf_t *conf, const char *name, const char *value) {
        char errstr[512];
        if (rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr)) != RD_KAFKA_CONF_OK) {
                printf("Bail out! %s\n", errstr);
                exit(1);
        }
}

/* A configuration whose clients do not log to stderr. */
static RD_UNUSED rd_kafka_conf_t *test_conf(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        test_set(conf, "log_level", "0");
        return conf;
}

/* A client, or the end of the program. */
static RD_UNUSED rd_kafka_t *test_client(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
        char errstr[512];
        rd_kafka_t *rk = rd_kafka_new(type, conf, errstr, sizeof(errstr));
        if (!rk) {
                printf("Bail out! %s\n", errstr);
                exit(1);
        }
        return rk;
}

/* Unsupported settings fail when the client is created, with an error that names the property. */
static RD_UNUSED void test_refused(rd_kafka_type_t type, const char *name, const char *value) {
        rd_kafka_conf_t *conf = test_conf();
        char errstr[512] = "";
        rd_kafka_t *rk;

        test_set(conf, name, value);
        rk = rd_kafka_new(type, conf, errstr, sizeof(errstr));
        CHECK(rk == NULL);
        CHECK(strstr(errstr, name) != NULL);
        if (rk)
                rd_kafka_destroy(rk);
        else
                rd_kafka_conf_destroy(conf);
}

/* A producer with an embedded cluster of three brokers, and the cluster's addresses, which are
 * good as long as the producer lives. */
static RD_UNUSED rd_kafka_t *test_cluster(rd_kafka_conf_t *conf, char *servers, size_t size) {
        const struct rd_kafka_metadata *md;
        rd_kafka_t *rk;
        size_t used = 0;
        int i;

        if (!conf)
                conf = test_conf();
        test_set(conf, "test.mock.num.brokers", "3");
        test_set(conf, "linger.ms", "0");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        if (rd_kafka_metadata(rk, 1, NULL, &md, 10000)) {
                printf("Bail out! the embedded cluster does not answer\n");
                exit(1);
        }
        servers[0] = '\0';
        for (i = 0; i < md->broker_cnt && used < size; i++)
                used += (size_t)snprintf(servers + used, size - used, "%s%s:%d", i ? "," : "",
                                         md->brokers[i].host, md->brokers[i].port);
        rd_kafka_metadata_destroy(md);
        return rk;
}

/* Starts a process that is a cluster of three brokers and nothing else; fills in their addresses. For programs, or
 * parts of them, that have made no client yet: a child may not use its parent's. */
static RD_UNUSED pid_t test_broker_process(char *servers, size_t size) {
        int ends[2];
        ssize_t n;
        pid_t pid;

        servers[0] = '\0';
        if (pipe(ends))
                return -1;
        pid = fork();
        if (pid == 0) {
                char own[512];
                close(ends[0]);
                test_cluster(NULL, own, sizeof(own));
                if (write(ends[1], own, strlen(own) + 1) < 0)
                        _exit(1);
                close(ends[1]);
                for (;;)
                        pause();
        }
        close(ends[1]);
        n = read(ends[0], servers, size - 1);
        servers[n > 0 ? n : 0] = '\0';
        close(ends[0]);
        return pid;
}

static RD_UNUSED void test_kill(pid_t pid) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

/* A consumer of that cluster, with rd_kafka_poll_set_consumer() done. */
static RD_UNUSED rd_kafka_t *test_consumer(const char *servers, const char *group) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "enable.partition.eof", "true");
        test_set(conf, "auto.offset.reset", "earliest");
        test_set(conf, "enable.auto.commit", "false");
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(rk);
        return rk;
}

/* Produces `cnt` messages "first", "first + 1", ... to a partition, with timestamps of 1000 ms times
 * the number, and waits for them. Is the number of failures. */
static RD_UNUSED int
test_produce(rd_kafka_t *rk, const char *topic, int32_t partition, int first, int cnt) {
        int i, failures = 0;
        for (i = first; i < first + cnt; i++) {
                char text[32];
                size_t len = (size_t)snprintf(text, sizeof(text), "%d", i);
                rd_kafka_resp_err_t err;
                while ((err = rd_kafka_producev(
                            rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                            RD_KAFKA_V_VALUE(text, len), RD_KAFKA_V_KEY(text, len),
                            RD_KAFKA_V_TIMESTAMP((int64_t)(i + 1) * 1000),
                            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END)) ==
                       RD_KAFKA_RESP_ERR__QUEUE_FULL)
                        rd_kafka_poll(rk, 100);
                failures += err != RD_KAFKA_RESP_ERR_NO_ERROR;
        }
        if (rd_kafka_flush(rk, 20000))
                failures += rd_kafka_outq_len(rk);
        return failures;
}

/* Reads the number in a message's value; -1 if there is none. */
static RD_UNUSED int test_number(const rd_kafka_message_t *m) {
        char text[32];
        if (!m->payload || m->len == 0 || m->len >= sizeof(text))
                return -1;
        memcpy(text, m->payload, m->len);
        text[m->len] = '\0';
        return atoi(text);
}

#endif /* OTTLA_TEST_H */
