/* SASL: user names and tokens, right and wrong; tokens by callback, event, queue and thread; credentials that change. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"
#include <pthread.h>

#define PASSWORD "pass-word-1"
#define CONFIG "principal=alice secret=config-secret"

static pthread_t main_thread;

/* What callbacks have seen. Fields that threads of the library write are read under the lock. */
static struct {
        pthread_mutex_t lock;
        int requests;     /* calls of the token refresh callback, and events for them */
        int elsewhere;    /* requests on other threads than the test's */
        int errors;
        rd_kafka_resp_err_t code;
        char reason[1024];
        char config[128];
        int life_ms;      /* life of the tokens that are set; 0 sets none */
        const char *failure;
        size_t log_size;
        char log[1 << 20];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void forget(void) {
        pthread_mutex_lock(&seen.lock);
        seen.requests = seen.elsewhere = seen.errors = 0;
        seen.code      = RD_KAFKA_RESP_ERR_NO_ERROR;
        seen.reason[0] = seen.config[0] = seen.log[0] = '\0';
        seen.log_size = 0;
        seen.life_ms  = 3600000;
        seen.failure  = NULL;
        pthread_mutex_unlock(&seen.lock);
}

static int requests(void) {
        int cnt;
        pthread_mutex_lock(&seen.lock);
        cnt = seen.requests;
        pthread_mutex_unlock(&seen.lock);
        return cnt;
}

static int is_logged(const char *text) {
        int found;
        pthread_mutex_lock(&seen.lock);
        found = strstr(seen.log, text) != NULL;
        pthread_mutex_unlock(&seen.lock);
        return found;
}

static int64_t wall_ms(void) {
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Writes an unsecured token of the principal alice (RFC 7515, appendix A.5), which the embedded brokers accept. */
static void make_token(char *to, size_t size, int64_t until_ms) {
        static const char *const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        char claims[128], text[256] = "";
        size_t len, i, used = 0;
        len = (size_t)snprintf(claims, sizeof(claims), "{\"sub\":\"alice\",\"exp\":%" PRId64 ".%03d}",
                               until_ms / 1000, (int)(until_ms % 1000));
        for (i = 0; i < len; i += 3) {
                unsigned bits = (unsigned)claims[i] << 16, n;
                bits |= i + 1 < len ? (unsigned)claims[i + 1] << 8 : 0;
                bits |= i + 2 < len ? (unsigned)claims[i + 2] : 0;
                for (n = 0; n < 4 && i + n <= len; n++)
                        text[used++] = digits[bits >> (18 - 6 * n) & 63];
        }
        snprintf(to, size, "eyJhbGciOiJub25lIn0.%s.", text);
}

static rd_kafka_resp_err_t set_token(rd_kafka_t *rk, int life_ms) {
        const char *extensions[] = {"traceId", "a b"};
        int64_t until            = wall_ms() + life_ms;
        char token[320], errstr[256] = "";
        rd_kafka_resp_err_t err;
        make_token(token, sizeof(token), until);
        err = rd_kafka_oauthbearer_set_token(rk, token, until, "alice", extensions, 2, errstr, sizeof(errstr));
        if (err)
                printf("# %s\n", errstr);
        return err;
}

static void on_request(rd_kafka_t *rk, const char *config, void *opaque) {
        const char *failure;
        int life_ms;
        (void)opaque;
        pthread_mutex_lock(&seen.lock);
        seen.requests++;
        seen.elsewhere += !pthread_equal(pthread_self(), main_thread);
        snprintf(seen.config, sizeof(seen.config), "%s", config ? config : "(NULL)");
        life_ms = seen.life_ms;
        failure = seen.failure;
        pthread_mutex_unlock(&seen.lock);
        if (failure)
                CHECK_OK(rd_kafka_oauthbearer_set_token_failure(rk, failure));
        else if (life_ms)
                CHECK_OK(set_token(rk, life_ms));
}

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        (void)rk;
        (void)opaque;
        if (err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
                return;
        seen.errors++;
        seen.code = err;
        snprintf(seen.reason, sizeof(seen.reason), "%s", reason);
}

static void on_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        size_t space;
        int len;
        (void)rk;
        (void)level;
        pthread_mutex_lock(&seen.lock);
        space = sizeof(seen.log) - seen.log_size;
        len   = snprintf(seen.log + seen.log_size, space, "%s: %s\n", fac, buf);
        if (len > 0 && (size_t)len < space)
                seen.log_size += (size_t)len;
        pthread_mutex_unlock(&seen.lock);
}

/* A configuration of a client with an embedded cluster whose brokers want this mechanism. */
static rd_kafka_conf_t *cluster_conf(const char *mechanism, const char *password) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_conf_set_log_cb(conf, on_log);
        rd_kafka_conf_set_error_cb(conf, on_error);
        test_set(conf, "test.mock.num.brokers", "1");
        test_set(conf, "test.mock.sasl.mechanisms", mechanism);
        test_set(conf, "test.mock.sasl.users", "alice:" PASSWORD);
        test_set(conf, "sasl.mechanisms", mechanism);
        test_set(conf, "reconnect.backoff.ms", "20");
        test_set(conf, "reconnect.backoff.max.ms", "100");
        if (password) {
                test_set(conf, "sasl.username", "alice");
                test_set(conf, "sasl.password", password);
        }
        return conf;
}

