/* Callbacks in place of the operating system: sockets, files, names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
        int made, connects, closed, opened, reads, writes, resolved, freed;
        int bad;
        unsigned char ours[4096];
        char broker[128];
} seen;

static int opaque;

static void forget(void) {
        memset(&seen, 0, sizeof(seen));
}

static void note(int *counter, int bad) {
        pthread_mutex_lock(&lock);
        ++*counter;
        seen.bad += bad;
        pthread_mutex_unlock(&lock);
}

static int count_of(const int *counter) {
        int n;
        pthread_mutex_lock(&lock);
        n = *counter;
        pthread_mutex_unlock(&lock);
        return n;
}

static int on_socket(int domain, int type, int protocol, void *ptr) {
        int fd = socket(domain, type | SOCK_CLOEXEC, protocol);
        note(&seen.made, ptr != &opaque || type != SOCK_STREAM || protocol != IPPROTO_TCP ||
                             (domain != AF_INET && domain != AF_INET6));
        if (fd >= 0 && fd < (int)sizeof(seen.ours))
                seen.ours[fd] = 1;
        return fd;
}

static int
on_connect(int fd, const struct sockaddr *addr, int addrlen, const char *id, void *ptr) {
        int flags = fcntl(fd, F_GETFL);
        note(&seen.connects, ptr != &opaque || !seen.ours[fd] || !(flags & O_NONBLOCK) ||
                                 addr->sa_family != AF_INET ||
                                 addrlen != (int)sizeof(struct sockaddr_in));
        pthread_mutex_lock(&lock);
        snprintf(seen.broker, sizeof(seen.broker), "%s", id);
        pthread_mutex_unlock(&lock);
        return connect(fd, addr, (socklen_t)addrlen) ? errno : 0;
}

static int on_close(int fd, void *ptr) {
        note(&seen.closed, ptr != &opaque || !seen.ours[fd]);
        seen.ours[fd] = 0;
        return close(fd);
}

static int on_open(const char *path, int flags, mode_t mode, void *ptr) {
        int writes = (flags & O_ACCMODE) != O_RDONLY;
        note(&seen.opened, ptr != &opaque || (writes && !(flags & O_CREAT)));
        note(writes ? &seen.writes : &seen.reads, 0);
        return open(path, flags, mode);
}

static char real_port[16];

/* Resolves a name that no DNS server has. */
static int on_resolve(const char *node,
                      const char *service,
                      const struct addrinfo *hints,
                      struct addrinfo **res,
                      void *ptr) {
        if (!node && !service) {
                note(&seen.freed, ptr != &opaque || hints != NULL);
                freeaddrinfo(*res);
                return 0;
        }
        note(&seen.resolved, ptr != &opaque || hints->ai_socktype != SOCK_STREAM);
        if (!strcmp(node, "kafka.test"))
                return getaddrinfo("127.0.0.1", real_port, hints, res);
        if (!strcmp(node, "nobody.test"))
                return EAI_NONAME;
        return getaddrinfo(node, service, hints, res);
}

static rd_kafka_t *client(const char *bootstrap, int sockets, int resolve) {
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "bootstrap.servers", bootstrap);
        rd_kafka_conf_set_opaque(conf, &opaque);
        if (sockets) {
                rd_kafka_conf_set_socket_cb(conf, on_socket);
                rd_kafka_conf_set_connect_cb(conf, on_connect);
                rd_kafka_conf_set_closesocket_cb(conf, on_close);
        }
        if (resolve)
                rd_kafka_conf_set_resolve_cb(conf, on_resolve);
        return test_client(RD_KAFKA_PRODUCER, conf);
}

static void socket_connect_and_closesocket_cb(void) {
        rd_kafka_t *rk;
        forget();
        rk = client(servers, 1, 0);
        CHECK_INT(test_produce(rk, "sockets", 0, 0, 10), 0);
        rd_kafka_destroy(rk);
        CHECK(seen.made >= 1);
        CHECK_INT(seen.connects, seen.made);
        CHECK_INT(seen.closed, seen.made);
        CHECK(strncmp(seen.broker, "127.0.0.1:", 10) == 0 && strchr(seen.broker, '/'));
        CHECK_INT(seen.bad, 0);
}

static int no_socket(int domain, int type, int protocol, void *ptr) {
        (void)domain;
        (void)type;
        (void)protocol;
        note(&seen.made, ptr != &opaque);
        errno = EMFILE;
        return -1;
}

static int no_connect(int fd, const struct sockaddr *addr, int len, const char *id, void *ptr) {
        (void)fd;
        (void)addr;
        (void)len;
        (void)id;
        note(&seen.connects, ptr != &opaque);
        return ENETUNREACH;
}

/* The error callback has the callback's reason. */
static void on_error(rd_kafka_t *rk, int err, const char *reason, void *ptr) {
        (void)rk;
        (void)ptr;
        if (err == RD_KAFKA_RESP_ERR__TRANSPORT)
                snprintf(seen.broker, sizeof(seen.broker), "%s", reason);
}

