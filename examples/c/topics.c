/*
 * Administers topics and lists groups.
 *
 *     topics BROKERS create TOPIC PARTITIONS REPLICAS [NAME=VALUE...]
 *     topics BROKERS grow TOPIC PARTITIONS
 *     topics BROKERS describe TOPIC
 *     topics BROKERS set TOPIC NAME=VALUE...      (NAME alone gives it its default)
 *     topics BROKERS delete TOPIC
 *     topics BROKERS groups
 *
 * PARTITIONS and REPLICAS may be -1 for the broker's defaults. describe writes the settings that
 * the topic does not have by default, groups the groups with their states and types. Exits with 1
 * when a broker refuses what was asked, and says why on stderr.
 */

#include <rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char errstr[512];

static void must(int ok, const char *why) {
        if (!ok) {
                fprintf(stderr, "topics: %s\n", why);
                exit(1);
        }
}

/* The result of the call that was made, which has not failed as a whole. */
static rd_kafka_event_t *result(rd_kafka_queue_t *queue) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, -1);
        must(event != NULL, "no result");
        must(!rd_kafka_event_error(event), rd_kafka_event_error_string(event));
        return event;
}

static void check_topic(const rd_kafka_topic_result_t **topics, size_t cnt) {
        must(cnt == 1, "no topic in the result");
        must(!rd_kafka_topic_result_error(topics[0]), rd_kafka_topic_result_error_string(topics[0]));
}

static void check_resource(const rd_kafka_ConfigResource_t **resources, size_t cnt) {
        must(cnt == 1, "no topic in the result");
        must(!rd_kafka_ConfigResource_error(resources[0]),
             rd_kafka_ConfigResource_error_string(resources[0]));
}

static void create(rd_kafka_t *rk, rd_kafka_queue_t *queue, char **arg, int args) {
        rd_kafka_NewTopic_t *topic =
            rd_kafka_NewTopic_new(arg[0], atoi(arg[1]), atoi(arg[2]), errstr, sizeof(errstr));
        const rd_kafka_topic_result_t **topics;
        rd_kafka_event_t *event;
        size_t cnt;
        int i;

        must(topic != NULL, errstr);
        for (i = 3; i < args; i++) {
                char *value = strchr(arg[i], '=');
                must(value != NULL, "settings are NAME=VALUE");
                *value++ = '\0';
                rd_kafka_NewTopic_set_config(topic, arg[i], value);
        }
        rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
        rd_kafka_NewTopic_destroy(topic);
        event  = result(queue);
        topics = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &cnt);
        check_topic(topics, cnt);
        rd_kafka_event_destroy(event);
}

static void grow(rd_kafka_t *rk, rd_kafka_queue_t *queue, char **arg) {
        rd_kafka_NewPartitions_t *more =
            rd_kafka_NewPartitions_new(arg[0], (size_t)atoi(arg[1]), errstr, sizeof(errstr));
        const rd_kafka_topic_result_t **topics;
        rd_kafka_event_t *event;
        size_t cnt;

        must(more != NULL, errstr);
        rd_kafka_CreatePartitions(rk, &more, 1, NULL, queue);
        rd_kafka_NewPartitions_destroy(more);
        event = result(queue);
        topics =
            rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &cnt);
        check_topic(topics, cnt);
        rd_kafka_event_destroy(event);
}

static void delete (rd_kafka_t *rk, rd_kafka_queue_t *queue, char **arg) {
        rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(arg[0]);
        const rd_kafka_topic_result_t **topics;
        rd_kafka_event_t *event;
        size_t cnt;

        rd_kafka_DeleteTopics(rk, &topic, 1, NULL, queue);
        rd_kafka_DeleteTopic_destroy(topic);
        event  = result(queue);
        topics = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &cnt);
        check_topic(topics, cnt);
        rd_kafka_event_destroy(event);
}

