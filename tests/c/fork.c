/* Forks: a call on the parent's client fails at once in the child, and the parent is not affected. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

/* The maximum run time of a child. */
#define CHILD_S 10

/* Runs a function in a child, which returns the number of failed checks; they count for the parent's case.
 * The child kills itself without cleanup: memory of the parent's threads is no leak of the child. */
static void in_child(int (*what)(void)) {
        int status = 0, failed = -1, ends[2];
        pid_t pid;

        REQUIRE(pipe(ends) == 0);
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
                alarm(CHILD_S);
                test_failed_checks = 0;
                failed = what();
                fflush(stdout);
                if (write(ends[1], &failed, sizeof(failed)) == (ssize_t)sizeof(failed))
                        kill(getpid(), SIGKILL);
                _exit(1);
        }
        close(ends[1]);
        CHECK(pid > 0);
        CHECK_INT(read(ends[0], &failed, sizeof(failed)), sizeof(failed));
        CHECK_INT(failed, 0);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        close(ends[0]);
}

static rd_kafka_t *producer, *consumer;
static rd_kafka_topic_t *topic;
static rd_kafka_queue_t *queue;
static rd_kafka_topic_partition_list_t *parts;

static int use_the_producer(void) {
        const struct rd_kafka_metadata *md;
        rd_kafka_error_t *error;
        int64_t start = test_now_ms();

        CHECK_INT(rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_COPY, "x", 1, NULL, 0, NULL), -1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_VALUE("x", 1),
                                    RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR__STATE);
        error = rd_kafka_produceva(producer, NULL, 0);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__STATE);
        CHECK(strstr(rd_kafka_error_string(error), "fork") != NULL);
        rd_kafka_error_destroy(error);
        CHECK_ERR(rd_kafka_flush(producer, -1), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_metadata(producer, 1, NULL, &md, -1), RD_KAFKA_RESP_ERR__STATE);
        CHECK_INT(rd_kafka_poll(producer, 5000), 0);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__STATE);
        /* Constant values can be read. */
        CHECK(strstr(rd_kafka_name(producer), "producer") != NULL);
        CHECK_STR(rd_kafka_topic_name(topic), "t");
        CHECK_INT(rd_kafka_type(producer), RD_KAFKA_PRODUCER);
        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(producer);
        rd_kafka_destroy(cluster);
        CHECK(test_now_ms() - start < 4000);
        return test_failed_checks;
}

static int use_the_consumer(void) {
        rd_kafka_topic_partition_list_t *list;
        rd_kafka_message_t *m;
        int64_t start = test_now_ms();

        m = rd_kafka_consumer_poll(consumer, -1);
        if (CHECK(m != NULL)) {
                CHECK_ERR(m->err, RD_KAFKA_RESP_ERR__STATE);
                CHECK(strstr(rd_kafka_message_errstr(m), "fork") != NULL);
                rd_kafka_message_destroy(m);
        }
        CHECK_ERR(rd_kafka_assign(consumer, parts), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_commit(consumer, parts, 0), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_assignment(consumer, &list), RD_KAFKA_RESP_ERR__STATE);
        CHECK(rd_kafka_queue_poll(queue, -1) == NULL);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_consumer_close(consumer), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(consumer);
        CHECK(test_now_ms() - start < 4000);
        return test_failed_checks;
}

/* A child creates a client beside its parent's. */
static int make_a_client(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;

        CHECK_INT(rd_kafka_thread_cnt(), 0);
        test_set(conf, "bootstrap.servers", servers);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_INT(rd_kafka_thread_cnt(), 1);
        CHECK_INT(test_produce(rk, "children", 0, 0, 5), 0);
        rd_kafka_destroy(rk);
        rd_kafka_destroy(producer);
        CHECK_INT(rd_kafka_wait_destroyed(1000), 0);
        return test_failed_checks;
}

static void a_producer(void) {
        rd_kafka_conf_t *conf = test_conf();

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "200");
        producer = test_client(RD_KAFKA_PRODUCER, conf);
        topic = rd_kafka_topic_new(producer, "t", NULL);
        CHECK_INT(test_produce(producer, "t", 0, 0, 10), 0);
        /* Some wait, some may be under way. */
        CHECK_INT(rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_COPY, "x", 1, NULL, 0, NULL), 0);
        in_child(use_the_producer);
        CHECK_INT(test_produce(producer, "t", 0, 10, 10), 0);
        in_child(make_a_client);
        CHECK_INT(test_produce(producer, "t", 0, 20, 10), 0);
        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(producer);
}

