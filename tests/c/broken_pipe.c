/* Peers that go away while they are written to, in processes with the default action for SIGPIPE. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "test.h"

/* The effect of a lost peer depends on the position of the writer, so each case runs this often. */
#define ROUNDS 12

/* Produces as fast as it can for `ms` milliseconds. */
static void produce_for(rd_kafka_t *rk, int ms) {
        static char value[4096];
        int64_t until = test_now_ms() + ms;
        size_t i;

        for (i = 0; i < sizeof(value); i++)
                value[i] = (char)rand();
        while (test_now_ms() < until) {
                if (rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("pipe"), RD_KAFKA_V_PARTITION(0),
                                      RD_KAFKA_V_VALUE(value, sizeof(value)),
                                      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END))
                        rd_kafka_poll(rk, 1);
                rd_kafka_poll(rk, 0);
        }
}

static void produce_and_exit(const char *servers, const char *acks, int ready) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;

        signal(SIGPIPE, SIG_DFL);
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "acks", acks);
        test_set(conf, "compression.type", "zstd");
        test_set(conf, "reconnect.backoff.ms", "10");
        test_set(conf, "socket.send.buffer.bytes", "8192");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        produce_for(rk, 100);
        if (write(ready, "x", 1) != 1)
                _exit(1);
        produce_for(rk, 200);
        _exit(0);
}

/* A producer whose broker process is killed while it writes, and its outcome. */
static void producer_survives(const char *acks) {
        int round, died = 0;

        for (round = 0; round < ROUNDS; round++) {
                char servers[512], byte;
                int ready[2], status = -1;
                pid_t broker = test_broker_process(servers, sizeof(servers)), producer;

                REQUIRE(broker > 0 && servers[0] && !pipe(ready));
                producer = fork();
                if (producer == 0)
                        produce_and_exit(servers, acks, ready[1]);
                close(ready[1]);
                CHECK_INT(read(ready[0], &byte, 1), 1);
                close(ready[0]);
                test_kill(broker);
                CHECK(waitpid(producer, &status, 0) == producer);
                died += !WIFEXITED(status) || WEXITSTATUS(status);
        }
        CHECK_INT(died, 0);
}

static void broker_killed_with_acks_0_leaves_the_producer_alive(void) {
        producer_survives("0");
}

static void broker_killed_with_acks_1_leaves_the_producer_alive(void) {
        producer_survives("1");
}

static int sockets[64];
static int sockets_cnt;

static int make_socket(int domain, int type, int protocol, void *opaque) {
        int fd = socket(domain, type | SOCK_CLOEXEC, protocol);
        (void)opaque;
        if (fd >= 0 && sockets_cnt < 64)
                sockets[sockets_cnt++] = fd;
        return fd;
}

static void write_to_shut_sockets(const char *servers) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;
        int i;

        signal(SIGPIPE, SIG_DFL);
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "0");
        rd_kafka_conf_set_socket_cb(conf, make_socket);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        if (test_produce(rk, "pipe", 0, 0, 1))
                _exit(1);
        for (i = 0; i < sockets_cnt; i++)
                shutdown(sockets[i], SHUT_WR);
        if (rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("pipe"), RD_KAFKA_V_PARTITION(0),
                              RD_KAFKA_V_VALUE("x", 1),
                              RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END))
                _exit(2);
        /* A new connection carries the message. */
        _exit(rd_kafka_flush(rk, 10000) ? 3 : 0);
}

/* Nothing more can be written to a socket that socket_cb made, which raises SIGPIPE at once. */
static void write_to_a_shut_socket_of_socket_cb_raises_no_signal(void) {
        int round;

        for (round = 0; round < ROUNDS; round++) {
                char servers[512];
                int status = -1;
                pid_t broker = test_broker_process(servers, sizeof(servers)), producer;

                REQUIRE(broker > 0 && servers[0]);
                producer = fork();
                if (producer == 0)
                        write_to_shut_sockets(servers);
                CHECK(waitpid(producer, &status, 0) == producer);
                CHECK_INT(status, 0);
                test_kill(broker);
        }
}

/* The embedded cluster's process when its clients leave without reading their responses. */
static void clients_that_leave_unread_responses_leave_the_mock_cluster_alive(void) {
        /* ApiVersions, version 0, no client id. */
        static const char request[] = {0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, (char)0xff, (char)0xff};
        struct sockaddr_in addr = {.sin_family = AF_INET};
        char servers[512], *colon;
        int round, status;
        pid_t broker = test_broker_process(servers, sizeof(servers));

        REQUIRE(broker > 0 && strchr(servers, ':'));
        colon = strchr(servers, ':');
        addr.sin_port = htons((uint16_t)atoi(colon + 1));
        addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (round = 0; round < 2000; round++) {
                int i, fd = socket(AF_INET, SOCK_STREAM, 0);
                REQUIRE(fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
                for (i = 0; i < 20; i++)
                        if (send(fd, request, sizeof(request), MSG_NOSIGNAL) < 0)
                                break;
                close(fd);
        }
        test_sleep_ms(200);
        CHECK_INT(waitpid(broker, &status, WNOHANG), 0);
        test_kill(broker);
}

/* A queue that writes to a socket without a reader. */
static void notify_a_socket_without_a_reader(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_queue_t *queue;
        rd_kafka_t *rk;
        int ends[2];

        signal(SIGPIPE, SIG_DFL);
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        queue = rd_kafka_queue_get_main(rk);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
                _exit(1);
        close(ends[0]);
        rd_kafka_queue_io_event_enable(queue, ends[1], "x", 1);
        rd_kafka_test_fatal_error(rk, RD_KAFKA_RESP_ERR__FATAL, "an event");
        if (rd_kafka_queue_length(queue) == 0)
                _exit(2);
        _exit(0);
}

static void io_event_on_a_socket_without_a_reader_raises_no_signal(void) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0)
                notify_a_socket_without_a_reader();
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK_INT(status, 0);
}

int main(void) {
        srand(1);
        RUN(broker_killed_with_acks_0_leaves_the_producer_alive);
        RUN(broker_killed_with_acks_1_leaves_the_producer_alive);
        RUN(write_to_a_shut_socket_of_socket_cb_raises_no_signal);
        RUN(clients_that_leave_unread_responses_leave_the_mock_cluster_alive);
        RUN(io_event_on_a_socket_without_a_reader_raises_no_signal);
        return test_end();
}
