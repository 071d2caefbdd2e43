/* TLS: brokers and clients with certificates, certificates from memory, the application's check, renewal, errors. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"
#include <ottla.h>

#define FOLDER "tests/c/certificates/"

/* The contents of a file in memory. */
typedef struct {
        char *bytes;
        size_t size;
} contents_t;

static contents_t read_file(const char *path) {
        contents_t c = {NULL, 0};
        FILE *f      = fopen(path, "rb");
        long size;
        if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
                printf("Bail out! %s: %s\n", path, strerror(errno));
                exit(1);
        }
        c.bytes = malloc((size_t)size + 1);
        c.size  = fread(c.bytes, 1, (size_t)size, f);
        c.bytes[c.size] = '\0';
        fclose(f);
        return c;
}

/* A client with an embedded cluster whose brokers have the certificate NAME.pem. */
static rd_kafka_conf_t *cluster_conf(const char *name) {
        rd_kafka_conf_t *conf = test_conf();
        char path[128];
        test_set(conf, "test.mock.num.brokers", "1");
        test_set(conf, "test.mock.ssl", "true");
        snprintf(path, sizeof(path), FOLDER "%s.pem", name);
        test_set(conf, "test.mock.ssl.certificate.location", path);
        snprintf(path, sizeof(path), FOLDER "%s.key", name);
        test_set(conf, "test.mock.ssl.key.location", path);
        return conf;
}

/* The same, with brokers that require certificates of the clients' authority. */
static rd_kafka_conf_t *mutual_conf(void) {
        rd_kafka_conf_t *conf = cluster_conf("broker");
        test_set(conf, "ssl.ca.location", FOLDER "ca.pem");
        test_set(conf, "test.mock.ssl.client.ca.location", FOLDER "client_ca.pem");
        return conf;
}

/* Waits for metadata: the client can talk to its broker. */
static rd_kafka_resp_err_t connects(rd_kafka_t *rk, int timeout_ms) {
        const struct rd_kafka_metadata *md;
        rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, NULL, &md, timeout_ms);
        if (!err)
                rd_kafka_metadata_destroy(md);
        return err;
}

static void expect_connection(rd_kafka_conf_t *conf) {
        rd_kafka_t *rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_OK(connects(rk, 20000));
        rd_kafka_destroy(rk);
}

static char last_error[1024];
static int errors;

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        (void)rk;
        (void)opaque;
        if (err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
                return;
        errors++;
        snprintf(last_error, sizeof(last_error), "%s: %s", rd_kafka_err2name(err), reason);
}

/* A client that cannot connect reports one error, with these texts in it. */
static void expect_failure(rd_kafka_conf_t *conf, const char *code, const char *first, const char *second) {
        int64_t until = test_now_ms() + 20000;
        rd_kafka_t *rk;
        errors        = 0;
        last_error[0] = '\0';
        test_set(conf, "reconnect.backoff.ms", "10");
        test_set(conf, "reconnect.backoff.max.ms", "50");
        rd_kafka_conf_set_error_cb(conf, on_error);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        while (!errors && test_now_ms() < until)
                rd_kafka_poll(rk, 100);
        if (!CHECK(strncmp(last_error, code, strlen(code)) == 0) || !CHECK(strstr(last_error, first) != NULL) ||
            !CHECK(strstr(last_error, second) != NULL))
                printf("# %s\n", last_error);
        /* Further attempts fail for the same reason, and are not reported again. */
        for (until = test_now_ms() + 500; test_now_ms() < until;)
                rd_kafka_poll(rk, 50);
        CHECK_INT(errors, 1);
        rd_kafka_destroy(rk);
}

static int delivered;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)opaque;
        if (CHECK_OK(m->err))
                delivered++;
}