static rd_kafka_conf_t *token_conf(void) {
        rd_kafka_conf_t *conf = cluster_conf("OAUTHBEARER", NULL);
        test_set(conf, "sasl.oauthbearer.config", CONFIG);
        return conf;
}

static rd_kafka_conf_t *callback_conf(void) {
        rd_kafka_conf_t *conf = token_conf();
        rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, on_request);
        return conf;
}

/* Waits for metadata: the client is authenticated. */
static rd_kafka_resp_err_t connects(rd_kafka_t *rk, int timeout_ms) {
        const struct rd_kafka_metadata *md;
        rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, NULL, &md, timeout_ms);
        if (!err)
                rd_kafka_metadata_destroy(md);
        return err;
}

/* Polls until callbacks have been called that often. */
static void poll_until(rd_kafka_t *rk, const int *count, int wanted, int timeout_ms) {
        int64_t until = test_now_ms() + timeout_ms;
        while (*count < wanted && test_now_ms() < until)
                rd_kafka_poll(rk, 50);
}

/* Compares and ends an error object. */
static void expect_error(rd_kafka_error_t *error, rd_kafka_resp_err_t code, const char *text) {
        REQUIRE(error != NULL);
        CHECK_ERR(rd_kafka_error_code(error), code);
        if (!CHECK(strstr(rd_kafka_error_string(error), text) != NULL))
                printf("# %s\n", rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
}

static void user_names_and_passwords_authenticate(void) {
        static const char *const mechanisms[] = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"};
        size_t i;
        for (i = 0; i < 3; i++) {
                rd_kafka_t *rk;
                forget();
                rk = test_client(RD_KAFKA_PRODUCER, cluster_conf(mechanisms[i], PASSWORD));
                CHECK_INT(test_produce(rk, "t", 0, 0, 10), 0);
                CHECK_INT(seen.errors, 0);
                rd_kafka_destroy(rk);
        }
}

static void a_wrong_password_is_one_error_and_the_right_one_ends_it(void) {
        static const char *const mechanisms[] = {"PLAIN", "SCRAM-SHA-256"};
        size_t i;
        for (i = 0; i < 2; i++) {
                rd_kafka_t *rk;
                int64_t until;
                forget();
                rk = test_client(RD_KAFKA_PRODUCER, cluster_conf(mechanisms[i], "wrong"));
                CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END));
                poll_until(rk, &seen.errors, 1, 20000);
                CHECK_ERR(seen.code, RD_KAFKA_RESP_ERR__AUTHENTICATION);
                if (!CHECK(strstr(seen.reason, "SASL authentication error: ") != NULL) ||
                    !CHECK(strstr(seen.reason, "Authentication failed") != NULL))
                        printf("# %s\n", seen.reason);
                for (until = test_now_ms() + 1500; test_now_ms() < until;)
                        rd_kafka_poll(rk, 50);
                CHECK_INT(seen.errors, 1);
                CHECK(connects(rk, 500) != RD_KAFKA_RESP_ERR_NO_ERROR);
                CHECK(rd_kafka_sasl_set_credentials(rk, "alice", PASSWORD) == NULL);
                CHECK_OK(rd_kafka_flush(rk, 20000));
                CHECK_OK(connects(rk, 20000));
                rd_kafka_destroy(rk);
        }
}

