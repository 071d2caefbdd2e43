/* Plugins, with the one of the examples, which counts what a client does. */
#include "test.h"

/* The output path of `make examples`, without the extension, which the library adds. */
#define PLUGIN "./build/bin/plugins/traffic"

static char file[64];

static int set(rd_kafka_conf_t *conf, const char *name, const char *value, char *errstr) {
        errstr[0] = '\0';
        return rd_kafka_conf_set(conf, name, value, errstr, 512);
}

static void plugin_properties(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char errstr[512], value[128];
        size_t size = sizeof(value);

        CHECK_INT(set(conf, "traffic.file", file, errstr), RD_KAFKA_CONF_UNKNOWN);
        CHECK_INT(set(conf, "plugin.library.paths", PLUGIN, errstr), RD_KAFKA_CONF_OK);
        CHECK_STR(errstr, "");
        CHECK_INT(rd_kafka_conf_get(conf, "plugin.library.paths", value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, PLUGIN);
        CHECK_INT(set(conf, "traffic.file", file, errstr), RD_KAFKA_CONF_OK);
        CHECK_INT(set(conf, "traffic.file", "", errstr), RD_KAFKA_CONF_INVALID);
        CHECK_STR(errstr, "traffic.file is the name of a file");
        CHECK_INT(set(conf, "traffic.lights", "red", errstr), RD_KAFKA_CONF_INVALID);
        CHECK_INT(set(conf, "client.id", "me", errstr), RD_KAFKA_CONF_OK);
        rd_kafka_conf_destroy(conf);
}

static void invalid_plugin_fails(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char errstr[512], value[128];
        size_t size = sizeof(value);

        CHECK_INT(set(conf, "plugin.library.paths", "/nowhere/spy", errstr), RD_KAFKA_CONF_INVALID);
        CHECK(strstr(errstr, "/nowhere/spy.so") != NULL);
        CHECK_INT(set(conf, "plugin.library.paths", PLUGIN ";libc.so.6", errstr),
                  RD_KAFKA_CONF_INVALID);
        CHECK(strstr(errstr, "libc.so.6") && strstr(errstr, "conf_init"));
        CHECK(rd_kafka_conf_get(conf, "plugin.library.paths", value, &size) != RD_KAFKA_CONF_OK ||
              !value[0]);
        rd_kafka_conf_destroy(conf);
}

static void plugin_counts_traffic(void) {
        rd_kafka_conf_t *conf = test_conf(), *copy;
        unsigned long long sent, sent_bytes, delivered, failed, consumed, consumed_bytes, commits,
                connections, requests, request_bytes, responses;
        char servers[512], line[512] = "";
        rd_kafka_t *rk;
        FILE *from;

        test_set(conf, "plugin.library.paths", PLUGIN ";" PLUGIN);
        test_set(conf, "traffic.file", file);
        /* The copy's plugin has the file from the old one. */
        copy = rd_kafka_conf_dup(conf);
        rd_kafka_conf_destroy(conf);
        rk = test_cluster(copy, servers, sizeof(servers));
        CHECK_INT(test_produce(rk, "counted", 0, 0, 100), 0);
        rd_kafka_destroy(rk);
        from = fopen(file, "r");
        REQUIRE(from != NULL);
        REQUIRE(fgets(line, sizeof(line), from) != NULL);
        fclose(from);
        CHECK_INT(sscanf(line,
                         "traffic: %llu messages sent (%llu bytes), %llu delivered, %llu failed; "
                         "%llu consumed (%llu bytes), %llu commits; %llu connections, "
                         "%llu requests (%llu bytes), %llu responses",
                         &sent, &sent_bytes, &delivered, &failed, &consumed, &consumed_bytes,
                         &commits, &connections, &requests, &request_bytes, &responses),
                  11);
        CHECK_INT(sent, 100);
        CHECK_INT(sent_bytes, 2 * (10 + 90 * 2));
        CHECK_INT(delivered, 100);
        CHECK_INT(failed + consumed + consumed_bytes + commits, 0);
        CHECK(connections >= 1 && requests >= 4 && responses == requests && request_bytes > 380);
}

int main(void) {
        snprintf(file, sizeof(file), "/tmp/ottla-traffic-%d.txt", (int)getpid());
        RUN(plugin_properties);
        RUN(invalid_plugin_fails);
        RUN(plugin_counts_traffic);
        remove(file);
        return test_end();
}