static void describe(rd_kafka_t *rk, rd_kafka_queue_t *queue, char **arg) {
        rd_kafka_ConfigResource_t *topic = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, arg[0]);
        const rd_kafka_ConfigResource_t **resources;
        const rd_kafka_ConfigEntry_t **entries;
        rd_kafka_event_t *event;
        size_t cnt, i;

        rd_kafka_DescribeConfigs(rk, &topic, 1, NULL, queue);
        rd_kafka_ConfigResource_destroy(topic);
        event = result(queue);
        resources =
            rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &cnt);
        check_resource(resources, cnt);
        entries = rd_kafka_ConfigResource_configs(resources[0], &cnt);
        for (i = 0; i < cnt; i++) {
                const char *value = rd_kafka_ConfigEntry_value(entries[i]);
                if (!rd_kafka_ConfigEntry_is_default(entries[i]))
                        printf("%s=%s (%s)\n", rd_kafka_ConfigEntry_name(entries[i]), value ? value : "",
                               rd_kafka_ConfigSource_name(rd_kafka_ConfigEntry_source(entries[i])));
        }
        rd_kafka_event_destroy(event);
}

static void set(rd_kafka_t *rk, rd_kafka_queue_t *queue, char **arg, int args) {
        rd_kafka_ConfigResource_t *topic = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, arg[0]);
        const rd_kafka_ConfigResource_t **resources;
        rd_kafka_event_t *event;
        size_t cnt;
        int i;

        for (i = 1; i < args; i++) {
                rd_kafka_AlterConfigOpType_t op = RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE;
                char *value                     = strchr(arg[i], '=');
                rd_kafka_error_t *error;

                if (value) {
                        *value++ = '\0';
                        op       = RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET;
                }
                error = rd_kafka_ConfigResource_add_incremental_config(topic, arg[i], op, value);
                must(!error, rd_kafka_error_string(error));
        }
        rd_kafka_IncrementalAlterConfigs(rk, &topic, 1, NULL, queue);
        rd_kafka_ConfigResource_destroy(topic);
        event     = result(queue);
        resources = rd_kafka_IncrementalAlterConfigs_result_resources(
            rd_kafka_event_IncrementalAlterConfigs_result(event), &cnt);
        check_resource(resources, cnt);
        rd_kafka_event_destroy(event);
}

static void groups(rd_kafka_t *rk, rd_kafka_queue_t *queue) {
        const rd_kafka_ListConsumerGroups_result_t *listing;
        const rd_kafka_ConsumerGroupListing_t **found;
        const rd_kafka_error_t **errors;
        rd_kafka_event_t *event;
        size_t cnt, i;

        rd_kafka_ListConsumerGroups(rk, NULL, queue);
        event   = result(queue);
        listing = rd_kafka_event_ListConsumerGroups_result(event);
        found   = rd_kafka_ListConsumerGroups_result_valid(listing, &cnt);
        for (i = 0; i < cnt; i++)
                printf("%s %s %s\n", rd_kafka_ConsumerGroupListing_group_id(found[i]),
                       rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupListing_state(found[i])),
                       rd_kafka_consumer_group_type_name(rd_kafka_ConsumerGroupListing_type(found[i])));
        errors = rd_kafka_ListConsumerGroups_result_errors(listing, &cnt);
        must(cnt == 0, cnt ? rd_kafka_error_string(errors[0]) : "");
        rd_kafka_event_destroy(event);
}

int main(int argc, char **argv) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        const char *what      = argc > 2 ? argv[2] : "";
        char **arg            = argv + 3;
        int args              = argc - 3;
        rd_kafka_queue_t *queue;
        rd_kafka_t *rk;

        if (argc < 3) {
                fprintf(stderr, "usage: topics BROKERS create|grow|describe|set|delete|groups ...\n");
                return 2;
        }
        must(rd_kafka_conf_set(conf, "bootstrap.servers", argv[1], errstr, sizeof(errstr)) ==
                 RD_KAFKA_CONF_OK,
             errstr);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
        must(rk != NULL, errstr);
        queue = rd_kafka_queue_new(rk);

        if (!strcmp(what, "create") && args >= 3)
                create(rk, queue, arg, args);
        else if (!strcmp(what, "grow") && args == 2)
                grow(rk, queue, arg);
        else if (!strcmp(what, "describe") && args == 1)
                describe(rk, queue, arg);
        else if (!strcmp(what, "set") && args >= 2)
                set(rk, queue, arg, args);
        else if (!strcmp(what, "delete") && args == 1)
                delete (rk, queue, arg);
        else if (!strcmp(what, "groups") && args == 0)
                groups(rk, queue);
        else
                must(0, "there is no such command, or not with these arguments");

        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(rk);
        return 0;
}