static void a_callback_sets_the_token_in_poll(void) {
        rd_kafka_t *rk;
        forget();
        rk = test_client(RD_KAFKA_PRODUCER, callback_conf());
        CHECK(rd_kafka_queue_get_sasl(rk) == NULL);
        expect_error(rd_kafka_sasl_background_callbacks_enable(rk), RD_KAFKA_RESP_ERR__NOT_CONFIGURED,
                     "rd_kafka_conf_enable_sasl_queue");
        /* Calls that wait and serve no callbacks elsewhere serve none here. */
        CHECK(connects(rk, 300) != RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK_INT(requests(), 0);
        poll_until(rk, &seen.requests, 1, 20000);
        CHECK_INT(seen.requests, 1);
        CHECK_STR(seen.config, CONFIG);
        CHECK_OK(connects(rk, 20000));
        CHECK_INT(seen.elsewhere, 0);
        rd_kafka_destroy(rk);
}

static void a_callback_sets_the_token_in_flush(void) {
        rd_kafka_t *rk;
        forget();
        rk = test_client(RD_KAFKA_PRODUCER, callback_conf());
        CHECK_INT(test_produce(rk, "t", 0, 0, 5), 0);
        CHECK_INT(requests(), 1);
        rd_kafka_destroy(rk);
}

static void a_callback_sets_the_token_in_consumer_poll(void) {
        rd_kafka_conf_t *conf = callback_conf();
        int64_t until         = test_now_ms() + 20000;
        rd_kafka_t *rk;
        forget();
        test_set(conf, "group.id", "g");
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(rk);
        while (!requests() && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 50);
                if (m)
                        rd_kafka_message_destroy(m);
        }
        CHECK_OK(connects(rk, 20000));
        CHECK_INT(seen.elsewhere, 0);
        rd_kafka_destroy(rk);
}

static void a_configuration_that_is_not_set_is_null(void) {
        rd_kafka_conf_t *conf = cluster_conf("OAUTHBEARER", NULL);
        rd_kafka_t *rk;
        forget();
        rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, on_request);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        poll_until(rk, &seen.requests, 1, 20000);
        CHECK_STR(seen.config, "(NULL)");
        rd_kafka_destroy(rk);
}

static void expect_request(rd_kafka_event_t *event) {
        REQUIRE(event != NULL);
        CHECK_INT(rd_kafka_event_type(event), RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH);
        CHECK_STR(rd_kafka_event_name(event), "SaslOAuthBearerTokenRefresh");
        CHECK_STR(rd_kafka_event_config_string(event), CONFIG);
        CHECK_OK(rd_kafka_event_error(event));
        CHECK(rd_kafka_event_stats(event) == NULL);
        CHECK(rd_kafka_event_message_next(event) == NULL);
        CHECK(rd_kafka_event_topic_partition_list(event) == NULL);
        rd_kafka_event_destroy(event);
}

static void an_event_requests_the_token(void) {
        rd_kafka_conf_t *conf = token_conf();
        rd_kafka_queue_t *queue;
        rd_kafka_event_t *event;
        rd_kafka_t *rk;
        forget();
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH | RD_KAFKA_EVENT_ERROR);
        rk    = test_client(RD_KAFKA_PRODUCER, conf);
        queue = rd_kafka_queue_get_main(rk);
        expect_request(rd_kafka_queue_poll(queue, 20000));

        /* A failure is an event, once for each text, and the next request comes after 10 s. */
        CHECK_OK(rd_kafka_oauthbearer_set_token_failure(rk, "no such client"));
        event = rd_kafka_queue_poll(queue, 20000);
        CHECK_INT(rd_kafka_event_type(event), RD_KAFKA_EVENT_ERROR);
        CHECK_ERR(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR__AUTHENTICATION);
        CHECK_STR(rd_kafka_event_error_string(event), "Failed to acquire SASL OAUTHBEARER token: no such client");
        CHECK(rd_kafka_event_config_string(event) == NULL);
        rd_kafka_event_destroy(event);
        CHECK_OK(rd_kafka_oauthbearer_set_token_failure(rk, "no such client"));
        event = rd_kafka_queue_poll(queue, 500);
        CHECK(event == NULL);
        rd_kafka_event_destroy(event);

        CHECK_OK(set_token(rk, 3600000));
        CHECK_OK(connects(rk, 20000));
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(rk);
}