static void produces_and_consumes_large_and_small_messages(void) {
        enum { CNT = 200 };
        static char payload[200000];
        rd_kafka_conf_t *conf              = test_conf(), *consumer_conf;
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        const struct rd_kafka_metadata *md;
        rd_kafka_t *p, *c;
        char servers[64], ca[64] = FOLDER "ca.pem";
        int i, seen = 0;
        int64_t until = test_now_ms() + 40000;

        rd_kafka_conf_destroy(conf);
        conf = cluster_conf("broker");
        test_set(conf, "ssl.ca.location", ca);
        test_set(conf, "message.max.bytes", "1000000");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        p = test_client(RD_KAFKA_PRODUCER, conf);
        for (i = 0; i < CNT; i++) {
                size_t size = i % 10 ? 10 : sizeof(payload);
                memset(payload, 'a' + i % 26, size);
                CHECK_OK(rd_kafka_producev(p, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_PARTITION(0),
                                           RD_KAFKA_V_VALUE(payload, size),
                                           RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END));
        }
        CHECK_OK(rd_kafka_flush(p, 30000));
        CHECK_INT(delivered, CNT);

        CHECK_OK(rd_kafka_metadata(p, 0, NULL, &md, 20000));
        snprintf(servers, sizeof(servers), "%s:%d", md->brokers[0].host, md->brokers[0].port);
        rd_kafka_metadata_destroy(md);
        consumer_conf = test_conf();
        test_set(consumer_conf, "bootstrap.servers", servers);
        test_set(consumer_conf, "security.protocol", "ssl");
        test_set(consumer_conf, "ssl.ca.location", ca);
        test_set(consumer_conf, "group.id", "g");
        c = test_client(RD_KAFKA_CONSUMER, consumer_conf);
        rd_kafka_topic_partition_list_add(l, "t", 0)->offset = 0;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        while (seen < CNT && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 200);
                if (!m)
                        continue;
                if (CHECK_OK(m->err)) {
                        CHECK_INT(m->len, seen % 10 ? 10 : sizeof(payload));
                        CHECK_INT(((char *)m->payload)[m->len - 1], 'a' + seen % 26);
                        seen++;
                }
                rd_kafka_message_destroy(m);
        }
        CHECK_INT(seen, CNT);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
        rd_kafka_destroy(p);
}

static void a_generated_certificate_is_trusted(void) {
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "test.mock.num.brokers", "3");
        test_set(conf, "test.mock.ssl", "true");
        expect_connection(conf);
}

static void certificates_from_files_texts_and_memory_authenticate_the_client(void) {
        static const struct {
                const char *certificate, *key, *password;
                rd_kafka_cert_enc_t enc;
        } memory[] = {
            {FOLDER "client.pem", FOLDER "client.key", NULL, RD_KAFKA_CERT_ENC_PEM},
            {FOLDER "client.pem", FOLDER "client_encrypted.key", "secret", RD_KAFKA_CERT_ENC_PEM},
            {FOLDER "client.der", FOLDER "client_key.der", NULL, RD_KAFKA_CERT_ENC_DER},
            {FOLDER "client.p12", FOLDER "client.p12", "secret", RD_KAFKA_CERT_ENC_PKCS12},
        };
        contents_t certificate = read_file(FOLDER "client.pem"), key = read_file(FOLDER "client.key");
        contents_t ca          = read_file(FOLDER "ca.pem");
        rd_kafka_conf_t *conf, *copy;
        char errstr[256];
        size_t i;

        conf = mutual_conf();
        test_set(conf, "ssl.certificate.location", FOLDER "client.pem");
        test_set(conf, "ssl.key.location", FOLDER "client_encrypted.key");
        test_set(conf, "ssl.key.password", "secret");
        expect_connection(conf);

        conf = mutual_conf();
        test_set(conf, "ssl.certificate.pem", certificate.bytes);
        test_set(conf, "ssl.key.pem", key.bytes);
        test_set(conf, "ssl.ca.pem", ca.bytes);
        expect_connection(conf);

        conf = mutual_conf();
        test_set(conf, "ssl.keystore.location", FOLDER "client.p12");
        test_set(conf, "ssl.keystore.password", "secret");
        expect_connection(conf);

        for (i = 0; i < sizeof(memory) / sizeof(*memory); i++) {
                contents_t c = read_file(memory[i].certificate), k = read_file(memory[i].key);
                conf         = mutual_conf();
                if (memory[i].password)
                        test_set(conf, "ssl.key.password", memory[i].password);
                CHECK_INT(rd_kafka_conf_set_ssl_cert(conf, RD_KAFKA_CERT_PUBLIC_KEY, memory[i].enc, c.bytes,
                                                     c.size, errstr, sizeof(errstr)),
                          RD_KAFKA_CONF_OK);
                CHECK_INT(rd_kafka_conf_set_ssl_cert(conf, RD_KAFKA_CERT_PRIVATE_KEY, memory[i].enc, k.bytes,
                                                     k.size, errstr, sizeof(errstr)),
                          RD_KAFKA_CONF_OK);
                memset(c.bytes, 0, c.size);
                free(c.bytes);
                free(k.bytes);
                copy = rd_kafka_conf_dup(conf);
                rd_kafka_conf_destroy(conf);
                expect_connection(copy);
        }
        free(certificate.bytes);
        free(key.bytes);
        free(ca.bytes);
}

