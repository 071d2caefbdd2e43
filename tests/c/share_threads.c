/* Share consumers: one thread at a time, calls in callbacks, closing by queue, applications that never poll, forks. */
#define _POSIX_C_SOURCE 200809L
#include "share_test.h"

#include <pthread.h>
#include <sys/wait.h>

static struct mock m;

/* ---- threads ---------------------------------------------------------------------------------- */

struct poller {
        rd_kafka_share_t *rkshare;
        volatile int has_begun, polls, conflicts, others;
        volatile int *stop;
        pthread_t thread;
};

static void *poll_long(void *arg) {
        struct poller *p = arg;
        rd_kafka_messages_t *messages;
        p->has_begun = 1;
        CHECK_OK(share_code(rd_kafka_share_poll(p->rkshare, 6000, &messages)));
        CHECK(messages == NULL);
        return NULL;
}

static void a_second_thread_is_refused(void) {
        struct poller p = {0};
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1), *got = NULL;
        rd_kafka_messages_t *messages = NULL;
        rd_kafka_error_t *error;

        rd_kafka_topic_partition_list_add(list, "empty", RD_KAFKA_PARTITION_UA);
        p.rkshare = share_consumer(share_conf(&m, "second", "explicit"), "empty");
        CHECK_INT(pthread_create(&p.thread, NULL, poll_long, &p), 0);
        while (!p.has_begun)
                test_sleep_ms(1);
        test_sleep_ms(500);
        error = rd_kafka_share_poll(p.rkshare, 0, &messages);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK(strstr(rd_kafka_error_string(error), "hread") != NULL);
        rd_kafka_error_destroy(error);
        CHECK_ERR(rd_kafka_share_subscribe(p.rkshare, list), RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(rd_kafka_share_unsubscribe(p.rkshare), RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(rd_kafka_share_subscription(p.rkshare, &got), RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(share_code(rd_kafka_share_commit_async(p.rkshare)), RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(share_code(rd_kafka_share_commit_sync(p.rkshare, 0, &got)),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(share_code(rd_kafka_share_consumer_close(p.rkshare)), RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(share_code(rd_kafka_share_destroy(p.rkshare)), RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(rd_kafka_share_acknowledge_offset(p.rkshare, "empty", 0, 0,
                                                    RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_INT(rd_kafka_share_consumer_closed(p.rkshare), 0);
        pthread_join(p.thread, NULL);
        /* The refused calls have changed nothing, and another thread may go on. */
        CHECK_OK(rd_kafka_share_subscription(p.rkshare, &got));
        REQUIRE(got != NULL);
        CHECK_INT(got->cnt, 1);
        rd_kafka_topic_partition_list_destroy(got);
        rd_kafka_topic_partition_list_destroy(list);
        share_end(p.rkshare);
}

static void *poll_always(void *arg) {
        struct poller *p = arg;
        while (!*p->stop) {
                rd_kafka_messages_t *messages = NULL;
                rd_kafka_resp_err_t code = share_code(rd_kafka_share_poll(p->rkshare, 5, &messages));
                if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
                        p->polls += (int)rd_kafka_messages_count(messages);
                else if (code == RD_KAFKA_RESP_ERR__CONFLICT)
                        p->conflicts++;
                else
                        p->others++;
                rd_kafka_messages_destroy(messages);
        }
        return NULL;
}

static void ten_threads_poll(void) {
        enum { THREADS = 10, CNT = 500 };
        struct poller pollers[THREADS];
        volatile int stop = 0;
        rd_kafka_share_t *rkshare;
        int64_t end;
        int i, records = 0, conflicts = 0, others = 0;

        share_topic(&m, "ten", 2, CNT);
        rkshare = share_consumer(share_conf(&m, "ten", NULL), "ten");
        memset(pollers, 0, sizeof(pollers));
        for (i = 0; i < THREADS; i++) {
                pollers[i].rkshare = rkshare;
                pollers[i].stop    = &stop;
                CHECK_INT(pthread_create(&pollers[i].thread, NULL, poll_always, &pollers[i]), 0);
        }
        for (end = test_now_ms() + SHARE_WAIT_MS; records < 2 * CNT && test_now_ms() < end;) {
                test_sleep_ms(20);
                for (i = 0, records = 0; i < THREADS; i++)
                        records += pollers[i].polls;
        }
        stop = 1;
        for (i = 0; i < THREADS; i++) {
                pthread_join(pollers[i].thread, NULL);
                conflicts += pollers[i].conflicts;
                others += pollers[i].others;
        }
        CHECK_INT(records, 2 * CNT);
        CHECK_INT(others, 0);
        CHECK(conflicts > 0);
        share_end(rkshare);
}

/* ---- calls in callbacks ------------------------------------------------------------------------ */

static int callback_calls;

static void call_everything(rd_kafka_share_t *rkshare,
                            rd_kafka_share_partition_offsets_list_t *partitions,
                            rd_kafka_resp_err_t err,
                            void *opaque) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1), *got = NULL;
        rd_kafka_messages_t *messages = NULL;

        (void)partitions, (void)err, (void)opaque;
        callback_calls++;
        rd_kafka_topic_partition_list_add(list, "t", RD_KAFKA_PARTITION_UA);
        CHECK_ERR(share_code(rd_kafka_share_poll(rkshare, 0, &messages)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_subscribe(rkshare, list), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_unsubscribe(rkshare), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_subscription(rkshare, &got), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_acknowledge_offset(rkshare, "t", 0, 0,
                                                    RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_commit_async(rkshare)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_commit_sync(rkshare, 0, &got)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_set_acknowledgement_commit_cb(rkshare, NULL, NULL)),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_consumer_close(rkshare)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_destroy(rkshare)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_destroy_flags(rkshare, 8)), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_topic_partition_list_destroy(list);
}

static void no_call_in_the_acknowledgement_callback(void) {
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        rd_kafka_topic_partition_list_t *results = NULL;

        share_topic(&m, "reentry", 1, 4);
        rkshare = share_consumer(share_conf(&m, "reentry", "explicit"), "reentry");
        CHECK_OK(share_code(
            rd_kafka_share_set_acknowledgement_commit_cb(rkshare, call_everything, NULL)));
        messages = share_poll(rkshare, SHARE_WAIT_MS);
        REQUIRE(rd_kafka_messages_count(messages) == 4);
        CHECK_OK(rd_kafka_share_acknowledge(rkshare, rd_kafka_messages_get(messages, 0)));
        CHECK_OK(share_code(rd_kafka_share_commit_sync(rkshare, 10000, &results)));
        if (results)
                rd_kafka_topic_partition_list_destroy(results);
        CHECK_INT(callback_calls, 1);
        /* Callbacks of the end are no exception. */
        CHECK_OK(rd_kafka_share_acknowledge(rkshare, rd_kafka_messages_get(messages, 1)));
        rd_kafka_messages_destroy(messages);
        share_end(rkshare);
        CHECK_INT(callback_calls, 2);
}

/* ---- closing ----------------------------------------------------------------------------------- */

static int accepted, results, result_ms;

/* Counts records and results, and lasts for `result_ms`. */
static void count_accepted(rd_kafka_share_t *rkshare,
                           rd_kafka_share_partition_offsets_list_t *partitions,
                           rd_kafka_resp_err_t err,
                           void *opaque) {
        (void)rkshare, (void)opaque;
        CHECK_OK(err);
        accepted += (int)rd_kafka_share_partition_offsets_offsets_cnt(
            rd_kafka_share_partition_offsets_list_get(partitions, 0));
        results++;
        test_sleep_ms(result_ms);
}

/* Closes by a queue, which is served with rd_kafka_queue_poll_callback() or rd_kafka_queue_poll(). */
static void close_by_queue(const char *group, int by_callback) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, group, "explicit"), "reentry");
        rd_kafka_queue_t *queue   = rd_kafka_queue_new(m.owner);
        rd_kafka_messages_t *messages = share_poll(rkshare, SHARE_WAIT_MS);
        int64_t end;

        accepted = 0;
        CHECK_OK(share_code(
            rd_kafka_share_set_acknowledgement_commit_cb(rkshare, count_accepted, NULL)));
        share_acknowledge_all(rkshare, messages, RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT);
        CHECK_INT(rd_kafka_messages_count(messages), 4);
        rd_kafka_messages_destroy(messages);
        CHECK_ERR(share_code(rd_kafka_share_consumer_close_queue(rkshare, NULL)),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(share_code(rd_kafka_share_consumer_close_queue(rkshare, queue)));
        for (end = test_now_ms() + SHARE_WAIT_MS;
             !rd_kafka_share_consumer_closed(rkshare) && test_now_ms() < end;) {
                /* The end of the close ends a poll. */
                if (by_callback) {
                        rd_kafka_queue_poll_callback(queue, 10 * SHARE_WAIT_MS);
                } else {
                        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 10 * SHARE_WAIT_MS);
                        CHECK(event == NULL);
                        rd_kafka_event_destroy(event);
                }
        }
        CHECK_INT(rd_kafka_share_consumer_closed(rkshare), 1);
        CHECK_INT(accepted, 4);
        CHECK_ERR(share_code(rd_kafka_share_consumer_close_queue(rkshare, queue)),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_commit_async(rkshare)), RD_KAFKA_RESP_ERR__STATE);
        share_end(rkshare);
        rd_kafka_queue_destroy(queue);
}

static void closing_by_queue(void) {
        close_by_queue("queue-callback", 1);
        close_by_queue("queue-event", 0);
}

/* A member that has acknowledged a record of each of three partitions, which one request sends. A slow callback receives the
 * results. */
static rd_kafka_share_t *with_three_results(const char *group) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, group, "explicit"), "three");
        int64_t end               = test_now_ms() + SHARE_WAIT_MS;
        int cnt                   = 0;

        while (cnt < 3 && test_now_ms() < end) {
                rd_kafka_topic_partition_list_t *list = NULL;
                rd_kafka_messages_t *messages         = share_poll(rkshare, SHARE_WAIT_MS);

                cnt = (int)rd_kafka_messages_count(messages);
                share_acknowledge_all(rkshare, messages,
                                      cnt == 3 ? RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT
                                               : RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_RELEASE);
                rd_kafka_messages_destroy(messages);
                if (cnt < 3) {
                        CHECK_OK(share_code(rd_kafka_share_commit_sync(rkshare, SHARE_WAIT_MS, &list)));
                        rd_kafka_topic_partition_list_destroy(list);
                }
        }
        CHECK_INT(cnt, 3);
        results   = 0;
        result_ms = 1000;
        CHECK_OK(share_code(
            rd_kafka_share_set_acknowledgement_commit_cb(rkshare, count_accepted, NULL)));
        return rkshare;
}

