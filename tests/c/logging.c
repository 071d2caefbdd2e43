/* Log outputs and levels, and the log lines of an outage. */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <syslog.h>

#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t tests_thread;
/* Of the client that logs. */
static void *opaque;
static struct {
        int debug, fail, up, own_thread, destroyed, terminated, nameless;
        int levels[8];
        char text[256];
} logged;

static void forget(void) {
        pthread_mutex_lock(&lock);
        memset(&logged, 0, sizeof(logged));
        pthread_mutex_unlock(&lock);
}

/* Runs on any thread. */
static void on_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        pthread_mutex_lock(&lock);
        logged.nameless += !rk || !rd_kafka_name(rk) || rd_kafka_opaque(rk) != opaque;
        logged.terminated += !strcmp(fac, "TERMINATE");
        logged.debug += level == 7;
        logged.fail += level < 7 && !strcmp(fac, "FAIL");
        logged.up += !strcmp(fac, "UP");
        logged.destroyed += !strcmp(fac, "DESTROY");
        logged.own_thread += pthread_equal(pthread_self(), tests_thread) != 0;
        logged.levels[level & 7]++;
        if (level < 7)
                snprintf(logged.text, sizeof(logged.text), "%s", buf);
        pthread_mutex_unlock(&lock);
}

static int look(const int *counter) {
        int n;
        pthread_mutex_lock(&lock);
        n = *counter;
        pthread_mutex_unlock(&lock);
        return n;
}

static void wait_for(const int *counter, int want) {
        int64_t until = test_now_ms() + 10000;
        while (look(counter) < want && test_now_ms() < until)
                test_sleep_ms(5);
        CHECK(look(counter) >= want);
}

/* Runs `print` with stderr redirected to a file, and returns the output. */
static const char *printed(void (*print)(rd_kafka_t *)) {
        static char text[512];
        FILE *fp  = tmpfile();
        int saved = dup(2);
        size_t n;

        fflush(stderr);
        dup2(fileno(fp), 2);
        print(cluster);
        fflush(stderr);
        dup2(saved, 2);
        close(saved);
        rewind(fp);
        n       = fread(text, 1, sizeof(text) - 1, fp);
        text[n] = '\0';
        fclose(fp);
        return text;
}

static void print_line(rd_kafka_t *rk) {
        rd_kafka_log_print(rk, 4, "FAC", "a line");
}

static void print_to_syslog(rd_kafka_t *rk) {
        openlog("logging-test", LOG_PERROR, LOG_USER);
        rd_kafka_log_syslog(rk, LOG_NOTICE, "FAC", "100% of a line");
        closelog();
}

static void print_without_a_client(rd_kafka_t *rk) {
        (void)rk;
        rd_kafka_log_print(NULL, 3, "FAC", "a line");
}

static void lines_for_stderr_and_syslog(void) {
        char want[256];
        const char *text = printed(print_line);
        snprintf(want, sizeof(want), "|FAC|%s| a line\n", rd_kafka_name(cluster));
        if (!CHECK(!strncmp(text, "%4|", 3) && strstr(text, want)))
                printf("# %s", text);
        text = printed(print_without_a_client);
        CHECK(strstr(text, "|FAC|| a line\n") != NULL);
        text = printed(print_to_syslog);
        snprintf(want, sizeof(want), "FAC: %s: 100%% of a line", rd_kafka_name(cluster));
        if (!CHECK(strstr(text, want) != NULL))
                printf("# %s", text);
}

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        int *seen = opaque;
        (void)rk;
        CHECK(reason && reason[0]);
        CHECK(pthread_equal(pthread_self(), tests_thread));
        seen[0] += err == RD_KAFKA_RESP_ERR__TRANSPORT;
        seen[1] += err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
        seen[2]++;
}