/* A request is the first event of its queue, however many wait: connections may depend on it. */
static void a_request_precedes_other_events(void) {
        rd_kafka_conf_t *conf = token_conf();
        rd_kafka_queue_t *queue;
        rd_kafka_t *rk;
        forget();
        test_set(conf, "statistics.interval.ms", "50");
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_STATS);
        rk    = test_client(RD_KAFKA_PRODUCER, conf);
        queue = rd_kafka_queue_get_main(rk);
        expect_request(rd_kafka_queue_poll(queue, 20000));
        /* The request is due after 1.2 s. */
        CHECK_OK(set_token(rk, 1500));
        test_sleep_ms(3500);
        CHECK(rd_kafka_queue_length(queue) > 5);
        expect_request(rd_kafka_queue_poll(queue, 0));
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(rk);
}

static void a_failure_of_the_callback_is_reported_once_and_a_token_of_another_thread_ends_it(void) {
        int64_t until;
        rd_kafka_t *rk;
        forget();
        seen.failure = "the identity provider is away";
        rk           = test_client(RD_KAFKA_PRODUCER, callback_conf());
        poll_until(rk, &seen.errors, 1, 20000);
        CHECK_ERR(seen.code, RD_KAFKA_RESP_ERR__AUTHENTICATION);
        CHECK_STR(seen.reason, "Failed to acquire SASL OAUTHBEARER token: the identity provider is away");
        for (until = test_now_ms() + 30000; test_now_ms() < until && seen.requests < 2;)
                rd_kafka_poll(rk, 50);
        CHECK_INT(seen.requests, 2);
        CHECK_INT(seen.errors, 1);
        CHECK_OK(set_token(rk, 3600000));
        CHECK_OK(connects(rk, 20000));
        rd_kafka_destroy(rk);
}

