/* Clients that share I/O threads (io.threads.shared). */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <pthread.h>

#include "test.h"

enum { CLIENTS = 20, MESSAGES = 200, BLOCK_MS = 5000 };

static pid_t cluster;
static char servers[512];

/* The number of this process's threads whose name starts with `prefix`. */
static int threads_named(const char *prefix) {
        DIR *tasks = opendir("/proc/self/task");
        struct dirent *task;
        int n = 0;

        while (tasks && (task = readdir(tasks))) {
                char path[300], name[32] = "";
                FILE *file;
                snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
                file = fopen(path, "r");
                if (!file)
                        continue;
                if (fgets(name, sizeof(name), file))
                        n += !strncmp(name, prefix, strlen(prefix));
                fclose(file);
        }
        if (tasks)
                closedir(tasks);
        return n;
}

/* Waits until the clients have `min` to `max` threads: those for look-ups end by themselves. */
static void check_threads(int min, int max) {
        int64_t until = test_now_ms() + 10000;
        int count, named;

        for (;;) {
                /* A thread sets its name after it has started. */
                count = rd_kafka_thread_cnt();
                named = threads_named("ottla-io");
                if ((count == named && count >= min && count <= max) || test_now_ms() >= until)
                        break;
                test_sleep_ms(5);
        }
        CHECK_INT(count, named);
        CHECK(count >= min && count <= max);
}

static rd_kafka_conf_t *shared_conf(const char *threads) {
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "0");
        test_set(conf, "io.threads.shared", threads);
        return conf;
}

static rd_kafka_t *shared_consumer(const char *topic) {
        rd_kafka_topic_partition_list_t *parts = rd_kafka_topic_partition_list_new(1);
        rd_kafka_conf_t *conf = shared_conf("2");
        rd_kafka_t *rk;

        test_set(conf, "group.id", topic);
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(rk);
        rd_kafka_topic_partition_list_add(parts, topic, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
        CHECK_OK(rd_kafka_assign(rk, parts));
        rd_kafka_topic_partition_list_destroy(parts);
        return rk;
}

/* Consumes the messages of test_produce() in their order. */
static void consume_all(rd_kafka_t *rk) {
        int64_t until = test_now_ms() + 30000;
        int next = 0;

        while (next < MESSAGES && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 100);
                if (!m)
                        continue;
                CHECK_OK(m->err);
                CHECK_INT(test_number(m), next);
                next++;
                rd_kafka_message_destroy(m);
        }
        CHECK_INT(next, MESSAGES);
}

/* Twenty producers and twenty consumers, on up to two threads and one that watches them. */
static void many_clients(void) {
        rd_kafka_t *producers[CLIENTS], *consumers[CLIENTS];
        char topic[32];
        int i;

        check_threads(0, 0);
        for (i = 0; i < CLIENTS; i++)
                producers[i] = test_client(RD_KAFKA_PRODUCER, shared_conf("2"));
        for (i = 0; i < CLIENTS; i++) {
                snprintf(topic, sizeof(topic), "shared-%d", i);
                consumers[i] = shared_consumer(topic);
        }
        for (i = 0; i < CLIENTS; i++) {
                snprintf(topic, sizeof(topic), "shared-%d", i);
                CHECK_INT(test_produce(producers[i], topic, 0, 0, MESSAGES), 0);
        }
        for (i = 0; i < CLIENTS; i++)
                consume_all(consumers[i]);
        /* The second thread is started once the first one does not keep up. */
        check_threads(2, 3);
        for (i = 0; i < CLIENTS; i++) {
                CHECK_OK(rd_kafka_consumer_close(consumers[i]));
                rd_kafka_destroy(consumers[i]);
                rd_kafka_destroy(producers[i]);
        }
        /* The last call joins the threads, which leave /proc a moment later. */
        CHECK_INT(rd_kafka_thread_cnt(), 0);
        check_threads(0, 0);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int blocked, unblocked;

static int is_set(const int *flag) {
        int is;
        pthread_mutex_lock(&lock);
        is = *flag;
        pthread_mutex_unlock(&lock);
        return is;
}

/* Blocks the client's I/O thread once. */
static void slow_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        int first;
        (void)rk, (void)level, (void)buf;
        if (strcmp(fac, "FAIL"))
                return;
        pthread_mutex_lock(&lock);
        first = !blocked;
        blocked = 1;
        pthread_mutex_unlock(&lock);
        if (!first)
                return;
        test_sleep_ms(BLOCK_MS);
        pthread_mutex_lock(&lock);
        unblocked = 1;
        pthread_mutex_unlock(&lock);
}