/* Dozens of attempts, one cause. */
static void outage_is_logged_once(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        int64_t until;
        int seen[3] = {0, 0, 0};
        rd_kafka_t *rk;

        forget();
        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        test_set(conf, "reconnect.backoff.ms", "5");
        test_set(conf, "reconnect.backoff.max.ms", "10");
        test_set(conf, "log_level", "6");
        rd_kafka_conf_set_log_cb(conf, on_log);
        rd_kafka_conf_set_error_cb(conf, on_error);
        rd_kafka_conf_set_opaque(conf, seen);
        rk    = test_client(RD_KAFKA_PRODUCER, conf);
        until = test_now_ms() + 20000;
        while (seen[2] < 2 && test_now_ms() < until)
                rd_kafka_poll(rk, 20);
        until = test_now_ms() + 700;
        while (test_now_ms() < until)
                rd_kafka_poll(rk, 20);
        CHECK_INT(seen[0], 1);
        CHECK_INT(seen[1], 1);
        CHECK_INT(seen[2], 2);
        CHECK_INT(look(&logged.fail), 1);
        CHECK_INT(look(&logged.levels[3]), 1);
        CHECK(strstr(logged.text, "127.0.0.1:1/bootstrap: Connect to ") != NULL);
        rd_kafka_destroy(rk);
}

/* Without the callback the log has the same two lines. */
static void error_without_callback_is_logged(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_t *rk;

        forget();
        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rd_kafka_conf_set_log_cb(conf, on_log);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        wait_for(&logged.levels[3], 2);
        CHECK_INT(look(&logged.fail), 1);
        CHECK(strstr(logged.text, "1/1 brokers are down") != NULL);
        rd_kafka_destroy(rk);
}

/* A connection that is closed for being idle is opened again, without an error event. */
static void idle_connections_are_no_errors(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        int seen[3] = {0, 0, 0}, i;
        rd_kafka_t *rk;

        forget();
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "connections.max.idle.ms", "50");
        rd_kafka_conf_set_log_cb(conf, on_log);
        rd_kafka_conf_set_error_cb(conf, on_error);
        rd_kafka_conf_set_opaque(conf, seen);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        for (i = 0; i < 3; i++) {
                CHECK_INT(test_produce(rk, "idle", 0, i, 1), 0);
                rd_kafka_poll(rk, 120);
        }
        CHECK_INT(seen[2], 0);
        CHECK_INT(look(&logged.fail), 0);
        CHECK_INT(look(&logged.up), 0);
        rd_kafka_destroy(rk);
}

static void the_level_can_change(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        int before;
        rd_kafka_t *rk;

        forget();
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "debug", "protocol,msg,generic");
        opaque = &before;
        rd_kafka_conf_set_opaque(conf, opaque);
        rd_kafka_conf_set_log_cb(conf, on_log);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_INT(test_produce(rk, "levels", 0, 0, 1), 0);
        CHECK(look(&logged.debug) > 0);
        rd_kafka_set_log_level(rk, 6);
        test_sleep_ms(20); /* a line may be on its way */
        before = look(&logged.debug);
        CHECK_INT(test_produce(rk, "levels", 0, 1, 1), 0);
        CHECK_INT(look(&logged.debug), before);
        rd_kafka_set_log_level(rk, 7);
        CHECK_INT(test_produce(rk, "levels", 0, 2, 1), 0);
        CHECK(look(&logged.debug) > before);
        rd_kafka_destroy(rk);
        /* The log callback can use the handle until the end of its destruction. */
        CHECK_INT(look(&logged.destroyed), 1);
        CHECK_INT(look(&logged.terminated), 1);
        CHECK_INT(look(&logged.nameless), 0);
}

static void queued_lines_are_printed_by_poll(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        int64_t until         = test_now_ms() + 10000;
        int all;
        rd_kafka_t *rk;

        forget();
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "log.queue", "true");
        test_set(conf, "debug", "broker");
        rd_kafka_conf_set_log_cb(conf, on_log);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        rd_kafka_poll(rk, 50);
        CHECK_INT(look(&logged.debug), 0); /* kept until a queue is named */
        CHECK_OK(rd_kafka_set_log_queue(rk, NULL));
        while (!look(&logged.debug) && test_now_ms() < until)
                rd_kafka_poll(rk, 20);
        all = look(&logged.debug);
        CHECK(all > 0);
        CHECK_INT(look(&logged.own_thread), all);
        rd_kafka_destroy(rk);
}

int main(void) {
        tests_thread = pthread_self();
        cluster      = test_cluster(NULL, servers, sizeof(servers));
        RUN(lines_for_stderr_and_syslog);
        RUN(outage_is_logged_once);
        RUN(error_without_callback_is_logged);
        RUN(idle_connections_are_no_errors);
        RUN(the_level_can_change);
        RUN(queued_lines_are_printed_by_poll);
        rd_kafka_destroy(cluster);
        return test_end();
}
