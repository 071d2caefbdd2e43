/* Quotas (KIP-13, KIP-219): the throttle times of brokers in callbacks and statistics. A proxy between client
 * and cluster writes the throttle time into responses. */
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#define PRODUCE 0
#define FETCH 1
#define FLEXIBLE_PRODUCE 9
#define FLEXIBLE_FETCH 12
#define CONNECTIONS_MAX 16
#define FRAME_MAX (1 << 20)

/* One connection, relayed by two threads. */
struct relayed {
        int client, broker;
        pthread_t up;
        /* API and version of each request, by its correlation id. */
        int16_t asked[256][2];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int listener, relay_port, broker_port;
/* The throttle time to write: the API of the responses, and milliseconds. */
static int slowed_api, pause_ms;

static int be32(const unsigned char *at) {
        return (int)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}

static void put_be32(unsigned char *at, int n) {
        at[0] = (unsigned char)(n >> 24);
        at[1] = (unsigned char)(n >> 16);
        at[2] = (unsigned char)(n >> 8);
        at[3] = (unsigned char)n;
}

/* Reads one frame, its length included. Is its size, 0 at the end of the connection. */
static size_t read_frame(int fd, unsigned char *frame) {
        size_t size;
        if (recv(fd, frame, 4, MSG_WAITALL) != 4)
                return 0;
        size = (size_t)be32(frame);
        if (size < 8 || size > FRAME_MAX - 4)
                return 0;
        return recv(fd, frame + 4, size, MSG_WAITALL) == (ssize_t)size ? size + 4 : 0;
}

static int write_frame(int fd, const unsigned char *frame, size_t size) {
        while (size > 0) {
                ssize_t n = send(fd, frame, size, MSG_NOSIGNAL);
                if (n <= 0)
                        return 0;
                frame += n;
                size -= (size_t)n;
        }
        return 1;
}

static void *relay_requests(void *arg) {
        struct relayed *r = arg;
        unsigned char *frame = malloc(FRAME_MAX);
        size_t size;
        while ((size = read_frame(r->client, frame)) > 0) {
                int16_t *asked = r->asked[frame[11]];
                pthread_mutex_lock(&lock);
                asked[0] = (int16_t)(frame[4] << 8 | frame[5]);
                asked[1] = (int16_t)(frame[6] << 8 | frame[7]);
                pthread_mutex_unlock(&lock);
                if (!write_frame(r->broker, frame, size))
                        break;
        }
        shutdown(r->broker, SHUT_RDWR);
        free(frame);
        return NULL;
}

/* Writes the throttle time into a response: the last field of Produce, the first of Fetch. */
static void slow_down(struct relayed *r, unsigned char *frame, size_t size) {
        int api, version;
        pthread_mutex_lock(&lock);
        api = r->asked[frame[7]][0];
        version = r->asked[frame[7]][1];
        if (pause_ms > 0 && api == slowed_api && api == PRODUCE)
                put_be32(frame + size - (version >= FLEXIBLE_PRODUCE ? 5 : 4), pause_ms);
        else if (pause_ms > 0 && api == slowed_api && api == FETCH)
                put_be32(frame + (version >= FLEXIBLE_FETCH ? 9 : 8), pause_ms);
        pthread_mutex_unlock(&lock);
}

static void *relay_answers(void *arg) {
        struct relayed *r = arg;
        unsigned char *frame = malloc(FRAME_MAX);
        size_t size;
        while ((size = read_frame(r->broker, frame)) > 0) {
                slow_down(r, frame, size);
                if (!write_frame(r->client, frame, size))
                        break;
        }
        shutdown(r->client, SHUT_RDWR);
        pthread_join(r->up, NULL);
        close(r->client);
        close(r->broker);
        free(frame);
        free(r);
        return NULL;
}

static struct sockaddr_in local(int port) {
        struct sockaddr_in sin;
        memset(&sin, 0, sizeof(sin));
        sin.sin_family = AF_INET;
        sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        sin.sin_port = htons((uint16_t)port);
        return sin;
}

static void *relay(void *arg) {
        pthread_t down[CONNECTIONS_MAX];
        struct sockaddr_in sin = local(broker_port);
        int client, n = 0;
        (void)arg;
        while (n < CONNECTIONS_MAX && (client = accept(listener, NULL, NULL)) != -1) {
                struct relayed *r = calloc(1, sizeof(*r));
                r->client = client;
                r->broker = socket(AF_INET, SOCK_STREAM, 0);
                if (connect(r->broker, (struct sockaddr *)&sin, sizeof(sin)))
                        shutdown(client, SHUT_RDWR);
                pthread_create(&r->up, NULL, relay_requests, r);
                pthread_create(&down[n++], NULL, relay_answers, r);
        }
        while (n > 0)
                pthread_join(down[--n], NULL);
        return NULL;
}

/* Every connection of a client goes through the relay. */
static int on_connect(int fd, const struct sockaddr *addr, int len, const char *id, void *opaque) {
        struct sockaddr_in sin = local(relay_port);
        (void)addr;
        (void)len;
        (void)id;
        (void)opaque;
        return connect(fd, (struct sockaddr *)&sin, sizeof(sin)) && errno != EINPROGRESS ? errno : 0;
}

static void slow(int api, int ms) {
        pthread_mutex_lock(&lock);
        slowed_api = api;
        pause_ms = ms;
        pthread_mutex_unlock(&lock);
}

/* The throttle events of a client. */
struct told {
        int calls, last, longest, wrong;
        int stats_longest;
        rd_kafka_t *rk;
};

static void
on_throttle(rd_kafka_t *rk, const char *name, int32_t id, int throttle_ms, void *opaque) {
        struct told *told = opaque;
        const char *port = strchr(name, ':');
        told->calls++;
        told->last = throttle_ms;
        if (throttle_ms > told->longest)
                told->longest = throttle_ms;
        told->wrong += !port || atoi(port + 1) != broker_port || id != 1 || throttle_ms < 0;
        told->rk = rk;
}

/* The longest pause in a window of statistics, over all brokers. */
static int on_stats(rd_kafka_t *rk, char *json, size_t len, void *opaque) {
        struct told *told = opaque;
        const char *at = json;
        (void)rk;
        (void)len;
        while ((at = strstr(at, "\"throttle\":"))) {
                int max = 0;
                at = strstr(at, "\"max\":");
                if (at && sscanf(at, "\"max\":%d", &max) == 1 && max > told->stats_longest)
                        told->stats_longest = max;
        }
        return 0;
}

static rd_kafka_conf_t *conf_for(struct told *told) {
        rd_kafka_conf_t *conf = test_conf();
        char servers[64];
        snprintf(servers, sizeof(servers), "127.0.0.1:%d", broker_port);
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "statistics.interval.ms", "20");
        rd_kafka_conf_set_connect_cb(conf, on_connect);
        rd_kafka_conf_set_throttle_cb(conf, on_throttle);
        rd_kafka_conf_set_stats_cb(conf, on_stats);
        rd_kafka_conf_set_opaque(conf, told);
        return conf;
}