static int has_fd(int fd) {
        return fcntl(fd, F_GETFD) >= 0;
}

/* A child that destroys the client lets go of the connections; the parent keeps them. */
static int fds[64], fd_count, fds_left;

static int destroy_the_producer(void) {
        int i;
        rd_kafka_destroy(producer);
        for (i = 0; i < fd_count; i++)
                fds_left += has_fd(fds[i]);
        CHECK_INT(fds_left, 0);
        return test_failed_checks;
}

static rd_kafka_resp_err_t on_request(rd_kafka_t *rk,
                                      int sockfd,
                                      const char *brokername,
                                      int32_t brokerid,
                                      int16_t ApiKey,
                                      int16_t ApiVersion,
                                      int32_t CorrId,
                                      size_t size,
                                      void *opaque) {
        int i;
        (void)rk, (void)brokername, (void)brokerid, (void)ApiKey, (void)ApiVersion, (void)CorrId;
        (void)size, (void)opaque;
        for (i = 0; i < fd_count && fds[i] != sockfd; i++)
                ;
        if (i == fd_count && i < 64)
                fds[fd_count++] = sockfd;
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *opaque, char *errstr, size_t errstr_size) {
        (void)conf, (void)errstr, (void)errstr_size;
        return rd_kafka_interceptor_add_on_request_sent(rk, "fds", on_request, opaque);
}

static void connections(void) {
        rd_kafka_conf_t *conf = test_conf();

        test_set(conf, "bootstrap.servers", servers);
        rd_kafka_conf_interceptor_add_on_new(conf, "fds", on_new, NULL);
        producer = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_INT(test_produce(producer, "t", 0, 30, 1), 0);
        /* The client's thread is asleep. */
        test_sleep_ms(50);
        CHECK(fd_count >= 1);
        in_child(destroy_the_producer);
        CHECK_INT(test_produce(producer, "t", 0, 31, 1), 0);
        rd_kafka_destroy(producer);
}

static void a_consumer(void) {
        rd_kafka_message_t *m;
        int got = 0;

        consumer = test_consumer(servers, "forked");
        parts = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(parts, "t", 0)->offset = 0;
        CHECK_OK(rd_kafka_assign(consumer, parts));
        queue = rd_kafka_queue_get_consumer(consumer);
        while (got < 5 && (m = rd_kafka_consumer_poll(consumer, 10000))) {
                got += !m->err;
                rd_kafka_message_destroy(m);
        }
        in_child(use_the_consumer);
        while (got < 30 && (m = rd_kafka_consumer_poll(consumer, 10000))) {
                got += !m->err;
                rd_kafka_message_destroy(m);
        }
        CHECK_INT(got, 30);
        CHECK_OK(rd_kafka_commit(consumer, parts, 0));
        rd_kafka_topic_partition_list_destroy(parts);
        rd_kafka_queue_destroy(queue);
        CHECK_OK(rd_kafka_consumer_close(consumer));
        rd_kafka_destroy(consumer);
}

/* Children of a parent whose threads are busy: no child blocks on a lock that those hold. */
static int use_and_leave(void) {
        CHECK_ERR(rd_kafka_flush(producer, -1), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_destroy(producer);
        return test_failed_checks;
}

static void many_children_of_a_busy_parent(void) {
        rd_kafka_conf_t *conf = test_conf();
        int i, j;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "0");
        producer = test_client(RD_KAFKA_PRODUCER, conf);
        for (i = 0; i < 20; i++) {
                for (j = 0; j < 50; j++)
                        rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("busy"),
                                          RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END);
                in_child(use_and_leave);
        }
        CHECK_OK(rd_kafka_flush(producer, 10000));
        rd_kafka_destroy(producer);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(a_producer);
        RUN(connections);
        RUN(a_consumer);
        RUN(many_children_of_a_busy_parent);
        rd_kafka_destroy(cluster);
        return test_end();
}