/* The close is done while the callback for the first result runs. */
static void all_results_are_served_before_the_end(void) {
        rd_kafka_share_t *rkshare;
        rd_kafka_queue_t *queue = rd_kafka_queue_new(m.owner);
        int64_t end;
        int p;

        share_topic(&m, "three", 3, 1);
        for (p = 0; p < 3; p++)
                CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "three", p, 1));
        rkshare = with_three_results("three-queue");
        end     = test_now_ms() + SHARE_WAIT_MS;
        CHECK_OK(share_code(rd_kafka_share_consumer_close_queue(rkshare, queue)));
        while (!rd_kafka_share_consumer_closed(rkshare) && test_now_ms() < end)
                rd_kafka_queue_poll_callback(queue, 1000);
        CHECK_INT(rd_kafka_share_consumer_closed(rkshare), 1);
        CHECK_INT(results, 3);
        share_end(rkshare);
        /* A close that the application leaves alone. */
        rkshare = with_three_results("three-left");
        CHECK_OK(share_code(rd_kafka_share_consumer_close_queue(rkshare, queue)));
        share_end(rkshare);
        CHECK_INT(results, 3);
        rd_kafka_queue_destroy(queue);
        result_ms = 0;
}

static void a_close_that_was_begun_ends_with_the_client(void) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, "begun", NULL), "reentry");
        rd_kafka_queue_t *queue   = rd_kafka_queue_new(m.owner);
        rd_kafka_messages_t *messages = share_poll(rkshare, SHARE_WAIT_MS);
        char **members = NULL;
        size_t cnt     = 0;

        rd_kafka_messages_destroy(messages);
        CHECK_OK(share_code(rd_kafka_share_consumer_close_queue(rkshare, queue)));
        share_end(rkshare);
        rd_kafka_queue_destroy(queue);
        rd_kafka_mock_sharegroup_get_member_ids(m.cluster, "begun", &members, &cnt);
        CHECK_INT(cnt, 0);
        free(members);
}