static void producer_throttle_events(void) {
        struct told told = {0};
        int64_t until = test_now_ms() + 30000;
        rd_kafka_t *rk;

        slow(PRODUCE, 0);
        rk = test_client(RD_KAFKA_PRODUCER, conf_for(&told));
        CHECK_INT(test_produce(rk, "throttled", 0, 0, 1), 0);
        CHECK_INT(told.calls, 0);
        slow(PRODUCE, 30);
        CHECK_INT(test_produce(rk, "throttled", 0, 1, 1), 0);
        while ((told.calls == 0 || told.stats_longest == 0) && test_now_ms() < until)
                rd_kafka_poll(rk, 100);
        CHECK(told.calls >= 1);
        CHECK_INT(told.last, 30);
        CHECK_INT(told.stats_longest, 30);
        /* The end is reported once. */
        slow(PRODUCE, 0);
        CHECK_INT(test_produce(rk, "throttled", 0, 2, 1), 0);
        while (told.last != 0 && test_now_ms() < until)
                rd_kafka_poll(rk, 100);
        told.calls = 0;
        CHECK_INT(told.last, 0);
        CHECK_INT(test_produce(rk, "throttled", 0, 3, 5), 0);
        rd_kafka_poll(rk, 0);
        CHECK_INT(told.calls, 0);
        CHECK_INT(told.longest, 30);
        CHECK_INT(told.wrong, 0);
        CHECK(told.rk == rk);
        rd_kafka_destroy(rk);
}