static void authorities_from_memory_replace_the_files(void) {
        rd_kafka_conf_t *conf = cluster_conf("broker");
        contents_t ca         = read_file(FOLDER "ca.pem");
        char errstr[256];
        CHECK_INT(rd_kafka_conf_set_ssl_cert(conf, RD_KAFKA_CERT_CA, RD_KAFKA_CERT_ENC_PEM, ca.bytes, ca.size,
                                             errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        expect_connection(rd_kafka_conf_dup(conf));
        test_set(conf, "ssl.ca.location", FOLDER "ca.pem");
        CHECK(rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr)) == NULL);
        CHECK(strstr(errstr, "ssl.ca.location") != NULL);
        /* NULL removes them. */
        CHECK_INT(rd_kafka_conf_set_ssl_cert(conf, RD_KAFKA_CERT_CA, RD_KAFKA_CERT_ENC_PEM, NULL, 0, errstr,
                                             sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        expect_connection(conf);
        free(ca.bytes);
}

static void unreadable_certificates_are_refused_at_once(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        contents_t key        = read_file(FOLDER "client_encrypted.key");
        char errstr[256]      = "";
        CHECK_INT(rd_kafka_conf_set_ssl_cert(conf, RD_KAFKA_CERT_CA, RD_KAFKA_CERT_ENC_PEM, "x", 1, errstr,
                                             sizeof(errstr)),
                  RD_KAFKA_CONF_INVALID);
        CHECK(strncmp(errstr, "Failed to read PEM CA (encoding PEM): ", 38) == 0);
        CHECK_INT(rd_kafka_conf_set_ssl_cert(conf, RD_KAFKA_CERT_PRIVATE_KEY, RD_KAFKA_CERT_ENC_PEM, key.bytes,
                                             key.size, errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_INVALID);
        CHECK(strstr(errstr, "password") != NULL);
        CHECK_INT(rd_kafka_conf_set_ssl_cert(conf, RD_KAFKA_CERT__CNT, RD_KAFKA_CERT_ENC_PEM, "x", 1, errstr,
                                             sizeof(errstr)),
                  RD_KAFKA_CONF_INVALID);
        CHECK_INT(rd_kafka_conf_set_ssl_cert(conf, RD_KAFKA_CERT_CA, RD_KAFKA_CERT_ENC__CNT, "x", 1, NULL, 0),
                  RD_KAFKA_CONF_INVALID);
        free(key.bytes);
        rd_kafka_conf_destroy(conf);
}

static void unusable_settings_refuse_the_client_with_their_property(void) {
        static const struct {
                const char *name, *value, *name2, *value2, *text;
        } cases[] = {
            {"ssl.ca.location", "/no/such", NULL, NULL, "ssl.ca.location failed: /no/such: No such file"},
            {"ssl.ca.location", FOLDER "client.key", NULL, NULL, "ssl.ca.location failed: " FOLDER "client.key: "},
            {"ssl.certificate.location", FOLDER "client.pem", "ssl.key.location", FOLDER "broker.key",
             "does not belong to the certificate"},
            {"ssl.certificate.location", FOLDER "client.pem", "ssl.key.location", FOLDER "client_encrypted.key",
             "needs a password"},
            {"ssl.keystore.location", FOLDER "client.p12", "ssl.keystore.password", "wrong",
             "ssl.keystore.location failed: " FOLDER "client.p12: the password is wrong"},
            {"ssl.cipher.suites", "RC4-MD5", NULL, NULL, "ssl.cipher.suites failed: "},
            {"ssl.curves.list", "no-such-curve", NULL, NULL, "ssl.curves.list failed: "},
            {"ssl.sigalgs.list", "no+such", NULL, NULL, "ssl.sigalgs.list failed: "},
            {"ssl.engine.location", "/e.so", NULL, NULL, "ssl.engine.location"},
            {"ssl.providers", "fips", NULL, NULL, "ssl.providers"},
        };
        size_t i;
        for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                rd_kafka_conf_t *conf = test_conf();
                char errstr[512]      = "";
                test_set(conf, "bootstrap.servers", "127.0.0.1:1");
                test_set(conf, cases[i].name, cases[i].value);
                if (cases[i].name2)
                        test_set(conf, cases[i].name2, cases[i].value2);
                /* They do not matter to a plaintext client. */
                rd_kafka_destroy(test_client(RD_KAFKA_PRODUCER, rd_kafka_conf_dup(conf)));
                test_set(conf, "security.protocol", "ssl");
                CHECK(rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr)) == NULL);
                CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
                if (!CHECK(strstr(errstr, cases[i].text) != NULL))
                        printf("# %s\n", errstr);
                rd_kafka_conf_destroy(conf);
        }
}