static void the_sasl_queue_serves_requests_and_poll_does_not(void) {
        rd_kafka_conf_t *conf = callback_conf();
        rd_kafka_queue_t *queue;
        rd_kafka_t *rk;
        char value[16];
        size_t size = sizeof(value);
        forget();
        rd_kafka_conf_enable_sasl_queue(conf, 1);
        CHECK_INT(rd_kafka_conf_get(conf, "enable_sasl_queue", value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, "true");
        rk    = test_client(RD_KAFKA_PRODUCER, conf);
        queue = rd_kafka_queue_get_sasl(rk);
        REQUIRE(queue != NULL);
        rd_kafka_poll(rk, 300);
        CHECK_INT(requests(), 0);
        CHECK(rd_kafka_queue_poll_callback(queue, 20000) == 1);
        CHECK_INT(requests(), 1);
        CHECK_OK(connects(rk, 20000));
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(rk);

        /* The same as an event. */
        conf = token_conf();
        rd_kafka_conf_enable_sasl_queue(conf, 1);
        rk    = test_client(RD_KAFKA_PRODUCER, conf);
        queue = rd_kafka_queue_get_sasl(rk);
        expect_request(rd_kafka_queue_poll(queue, 20000));
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(rk);

        /* Only with OAUTHBEARER. */
        conf = cluster_conf("PLAIN", PASSWORD);
        rd_kafka_conf_enable_sasl_queue(conf, 1);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK(rd_kafka_queue_get_sasl(rk) == NULL);
        expect_error(rd_kafka_sasl_background_callbacks_enable(rk), RD_KAFKA_RESP_ERR__NOT_CONFIGURED, "OAUTHBEARER");
        rd_kafka_destroy(rk);

        conf = callback_conf();
        rd_kafka_conf_enable_sasl_queue(conf, 1);
        rd_kafka_conf_enable_sasl_queue(conf, 0);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK(rd_kafka_queue_get_sasl(rk) == NULL);
        rd_kafka_destroy(rk);
}

static void the_background_thread_calls_the_callback(void) {
        rd_kafka_conf_t *conf = callback_conf();
        rd_kafka_t *rk;
        forget();
        rd_kafka_conf_enable_sasl_queue(conf, 1);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK(rd_kafka_sasl_background_callbacks_enable(rk) == NULL);
        CHECK(rd_kafka_sasl_background_callbacks_enable(rk) == NULL);
        CHECK_OK(connects(rk, 20000));
        CHECK_INT(requests(), 1);
        CHECK_INT(seen.elsewhere, 1);
        rd_kafka_destroy(rk);
}

static void on_background_event(rd_kafka_t *rk, rd_kafka_event_t *event, void *opaque) {
        if (CHECK_INT(rd_kafka_event_type(event), RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH))
                on_request(rk, rd_kafka_event_config_string(event), opaque);
        rd_kafka_event_destroy(event);
}

static void the_background_callback_receives_the_event(void) {
        rd_kafka_conf_t *conf = token_conf();
        rd_kafka_t *rk;
        forget();
        rd_kafka_conf_enable_sasl_queue(conf, 1);
        rd_kafka_conf_set_background_event_cb(conf, on_background_event);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK(rd_kafka_sasl_background_callbacks_enable(rk) == NULL);
        CHECK_OK(connects(rk, 20000));
        CHECK_INT(seen.elsewhere, 1);
        rd_kafka_destroy(rk);
}

static void tokens_are_refreshed_and_sessions_renewed_before_their_end(void) {
        int64_t begin;
        rd_kafka_t *rk;
        int i;
        forget();
        seen.life_ms = 6000;
        rk           = test_client(RD_KAFKA_PRODUCER, callback_conf());
        for (i = 0, begin = test_now_ms(); seen.requests < 3 && test_now_ms() - begin < 40000; i++)
                CHECK_INT(test_produce(rk, "t", 0, i, 1), 0);
        /* At 0, 4.8 and 9.6 seconds, unless the machine is slow. */
        CHECK_INT(seen.requests, 3);
        if (!CHECK(test_now_ms() - begin >= 8000))
                printf("# 3 requests in %" PRId64 " ms\n", test_now_ms() - begin);
        /* Beyond the end of the second token. */
        for (begin = test_now_ms(); test_now_ms() - begin < 2000; i++)
                CHECK_INT(test_produce(rk, "t", 0, i, 1), 0);
        CHECK_INT(seen.errors, 0);
        rd_kafka_destroy(rk);
}

static void a_token_that_brokers_refuse_is_an_error(void) {
        rd_kafka_t *rk;
        forget();
        seen.life_ms = 0;
        rk           = test_client(RD_KAFKA_PRODUCER, callback_conf());
        CHECK_OK(rd_kafka_oauthbearer_set_token(rk, "opaque", wall_ms() + 60000, "alice", NULL, 0, NULL, 0));
        CHECK(connects(rk, 1000) != RD_KAFKA_RESP_ERR_NO_ERROR);
        poll_until(rk, &seen.errors, 1, 20000);
        CHECK_ERR(seen.code, RD_KAFKA_RESP_ERR__AUTHENTICATION);
        if (!CHECK(strstr(seen.reason, "invalid_token") != NULL))
                printf("# %s\n", seen.reason);
        CHECK_OK(set_token(rk, 60000));
        CHECK_OK(connects(rk, 20000));
        rd_kafka_destroy(rk);
}

/* Expects RD_KAFKA_RESP_ERR__INVALID_ARG for a token with these extensions, and a text. */
static void refuses(rd_kafka_t *rk, const char *token, int64_t until, const char *principal, const char **extensions,
                    size_t cnt, const char *text) {
        char errstr[256] = "";
        CHECK_ERR(rd_kafka_oauthbearer_set_token(rk, token, until, principal, extensions, cnt, errstr, sizeof(errstr)),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        if (!CHECK(strstr(errstr, text) != NULL))
                printf("# %s\n", errstr);
        CHECK_ERR(rd_kafka_oauthbearer_set_token(rk, token, until, principal, extensions, cnt, NULL, 0),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
}

static void arguments_of_tokens_are_checked(void) {
        const char *digit[] = {"k1", "v"}, *auth[] = {"auth", "v"}, *value[] = {"k", "a\x01"};
        const char *null_name[] = {NULL, "v"}, *null_value[] = {"k", NULL}, *good[] = {"k", "v", "other", "w"};
        const char *bytes[] = {"k", "\xff"}, *empty[] = {"", "v"};
        int64_t later       = wall_ms() + 60000;
        char errstr[8];
        rd_kafka_t *rk;
        forget();
        rk = test_client(RD_KAFKA_PRODUCER, token_conf());
        refuses(rk, "t", later, "me", good, 1, "1 extension");
        refuses(rk, "t", later, "me", good, 3, "3 extension");
        refuses(rk, "t", later, "me", NULL, 2, "extensions is NULL");
        refuses(rk, "t", later, "me", null_name, 2, "extension 1");
        refuses(rk, "t", later, "me", null_value, 2, "NULL");
        refuses(rk, "t", later, "me", bytes, 2, "UTF-8");
        refuses(rk, "t", later, "me", digit, 2, "k1");
        refuses(rk, "t", later, "me", auth, 2, "auth");
        refuses(rk, "t", later, "me", empty, 2, "");
        refuses(rk, "t", later, "me", value, 2, "");
        refuses(rk, "t", wall_ms() - 1, "me", good, 2, "1970");
        refuses(rk, "t", 0, "me", good, 2, "1970");
        refuses(rk, "t", INT64_MIN, "me", good, 2, "1970");
        refuses(rk, NULL, later, "me", good, 2, "NULL");
        refuses(rk, "t", later, NULL, good, 2, "NULL");
        refuses(rk, "\xff", later, "me", good, 2, "UTF-8");
        refuses(rk, "", later, "me", good, 2, "");
        refuses(rk, "a\x01" "b", later, "me", good, 2, "");
        CHECK_ERR(rd_kafka_oauthbearer_set_token(rk, NULL, 1, NULL, NULL, 1, errstr, sizeof(errstr)),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_INT(strlen(errstr), sizeof(errstr) - 1);
        CHECK_ERR(rd_kafka_oauthbearer_set_token_failure(rk, NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_oauthbearer_set_token_failure(rk, ""), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(rd_kafka_oauthbearer_set_token(rk, "t", later, "me", good, 4, NULL, 0));
        CHECK_OK(rd_kafka_oauthbearer_set_token(rk, "t", INT64_MAX, "", NULL, 0, NULL, 0));
        rd_kafka_destroy(rk);
}

static void clients_with_other_mechanisms_refuse_tokens(void) {
        rd_kafka_conf_t *plain_text = test_conf();
        rd_kafka_t *clients[2];
        int i;
        forget();
        test_set(plain_text, "test.mock.num.brokers", "1");
        clients[0] = test_client(RD_KAFKA_PRODUCER, plain_text);
        clients[1] = test_client(RD_KAFKA_PRODUCER, cluster_conf("PLAIN", PASSWORD));
        for (i = 0; i < 2; i++) {
                char errstr[256] = "";
                CHECK_ERR(rd_kafka_oauthbearer_set_token(clients[i], "t", wall_ms() + 60000, "me", NULL, 1, errstr,
                                                         sizeof(errstr)),
                          RD_KAFKA_RESP_ERR__STATE);
                CHECK(strstr(errstr, "OAUTHBEARER") != NULL);
                CHECK_ERR(rd_kafka_oauthbearer_set_token_failure(clients[i], "none"), RD_KAFKA_RESP_ERR__STATE);
                CHECK(rd_kafka_sasl_set_credentials(clients[i], "alice", PASSWORD) == NULL);
                rd_kafka_destroy(clients[i]);
        }
}

static void null_and_empty_credentials_are_refused(void) {
        rd_kafka_t *rk;
        forget();
        rk = test_client(RD_KAFKA_PRODUCER, cluster_conf("PLAIN", PASSWORD));
        expect_error(rd_kafka_sasl_set_credentials(rk, NULL, "b"), RD_KAFKA_RESP_ERR__INVALID_ARG, "NULL");
        expect_error(rd_kafka_sasl_set_credentials(rk, "a", NULL), RD_KAFKA_RESP_ERR__INVALID_ARG, "NULL");
        expect_error(rd_kafka_sasl_set_credentials(rk, "", "b"), RD_KAFKA_RESP_ERR__INVALID_ARG, "empty");
        expect_error(rd_kafka_sasl_set_credentials(rk, "a", ""), RD_KAFKA_RESP_ERR__INVALID_ARG, "empty");
        CHECK_OK(connects(rk, 20000));
        rd_kafka_destroy(rk);
        expect_error(rd_kafka_sasl_set_credentials(NULL, "a", "b"), RD_KAFKA_RESP_ERR__INVALID_ARG, "");
        expect_error(rd_kafka_sasl_background_callbacks_enable(NULL), RD_KAFKA_RESP_ERR__INVALID_ARG, "");
        CHECK(rd_kafka_queue_get_sasl(NULL) == NULL);
        CHECK(rd_kafka_event_config_string(NULL) == NULL);
        CHECK_ERR(rd_kafka_oauthbearer_set_token(NULL, "t", 1, "me", NULL, 0, NULL, 0), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_oauthbearer_set_token_failure(NULL, "x"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_conf_enable_sasl_queue(NULL, 1);
}

static void a_client_that_never_polls_is_warned_about(void) {
        rd_kafka_t *rk;
        int64_t until = test_now_ms() + 20000;
        forget();
        rk = test_client(RD_KAFKA_PRODUCER, callback_conf());
        CHECK(connects(rk, 500) != RD_KAFKA_RESP_ERR_NO_ERROR);
        while (!is_logged("for the first token") && test_now_ms() < until)
                test_sleep_ms(100);
        if (!CHECK(is_logged("for the first token")))
                printf("# %s\n", seen.log);
        CHECK_INT(requests(), 0);
        rd_kafka_destroy(rk);
}

static void a_client_without_callback_is_warned_about_in_poll(void) {
        rd_kafka_t *rk;
        forget();
        rk = test_client(RD_KAFKA_PRODUCER, token_conf());
        CHECK_INT(rd_kafka_poll(rk, 20000), 1);
        CHECK(is_logged("oauthbearer_token_refresh_cb"));
        CHECK_OK(set_token(rk, 60000));
        CHECK_OK(connects(rk, 20000));
        rd_kafka_destroy(rk);
}

static void *change_credentials(void *rk) {
        int i;
        for (i = 0; i < 100; i++)
                if (!CHECK(rd_kafka_sasl_set_credentials(rk, "alice", PASSWORD) == NULL))
                        break;
        return NULL;
}

static void threads_change_credentials_while_sessions_are_renewed(void) {
        enum { CNT = 10 };
        rd_kafka_conf_t *conf = cluster_conf("SCRAM-SHA-256", PASSWORD);
        pthread_t threads[CNT];
        rd_kafka_t *rk;
        int i;
        forget();
        test_set(conf, "test.mock.sasl.max.reauth.ms", "6000");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        for (i = 0; i < CNT; i++)
                CHECK_INT(pthread_create(&threads[i], NULL, change_credentials, rk), 0);
        CHECK_INT(test_produce(rk, "t", 0, 0, 500), 0);
        for (i = 0; i < CNT; i++)
                pthread_join(threads[i], NULL);
        for (i = 0; i < 14; i++) {
                test_sleep_ms(500);
                CHECK_INT(test_produce(rk, "t", 0, 500 + i, 1), 0);
        }
        CHECK_INT(seen.errors, 0);
        rd_kafka_destroy(rk);
}

/* No secret in the log at debug=all. `conf` is used up. */
static void expect_no_secret(rd_kafka_conf_t *conf) {
        static const char *const secrets[] = {PASSWORD, "other-pass", "config-secret", "client-secret", "key-passphrase",
                                              "eyJhbGciOiJub25lIn0", "store-pass", "pem-phrase"};
        rd_kafka_t *rk;
        size_t i;
        forget();
        test_set(conf, "debug", "all");
        test_set(conf, "ssl.key.password", "key-passphrase");
        test_set(conf, "ssl.keystore.password", "store-pass");
        test_set(conf, "sasl.oauthbearer.client.secret", "client-secret");
        test_set(conf, "sasl.oauthbearer.assertion.private.key.passphrase", "pem-phrase");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        rd_kafka_poll(rk, 200);
        CHECK_INT(test_produce(rk, "t", 0, 0, 3), 0);
        CHECK(rd_kafka_sasl_set_credentials(rk, "alice", "other-pass") == NULL);
        CHECK_INT(test_produce(rk, "t", 0, 0, 3), 0);
        rd_kafka_destroy(rk);
        CHECK(is_logged("[redacted]"));
        CHECK(is_logged("SaslAuthenticate"));
        /* The log was kept whole. */
        CHECK(seen.log_size + 4096 < sizeof(seen.log));
        for (i = 0; i < sizeof(secrets) / sizeof(*secrets); i++)
                if (!CHECK(!is_logged(secrets[i])))
                        printf("# %s\n", secrets[i]);
}

static void no_secret_is_logged(void) {
        rd_kafka_conf_t *conf;
        expect_no_secret(cluster_conf("PLAIN", PASSWORD));
        expect_no_secret(cluster_conf("SCRAM-SHA-512", PASSWORD));
        expect_no_secret(callback_conf());
        conf = cluster_conf("OAUTHBEARER", NULL);
        test_set(conf, "sasl.oauthbearer.config", "principal=alice extension_secret=config-secret");
        test_set(conf, "enable.sasl.oauthbearer.unsecure.jwt", "true");
        expect_no_secret(conf);
}

/* A dump and a read have the values: the application has set them. */
static void sensitive_values_can_be_read_back(void) {
        rd_kafka_conf_t *conf = cluster_conf("PLAIN", PASSWORD);
        char value[64];
        size_t size = sizeof(value), cnt, i;
        const char **dump = rd_kafka_conf_dump(conf, &cnt);
        int found = 0;
        for (i = 0; i + 1 < cnt; i += 2)
                found += !strcmp(dump[i], "sasl.password") && !strcmp(dump[i + 1], PASSWORD);
        rd_kafka_conf_dump_free(dump, cnt);
        CHECK_INT(found, 1);
        CHECK_INT(rd_kafka_conf_get(conf, "sasl.password", value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, PASSWORD);
        rd_kafka_conf_destroy(conf);
}

int main(void) {
        main_thread = pthread_self();
        RUN(user_names_and_passwords_authenticate);
        RUN(a_wrong_password_is_one_error_and_the_right_one_ends_it);
        RUN(a_callback_sets_the_token_in_poll);
        RUN(a_callback_sets_the_token_in_flush);
        RUN(a_callback_sets_the_token_in_consumer_poll);
        RUN(a_configuration_that_is_not_set_is_null);
        RUN(an_event_requests_the_token);
        RUN(a_request_precedes_other_events);
        RUN(a_failure_of_the_callback_is_reported_once_and_a_token_of_another_thread_ends_it);
        RUN(the_sasl_queue_serves_requests_and_poll_does_not);
        RUN(the_background_thread_calls_the_callback);
        RUN(the_background_callback_receives_the_event);
        RUN(tokens_are_refreshed_and_sessions_renewed_before_their_end);
        RUN(a_token_that_brokers_refuse_is_an_error);
        RUN(arguments_of_tokens_are_checked);
        RUN(clients_with_other_mechanisms_refuse_tokens);
        RUN(null_and_empty_credentials_are_refused);
        RUN(a_client_that_never_polls_is_warned_about);
        RUN(a_client_without_callback_is_warned_about_in_poll);
        RUN(threads_change_credentials_while_sessions_are_renewed);
        RUN(no_secret_is_logged);
        RUN(sensitive_values_can_be_read_back);
        return test_end();
}