static void producer_obeys_throttle_time(void) {
        struct told told = {0};
        rd_kafka_conf_t *conf = conf_for(&told);
        int64_t begin;
        rd_kafka_t *rk;

        test_set(conf, "linger.ms", "0");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        slow(PRODUCE, 200);
        begin = test_now_ms();
        CHECK_INT(test_produce(rk, "throttled", 0, 8, 1), 0);
        CHECK_INT(test_produce(rk, "throttled", 0, 9, 1), 0);
        CHECK(test_now_ms() - begin >= 200);
        slow(PRODUCE, 0);
        rd_kafka_destroy(rk);
}

/* There is no event of this: where queues are polled for events, the callback is called on the way. */
static void consumer_throttle_events(void) {
        struct told told = {0};
        rd_kafka_conf_t *conf = conf_for(&told);
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        int64_t until = test_now_ms() + 30000;
        rd_kafka_queue_t *queue;
        rd_kafka_t *rk;

        slow(FETCH, 40);
        test_set(conf, "group.id", "throttled");
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_topic_partition_list_add(list, "throttled", 0)->offset = 0;
        CHECK_OK(rd_kafka_assign(rk, list));
        rd_kafka_topic_partition_list_destroy(list);
        queue = rd_kafka_queue_get_main(rk);
        while ((told.calls == 0 || told.stats_longest == 0) && test_now_ms() < until) {
                rd_kafka_event_t *ev = rd_kafka_queue_poll(queue, 100);
                CHECK(ev == NULL || rd_kafka_event_type(ev) != RD_KAFKA_EVENT_NONE);
                if (ev && rd_kafka_event_type(ev) == RD_KAFKA_EVENT_STATS) {
                        const char *json = rd_kafka_event_stats(ev);
                        on_stats(rk, (char *)json, strlen(json), &told);
                }
                if (ev)
                        rd_kafka_event_destroy(ev);
        }
        rd_kafka_queue_destroy(queue);
        CHECK(told.calls >= 1);
        CHECK_INT(told.longest, 40);
        CHECK_INT(told.stats_longest, 40);
        CHECK_INT(told.wrong, 0);
        slow(FETCH, 0);
        rd_kafka_destroy(rk);
}

int main(void) {
        const struct rd_kafka_metadata *md;
        struct sockaddr_in sin = local(0);
        socklen_t len = sizeof(sin);
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *cluster;
        pthread_t thread;

        test_set(conf, "test.mock.num.brokers", "1");
        cluster = test_client(RD_KAFKA_PRODUCER, conf);
        listener = socket(AF_INET, SOCK_STREAM, 0);
        if (rd_kafka_metadata(cluster, 1, NULL, &md, 10000) ||
            bind(listener, (struct sockaddr *)&sin, sizeof(sin)) || listen(listener, 16) ||
            getsockname(listener, (struct sockaddr *)&sin, &len)) {
                printf("Bail out! no cluster or no relay\n");
                return 1;
        }
        broker_port = md->brokers[0].port;
        relay_port = ntohs(sin.sin_port);
        rd_kafka_metadata_destroy(md);
        pthread_create(&thread, NULL, relay, NULL);
        RUN(producer_throttle_events);
        RUN(producer_obeys_throttle_time);
        RUN(consumer_throttle_events);
        shutdown(listener, SHUT_RDWR);
        pthread_join(thread, NULL);
        close(listener);
        rd_kafka_destroy(cluster);
        return test_end();
}