/* A client's log callback blocks the only thread: another one takes over after 50 to 100 ms. */
static void a_callback_that_blocks(void) {
        rd_kafka_conf_t *conf = test_conf();
        int64_t until = test_now_ms() + 10000;
        rd_kafka_t *stuck, *other;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        test_set(conf, "io.threads.shared", "1");
        test_set(conf, "log_level", "6");
        rd_kafka_conf_set_log_cb(conf, slow_log);
        stuck = test_client(RD_KAFKA_PRODUCER, conf);
        while (!is_set(&blocked) && test_now_ms() < until)
                test_sleep_ms(1);
        REQUIRE(is_set(&blocked));
        other = test_client(RD_KAFKA_PRODUCER, shared_conf("1"));
        CHECK_INT(test_produce(other, "beside", 0, 0, 10), 0);
        rd_kafka_destroy(other);
        CHECK(!is_set(&unblocked));
        /* Waits for its own callback. */
        rd_kafka_destroy(stuck);
        CHECK(is_set(&unblocked));
        check_threads(0, 0);
}

static rd_kafka_t *inherited;

/* Returns the number of failed checks. */
static int in_the_child(void) {
        rd_kafka_t *own;
        int64_t start = test_now_ms();

        CHECK_INT(rd_kafka_thread_cnt(), 0);
        CHECK_ERR(rd_kafka_flush(inherited, -1), RD_KAFKA_RESP_ERR__STATE);
        own = test_client(RD_KAFKA_PRODUCER, shared_conf("1"));
        CHECK_INT(test_produce(own, "children", 0, 0, 10), 0);
        check_threads(2, 2);
        rd_kafka_destroy(inherited);
        rd_kafka_destroy(own);
        CHECK_INT(rd_kafka_thread_cnt(), 0);
        CHECK(test_now_ms() - start < 8000);
        return test_failed_checks;
}

/* Children of a busy parent have a pool of their own, and the parent's is not affected. */
static void forks(void) {
        int i, j, status = 0;

        inherited = test_client(RD_KAFKA_PRODUCER, shared_conf("2"));
        CHECK_INT(test_produce(inherited, "parent", 0, 0, 10), 0);
        for (i = 0; i < 10; i++) {
                pid_t pid;
                for (j = 0; j < 50; j++)
                        rd_kafka_producev(inherited, RD_KAFKA_V_TOPIC("parent"),
                                          RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END);
                fflush(stdout);
                pid = fork();
                if (pid == 0) {
                        alarm(20);
                        test_failed_checks = 0;
                        status = in_the_child();
                        fflush(stdout);
                        _exit(status != 0);
                }
                REQUIRE(pid > 0);
                CHECK_INT(waitpid(pid, &status, 0), pid);
                CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        CHECK_OK(rd_kafka_flush(inherited, 20000));
        CHECK_INT(test_produce(inherited, "parent", 0, 0, 10), 0);
        rd_kafka_destroy(inherited);
        CHECK_INT(rd_kafka_thread_cnt(), 0);
}

/* Clients come and go from several threads while the pool begins and ends. */
static void *come_and_go(void *failures) {
        int i;
        for (i = 0; i < 30; i++) {
                rd_kafka_t *rk = test_client(RD_KAFKA_PRODUCER, shared_conf("2"));
                if (i % 10 == 0)
                        *(int *)failures += test_produce(rk, "come-and-go", 0, 0, 1);
                rd_kafka_destroy(rk);
        }
        return NULL;
}

static void pools_begin_and_end(void) {
        pthread_t threads[4];
        int failures[4] = {0}, i;

        for (i = 0; i < 4; i++)
                REQUIRE(pthread_create(&threads[i], NULL, come_and_go, &failures[i]) == 0);
        for (i = 0; i < 4; i++) {
                pthread_join(threads[i], NULL);
                CHECK_INT(failures[i], 0);
        }
        CHECK_INT(rd_kafka_thread_cnt(), 0);
        check_threads(0, 0);
}

static void values_out_of_range(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char errstr[512];
        const char *values[] = {"-1", "1025", "two"};
        size_t i;

        for (i = 0; i < 3; i++) {
                CHECK_INT(rd_kafka_conf_set(conf, "io.threads.shared", values[i], errstr, sizeof(errstr)),
                          RD_KAFKA_CONF_INVALID);
                CHECK(strstr(errstr, "io.threads.shared") != NULL);
        }
        rd_kafka_conf_destroy(conf);
}

int main(void) {
        cluster = test_broker_process(servers, sizeof(servers));
        RUN(values_out_of_range);
        RUN(many_clients);
        RUN(a_callback_that_blocks);
        RUN(forks);
        RUN(pools_begin_and_end);
        test_kill(cluster);
        return test_end();
}