static void without_a_close_the_group_keeps_the_member(void) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, "keeps", NULL), "reentry");
        rd_kafka_messages_t *messages = share_poll(rkshare, SHARE_WAIT_MS);
        char **members = NULL;
        size_t cnt     = 0;

        rd_kafka_messages_destroy(messages);
        CHECK_OK(share_code(
            rd_kafka_share_destroy_flags(rkshare, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)));
        CHECK_OK(rd_kafka_mock_sharegroup_get_member_ids(m.cluster, "keeps", &members, &cnt));
        CHECK_INT(cnt, 1);
        while (cnt > 0)
                free(members[--cnt]);
        free(members);
}

static void unreachable_brokers_do_not_delay_the_end(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        int64_t start;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        test_set(conf, "group.id", "unused");
        test_set(conf, "socket.timeout.ms", "2000");
        rkshare = share_consumer(conf, "t");
        CHECK_OK(share_code(rd_kafka_share_poll(rkshare, 300, &messages)));
        CHECK(messages == NULL);
        start = test_now_ms();
        share_end(rkshare);
        CHECK(test_now_ms() - start < 10000);
}

/* ---- applications that do not behave ----------------------------------------------------------- */

static void an_application_that_never_polls(void) {
        rd_kafka_share_t *rkshare;
        rd_kafka_conf_t *conf = share_conf(&m, "never", NULL);
        test_set(conf, "statistics.interval.ms", "10");
        rkshare = share_consumer(conf, "ten");
        test_sleep_ms(500);
        share_end(rkshare);
        /* Nor subscribes. */
        rkshare = share_consumer(share_conf(&m, "never", NULL), NULL);
        share_end(rkshare);
}