static void a_callback_that_fails_is_a_failed_connection(void) {
        int round;
        for (round = 0; round < 2; round++) {
                rd_kafka_conf_t *conf = test_conf();
                int64_t until = test_now_ms() + 10000;
                rd_kafka_t *rk;

                forget();
                test_set(conf, "bootstrap.servers", servers);
                rd_kafka_conf_set_opaque(conf, &opaque);
                rd_kafka_conf_set_error_cb(conf, on_error);
                rd_kafka_conf_set_socket_cb(conf, round ? on_socket : no_socket);
                rd_kafka_conf_set_connect_cb(conf, no_connect);
                rd_kafka_conf_set_closesocket_cb(conf, on_close);
                rk = test_client(RD_KAFKA_PRODUCER, conf);
                while (!seen.broker[0] && test_now_ms() < until)
                        rd_kafka_poll(rk, 50);
                CHECK(strstr(seen.broker, strerror(round ? ENETUNREACH : EMFILE)) != NULL);
                rd_kafka_destroy(rk);
                CHECK(seen.made >= 1);
                CHECK_INT(seen.connects, round ? seen.made : 0);
                CHECK_INT(seen.closed, round ? seen.made : 0);
                CHECK_INT(seen.bad, 0);
        }
}

static void resolve_cb_replaces_getaddrinfo(void) {
        const struct rd_kafka_metadata *md;
        rd_kafka_conf_t *conf;
        rd_kafka_t *rk;
        int i;

        forget();
        /* A port that the callback replaces. */
        snprintf(real_port, sizeof(real_port), "%d", atoi(strchr(servers, ':') + 1));
        rk = client("nobody.test:1,kafka.test:1", 0, 1);
        CHECK_OK(rd_kafka_metadata(rk, 0, NULL, &md, 10000));
        rd_kafka_metadata_destroy(md);
        CHECK_INT(test_produce(rk, "names", 0, 0, 3), 0);
        rd_kafka_destroy(rk);
        CHECK(seen.resolved >= 2);
        /* The failure made no list. */
        CHECK(seen.freed >= 1 && seen.freed <= seen.resolved);
        CHECK_INT(seen.bad, 0);

        forget();
        conf = test_conf();
        test_set(conf, "bootstrap.servers", "nobody.test:1");
        rd_kafka_conf_set_opaque(conf, &opaque);
        rd_kafka_conf_set_resolve_cb(conf, on_resolve);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK(rd_kafka_metadata(rk, 0, NULL, &md, 300) != 0);
        for (i = 0; !count_of(&seen.resolved) && i < 2000; i++)
                test_sleep_ms(5);
        rd_kafka_destroy(rk);
        CHECK(seen.resolved >= 1);
        CHECK_INT(seen.freed, 0);
}

/* Names that the client looked up, each followed by a blank. */
static char asked_for[512];

static int on_resolve_noting(const char *node,
                             const char *service,
                             const struct addrinfo *hints,
                             struct addrinfo **res,
                             void *ptr) {
        if (node) {
                pthread_mutex_lock(&lock);
                strncat(asked_for, node, sizeof(asked_for) - strlen(asked_for) - 2);
                strcat(asked_for, " ");
                pthread_mutex_unlock(&lock);
        }
        return on_resolve(node, service, hints, res, ptr);
}

/* The canonical name replaces the bootstrap name, which is looked up only for this. */
static void canonical_bootstrap_servers_only(void) {
        char bootstrap[64], host[NI_MAXHOST];
        struct sockaddr_in loopback = {.sin_family = AF_INET};
        rd_kafka_conf_t *conf       = test_conf();
        rd_kafka_t *rk;

        forget();
        loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        CHECK_INT(getnameinfo((struct sockaddr *)&loopback, sizeof(loopback), host, sizeof(host), NULL,
                              0, 0),
                  0);
        snprintf(real_port, sizeof(real_port), "%d", atoi(strchr(servers, ':') + 1));
        snprintf(bootstrap, sizeof(bootstrap), "kafka.test:%s", real_port);
        test_set(conf, "bootstrap.servers", bootstrap);
        test_set(conf, "broker.address.family", "v4");
        test_set(conf, "client.dns.lookup", "resolve_canonical_bootstrap_servers_only");
        rd_kafka_conf_set_opaque(conf, &opaque);
        rd_kafka_conf_set_resolve_cb(conf, on_resolve_noting);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_INT(test_produce(rk, "canonical", 0, 0, 3), 0);
        rd_kafka_destroy(rk);
        CHECK(strncmp(asked_for, "kafka.test ", 11) == 0);
        CHECK(strstr(asked_for + 11, "kafka.test") == NULL);
        CHECK(strncmp(asked_for + 11, host, strlen(host)) == 0);
        CHECK_INT(seen.bad, 0);
}

/* The calls in their order: r a look-up, c a connection. */
static char order[256];
static size_t calls;

static void note_call(char what) {
        pthread_mutex_lock(&lock);
        if (calls + 1 < sizeof(order))
                order[calls++] = what;
        pthread_mutex_unlock(&lock);
}