static void a_failed_handshake_is_reported_once_with_its_cause(void) {
        rd_kafka_conf_t *conf = cluster_conf("broker");
        test_set(conf, "ssl.ca.location", FOLDER "client_ca.pem");
        expect_failure(conf, "_SSL", "SSL handshake failed: certificate verify failed: ", "ssl.ca.location");

        conf = cluster_conf("elsewhere");
        test_set(conf, "ssl.ca.location", FOLDER "ca.pem");
        expect_failure(conf, "_SSL", "elsewhere", "127.0.0.1");

        conf = mutual_conf();
        expect_failure(conf, "_SSL", "alert number", "ssl.certificate.location");
}

static void names_and_chains_are_checked_as_configured(void) {
        rd_kafka_conf_t *conf = cluster_conf("elsewhere");
        test_set(conf, "ssl.ca.location", FOLDER "ca.pem");
        test_set(conf, "ssl.endpoint.identification.algorithm", "none");
        expect_connection(conf);
        conf = cluster_conf("elsewhere");
        test_set(conf, "enable.ssl.certificate.verification", "false");
        expect_connection(conf);
}

static int verify_calls, verify_depths, verify_answer, verify_forgives;

static int on_verify(rd_kafka_t *rk,
                     const char *broker_name,
                     int32_t broker_id,
                     int *x509_error,
                     int depth,
                     const char *buf,
                     size_t size,
                     char *errstr,
                     size_t errstr_size,
                     void *opaque) {
        CHECK(rk != NULL && opaque == &verify_calls);
        CHECK(strstr(broker_name, "127.0.0.1:") == broker_name);
        CHECK(broker_id == -1 || broker_id == 1);
        CHECK(size > 100 && buf[0] == 0x30);
        verify_calls++;
        verify_depths |= 1 << depth;
        if (verify_forgives)
                *x509_error = 0;
        if (!verify_answer)
                snprintf(errstr, errstr_size, "not today");
        return verify_answer;
}

static rd_kafka_conf_t *verify_conf(const char *broker, const char *ca, int answer, int forgives) {
        rd_kafka_conf_t *conf = cluster_conf(broker);
        test_set(conf, "ssl.ca.location", ca);
        rd_kafka_conf_set_opaque(conf, &verify_calls);
        CHECK_INT(rd_kafka_conf_set_ssl_cert_verify_cb(conf, on_verify), RD_KAFKA_CONF_OK);
        verify_calls = verify_depths = 0;
        verify_answer                = answer;
        verify_forgives              = forgives;
        return conf;
}

static void the_verify_callback_sees_the_chain_and_decides(void) {
        expect_connection(verify_conf("broker", FOLDER "ca.pem", 1, 0));
        CHECK(verify_calls >= 2);
        CHECK_INT(verify_depths, 3);
        expect_failure(verify_conf("broker", FOLDER "ca.pem", 0, 0), "_SSL", "not today", "");
        /* It forgives a name and an unknown authority. */
        expect_connection(verify_conf("elsewhere", FOLDER "ca.pem", 1, 1));
        expect_connection(verify_conf("broker", FOLDER "client_ca.pem", 1, 1));
        expect_failure(verify_conf("broker", FOLDER "client_ca.pem", 1, 0), "_SSL", "certificate verify failed", "");
}