static void an_application_that_polls_too_seldom(void) {
        rd_kafka_conf_t *conf = share_conf(&m, "seldom", NULL);
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        rd_kafka_error_t *error;

        test_set(conf, "max.poll.interval.ms", "3000");
        rkshare  = share_consumer(conf, "reentry");
        messages = share_poll(rkshare, SHARE_WAIT_MS);
        CHECK_INT(rd_kafka_messages_count(messages), 4);
        rd_kafka_messages_destroy(messages);
        test_sleep_ms(6000);
        error = rd_kafka_share_poll(rkshare, 0, &messages);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED);
        rd_kafka_error_destroy(error);
        CHECK_OK(share_code(rd_kafka_share_poll(rkshare, 100, &messages)));
        rd_kafka_messages_destroy(messages);
        share_end(rkshare);
}

static void null_handles(void) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1), *got = list;
        rd_kafka_messages_t *messages = NULL;
        rd_kafka_share_t *rkshare     = share_consumer(share_conf(&m, "null", NULL), NULL);

        rd_kafka_topic_partition_list_add(list, "t", RD_KAFKA_PARTITION_UA);
        CHECK_ERR(share_code(rd_kafka_share_poll(NULL, 0, &messages)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_subscribe(NULL, list), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_unsubscribe(NULL), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_subscription(NULL, &got), RD_KAFKA_RESP_ERR__STATE);
        CHECK(got == NULL);
        CHECK_ERR(rd_kafka_share_acknowledge(NULL, NULL), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_acknowledge_offset(NULL, "t", 0, 0,
                                                    RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_commit_async(NULL)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_commit_sync(NULL, 0, &got)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_consumer_close(NULL)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_consumer_close_queue(NULL, NULL)),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_INT(rd_kafka_share_consumer_closed(NULL), 0);
        CHECK_ERR(share_code(rd_kafka_share_destroy(NULL)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_destroy_flags(NULL, 0)), RD_KAFKA_RESP_ERR__STATE);
        CHECK(rd_kafka_share_queue_get_sasl(NULL) == NULL);
        CHECK_ERR(share_code(rd_kafka_share_set_log_queue(NULL, NULL)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_sasl_background_callbacks_enable(NULL)),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK(rd_kafka_messages_get(NULL, 0) == NULL);
        CHECK_INT(rd_kafka_share_partition_offsets_list_count(NULL), 0);
        CHECK(rd_kafka_share_partition_offsets_list_get(NULL, 0) == NULL);
        rd_kafka_share_partition_offsets_list_destroy(NULL);
        CHECK(rd_kafka_share_partition_offsets_partition(NULL) == NULL);
        CHECK(rd_kafka_share_partition_offsets_offsets(NULL) == NULL);
        CHECK_INT(rd_kafka_share_partition_offsets_offsets_cnt(NULL), 0);

        /* NULL arguments of a live handle. */
        CHECK_ERR(share_code(rd_kafka_share_poll(rkshare, 0, NULL)), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_share_subscribe(rkshare, NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_share_subscription(rkshare, NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(share_code(rd_kafka_share_commit_sync(rkshare, 0, NULL)),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);

        /* A handle of another type, and one that is destroyed. */
        CHECK_ERR(share_code(rd_kafka_share_poll((rd_kafka_share_t *)m.owner, 0, &messages)),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_destroy((rd_kafka_share_t *)m.owner)),
                  RD_KAFKA_RESP_ERR__STATE);
        share_end(rkshare);
        CHECK_ERR(rd_kafka_share_unsubscribe(rkshare), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_destroy(rkshare)), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_topic_partition_list_destroy(list);
}

/* ---- the client's handle in callbacks ---------------------------------------------------------- */

static int stats_calls;

static int use_the_client(rd_kafka_t *rk, char *json, size_t len, void *opaque) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

        (void)json, (void)len, (void)opaque;
        rd_kafka_topic_partition_list_add(list, "reentry", 0)->offset = 0;
        CHECK(rd_kafka_subscribe(rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK(rd_kafka_assign(rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK(rd_kafka_pause_partitions(rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK(rd_kafka_commit(rk, list, 0) != RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK(rd_kafka_position(rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK(rd_kafka_offsets_store(rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK(rd_kafka_consumer_close(rk) != RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK_INT(rd_kafka_poll(rk, 0), 0);
        CHECK(rd_kafka_queue_get_main(rk) == NULL);
        CHECK(rd_kafka_queue_get_consumer(rk) == NULL);
        CHECK(rd_kafka_memberid(rk) == NULL);
        rd_kafka_destroy(rk);
        CHECK(strstr(rd_kafka_name(rk), "#consumer-") != NULL);
        stats_calls++;
        rd_kafka_topic_partition_list_destroy(list);
        return 0;
}

static void callbacks_get_a_client_that_only_answers(void) {
        rd_kafka_conf_t *conf = share_conf(&m, "client", NULL);
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        int64_t end = test_now_ms() + SHARE_WAIT_MS;

        rd_kafka_conf_set_stats_cb(conf, use_the_client);
        test_set(conf, "statistics.interval.ms", "20");
        rkshare = share_consumer(conf, "reentry");
        while (stats_calls < 3 && test_now_ms() < end) {
                CHECK_OK(share_code(rd_kafka_share_poll(rkshare, 50, &messages)));
                rd_kafka_messages_destroy(messages);
        }
        CHECK(stats_calls >= 3);
        share_end(rkshare);
}

/* ---- forks ------------------------------------------------------------------------------------- */

static void a_child_is_refused(void) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, "fork", NULL), "reentry");
        rd_kafka_messages_t *messages = share_poll(rkshare, SHARE_WAIT_MS);
        int status = 0;
        pid_t pid;

        CHECK_INT(rd_kafka_messages_count(messages), 4);
        rd_kafka_messages_destroy(messages);
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
                rd_kafka_topic_partition_list_t *got = NULL;
                test_failed_checks = 0;
                alarm(10);
                CHECK_ERR(share_code(rd_kafka_share_poll(rkshare, 100, &messages)),
                          RD_KAFKA_RESP_ERR__STATE);
                CHECK_ERR(rd_kafka_share_unsubscribe(rkshare), RD_KAFKA_RESP_ERR__STATE);
                CHECK_ERR(share_code(rd_kafka_share_commit_sync(rkshare, 100, &got)),
                          RD_KAFKA_RESP_ERR__STATE);
                CHECK_ERR(share_code(rd_kafka_share_consumer_close(rkshare)),
                          RD_KAFKA_RESP_ERR__STATE);
                CHECK_OK(share_code(rd_kafka_share_destroy(rkshare)));
                fflush(stdout);
                /* Memory of the parent's threads is no leak of the child. */
                kill(getpid(), test_failed_checks ? SIGABRT : SIGKILL);
        }
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        CHECK_OK(rd_kafka_share_unsubscribe(rkshare));
        share_end(rkshare);
}

int main(void) {
        m = share_start(2);
        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "empty", 1, 1));
        RUN(a_second_thread_is_refused);
        RUN(ten_threads_poll);
        RUN(no_call_in_the_acknowledgement_callback);
        RUN(closing_by_queue);
        RUN(all_results_are_served_before_the_end);
        RUN(a_close_that_was_begun_ends_with_the_client);
        RUN(without_a_close_the_group_keeps_the_member);
        RUN(unreachable_brokers_do_not_delay_the_end);
        RUN(an_application_that_never_polls);
        RUN(an_application_that_polls_too_seldom);
        RUN(null_handles);
        RUN(callbacks_get_a_client_that_only_answers);
        RUN(a_child_is_refused);
        mock_end(m);
        return test_end();
}