/* A name with two addresses. */
static int on_resolve_two(const char *node,
                          const char *service,
                          const struct addrinfo *hints,
                          struct addrinfo **res,
                          void *ptr) {
        struct addrinfo *second;
        int err;

        (void)ptr;
        if (!node && !service) {
                freeaddrinfo(*res);
                return 0;
        }
        note_call('r');
        if ((err = getaddrinfo("127.0.0.1", service, hints, res)))
                return err;
        if ((err = getaddrinfo("127.0.0.2", service, hints, &second)))
                return err;
        (*res)->ai_next = second;
        return 0;
}

static int
on_connect_refuse(int fd, const struct sockaddr *addr, int len, const char *id, void *ptr) {
        (void)fd;
        (void)addr;
        (void)len;
        (void)id;
        (void)ptr;
        note_call('c');
        return ECONNREFUSED;
}

/* A connection that fails is followed by a look-up, never by another connection. */
static void a_failed_connect_cb_is_followed_by_resolve_cb(void) {
        rd_kafka_conf_t *conf = test_conf();
        int64_t until = test_now_ms() + 10000;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "two.test:1");
        test_set(conf, "reconnect.backoff.ms", "10");
        rd_kafka_conf_set_resolve_cb(conf, on_resolve_two);
        rd_kafka_conf_set_connect_cb(conf, on_connect_refuse);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        while (calls < 12 && test_now_ms() < until)
                rd_kafka_poll(rk, 20);
        rd_kafka_destroy(rk);
        CHECK(calls >= 12);
        CHECK(strstr(order, "cc") == NULL);
        CHECK(strncmp(order, "rcrcrcrc", 8) == 0);
}

/* Destroying the client waits for a running callback. */
static volatile int resolving, resolve_done;

static int on_slow_resolve(const char *node,
                           const char *service,
                           const struct addrinfo *hints,
                           struct addrinfo **res,
                           void *ptr) {
        (void)node;
        (void)service;
        (void)hints;
        (void)res;
        (void)ptr;
        resolving = 1;
        test_sleep_ms(300);
        resolve_done++;
        return EAI_AGAIN;
}

static void destroy_waits_for_resolve_cb(void) {
        rd_kafka_conf_t *conf = test_conf();
        const struct rd_kafka_metadata *md;
        int64_t until = test_now_ms() + 10000;
        rd_kafka_t *rk;
        int done;

        test_set(conf, "bootstrap.servers", "slow.test:1");
        rd_kafka_conf_set_resolve_cb(conf, on_slow_resolve);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK(rd_kafka_metadata(rk, 0, NULL, &md, 10) != 0);
        while (!resolving && test_now_ms() < until)
                test_sleep_ms(5);
        rd_kafka_destroy(rk);
        done = resolve_done;
        CHECK(done >= 1);
        test_sleep_ms(400);
        CHECK_INT(resolve_done, done);
}

static void open_cb_opens_files(void) {
        char path[64], command[128];
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_conf_t *topic_conf = rd_kafka_topic_conf_new();
        rd_kafka_topic_t *rkt;
        rd_kafka_message_t *m;
        rd_kafka_t *rk;
        struct stat st;
        char errstr[128];
        int got = 0;

        forget();
        snprintf(path, sizeof(path), "/tmp/ottla-open-%d", (int)getpid());
        CHECK_INT(mkdir(path, 0700), 0);
        CHECK_INT(test_produce(cluster, "files", 0, 0, 5), 0);
        test_set(conf, "bootstrap.servers", servers);
        rd_kafka_conf_set_opaque(conf, &opaque);
        rd_kafka_conf_set_open_cb(conf, on_open);
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        CHECK_INT(rd_kafka_topic_conf_set(topic_conf, "offset.store.path", path, errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        CHECK_INT(rd_kafka_topic_conf_set(topic_conf, "offset.store.method", "file", errstr,
                                          sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        CHECK_INT(rd_kafka_topic_conf_set(topic_conf, "auto.offset.reset", "earliest", errstr,
                                          sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        rkt = rd_kafka_topic_new(rk, "files", topic_conf);
        CHECK_INT(rd_kafka_consume_start(rkt, 0, RD_KAFKA_OFFSET_STORED), 0);
        while (got < 5 && (m = rd_kafka_consume(rkt, 0, 10000))) {
                got += !m->err;
                rd_kafka_message_destroy(m);
        }
        CHECK_INT(got, 5);
        CHECK_INT(rd_kafka_consume_stop(rkt, 0), 0);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
        CHECK(seen.reads >= 1 && seen.writes >= 1);
        CHECK_INT(seen.bad, 0);
        snprintf(command, sizeof(command), "%s/files-0.offset", path);
        CHECK_INT(stat(command, &st), 0);
        unlink(command);
        CHECK_INT(rmdir(path), 0);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(socket_connect_and_closesocket_cb);
        RUN(a_callback_that_fails_is_a_failed_connection);
        RUN(resolve_cb_replaces_getaddrinfo);
        RUN(canonical_bootstrap_servers_only);
        RUN(a_failed_connect_cb_is_followed_by_resolve_cb);
        RUN(destroy_waits_for_resolve_cb);
        RUN(open_cb_opens_files);
        rd_kafka_destroy(cluster);
        return test_end();
}