static void a_running_clients_certificates_are_replaced(void) {
        rd_kafka_conf_t *conf = cluster_conf("broker"), *with = rd_kafka_conf_new();
        contents_t ca   = read_file(FOLDER "ca.pem"), key = read_file(FOLDER "client.key");
        contents_t cert = read_file(FOLDER "client.pem"), foreign = read_file(FOLDER "broker.key");
        rd_kafka_t *rk, *plain;
        rd_kafka_error_t *error;

        test_set(conf, "ssl.ca.location", FOLDER "client_ca.pem");
        test_set(conf, "test.mock.ssl.client.ca.location", FOLDER "client_ca.pem");
        test_set(conf, "reconnect.backoff.ms", "10");
        test_set(conf, "reconnect.backoff.max.ms", "50");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK(connects(rk, 500) != RD_KAFKA_RESP_ERR_NO_ERROR);

        error = rd_kafka_ssl_certs_replace(rk, with);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        rd_kafka_conf_set_ssl_cert(with, RD_KAFKA_CERT_PUBLIC_KEY, RD_KAFKA_CERT_ENC_PEM, cert.bytes, cert.size,
                                   NULL, 0);
        error = rd_kafka_ssl_certs_replace(rk, with);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        rd_kafka_conf_set_ssl_cert(with, RD_KAFKA_CERT_PRIVATE_KEY, RD_KAFKA_CERT_ENC_PEM, foreign.bytes,
                                   foreign.size, NULL, 0);
        error = rd_kafka_ssl_certs_replace(rk, with);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(strstr(rd_kafka_error_string(error), "does not belong") != NULL);
        rd_kafka_error_destroy(error);
        CHECK(connects(rk, 300) != RD_KAFKA_RESP_ERR_NO_ERROR);

        rd_kafka_conf_set_ssl_cert(with, RD_KAFKA_CERT_PRIVATE_KEY, RD_KAFKA_CERT_ENC_PEM, key.bytes, key.size,
                                   NULL, 0);
        rd_kafka_conf_set_ssl_cert(with, RD_KAFKA_CERT_CA, RD_KAFKA_CERT_ENC_PEM, ca.bytes, ca.size, NULL, 0);
        CHECK(rd_kafka_ssl_certs_replace(rk, with) == NULL);
        CHECK_OK(connects(rk, 20000));

        plain = test_client(RD_KAFKA_PRODUCER, test_conf());
        error = rd_kafka_ssl_certs_replace(plain, with);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__NOT_CONFIGURED);
        rd_kafka_error_destroy(error);
        rd_kafka_destroy(plain);
        rd_kafka_destroy(rk);
        rd_kafka_conf_destroy(with);
        free(ca.bytes);
        free(key.bytes);
        free(cert.bytes);
        free(foreign.bytes);
}

static int log_lines, log_secrets;

static void on_log(const rd_kafka_t *rk, int level, const char *fac, const char *text) {
        (void)rk;
        (void)level;
        (void)fac;
        log_lines++;
        log_secrets += strstr(text, "PRIVATE KEY") != NULL || strstr(text, "hunter2") != NULL;
}

static void secrets_are_not_logged(void) {
        rd_kafka_conf_t *conf = mutual_conf();
        contents_t key = read_file(FOLDER "client.key"), certificate = read_file(FOLDER "client.pem");
        char value[4096];
        size_t size = sizeof(value);
        test_set(conf, "ssl.certificate.pem", certificate.bytes);
        test_set(conf, "ssl.key.pem", key.bytes);
        test_set(conf, "ssl.key.password", "hunter2");
        test_set(conf, "debug", "all");
        rd_kafka_conf_set_log_cb(conf, on_log);
        CHECK_INT(rd_kafka_conf_get(conf, "builtin.features", value, &size), RD_KAFKA_CONF_OK);
        CHECK(strstr(value, "ssl") != NULL);
        expect_connection(conf);
        CHECK(log_lines > 10);
        CHECK_INT(log_secrets, 0);
        free(key.bytes);
        free(certificate.bytes);
}

static void engine_data_is_refused(void) {
        rd_kafka_conf_t *conf = test_conf();
        char errstr[256]      = "";
        rd_kafka_conf_set_engine_callback_data(conf, errstr);
        test_set(conf, "security.protocol", "ssl");
        CHECK(rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr)) == NULL);
        CHECK(strstr(errstr, "OpenSSL") != NULL);
        rd_kafka_conf_destroy(conf);
}

int main(void) {
        RUN(produces_and_consumes_large_and_small_messages);
        RUN(a_generated_certificate_is_trusted);
        RUN(certificates_from_files_texts_and_memory_authenticate_the_client);
        RUN(authorities_from_memory_replace_the_files);
        RUN(unreadable_certificates_are_refused_at_once);
        RUN(unusable_settings_refuse_the_client_with_their_property);
        RUN(a_failed_handshake_is_reported_once_with_its_cause);
        RUN(names_and_chains_are_checked_as_configured);
        RUN(the_verify_callback_sees_the_chain_and_decides);
        RUN(a_running_clients_certificates_are_replaced);
        RUN(secrets_are_not_logged);
        RUN(engine_data_is_refused);
        return test_end();
}
