/*
 * Administers topics.
 *
 *     admin_topics BROKERS create TOPIC PARTITIONS REPLICAS [NAME=VALUE...]
 *     admin_topics BROKERS list
 *     admin_topics BROKERS describe TOPIC...
 *     admin_topics BROKERS alter TOPIC PARTITIONS
 *     admin_topics BROKERS set TOPIC NAME=VALUE...      (NAME alone resets it to its default)
 *     admin_topics BROKERS delete TOPIC...
 *
 * PARTITIONS and REPLICAS of a new topic may be -1 for the broker's defaults. describe prints the
 * partitions, and the settings that the topic does not have by default. Exit status: 0, 1 for an
 * error of the brokers, 2 for wrong arguments.
 */

#include "admin.h"

static void check_topics(const rd_kafka_topic_result_t **topics, size_t cnt) {
        size_t i;
        for (i = 0; i < cnt; i++)
                report(rd_kafka_topic_result_name(topics[i]), rd_kafka_topic_result_error(topics[i]),
                       rd_kafka_topic_result_error_string(topics[i]));
}

static void create(char **arg, int args) {
        rd_kafka_AdminOptions_t *o = options(RD_KAFKA_ADMIN_OP_CREATETOPICS);
        rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(arg[0], (int)number(arg[1], -1, INT_MAX),
                                                           (int)number(arg[2], -1, INT_MAX), errstr,
                                                           sizeof(errstr));
        const rd_kafka_topic_result_t **topics;
        rd_kafka_event_t *event;
        size_t cnt;
        int i;

        if (!topic)
                wrong(arg[0], errstr);
        for (i = 3; i < args; i++) {
                char *value = strchr(arg[i], '=');
                if (!value)
                        wrong(arg[i], "settings are NAME=VALUE");
                *value++ = '\0';
                rd_kafka_NewTopic_set_config(topic, arg[i], value);
        }
        rd_kafka_CreateTopics(rk, &topic, 1, o, queue);
        rd_kafka_NewTopic_destroy(topic);
        event  = result(o);
        topics = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &cnt);
        check_topics(topics, cnt);
        rd_kafka_event_destroy(event);
}

static void list(void) {
        const rd_kafka_metadata_t *metadata;
        rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 1, NULL, &metadata, 30000);
        int i;

        report("topics", err, NULL);
        if (err)
                return;
        for (i = 0; i < metadata->topic_cnt; i++)
                printf("%s\n", metadata->topics[i].topic);
        rd_kafka_metadata_destroy(metadata);
}

static void print_brokers(const char *what, const rd_kafka_Node_t **nodes, size_t cnt) {
        size_t i;
        printf(", %s", what);
        for (i = 0; i < cnt; i++)
                printf(" %d", rd_kafka_Node_id(nodes[i]));
}

static void print_topic(const rd_kafka_TopicDescription_t *topic) {
        const rd_kafka_TopicPartitionInfo_t **partitions;
        size_t cnt, i, node_cnt;

        partitions = rd_kafka_TopicDescription_partitions(topic, &cnt);
        printf("%s: %d partitions\n", rd_kafka_TopicDescription_name(topic), (int)cnt);
        for (i = 0; i < cnt; i++) {
                const rd_kafka_Node_t *leader = rd_kafka_TopicPartitionInfo_leader(partitions[i]);
                const rd_kafka_Node_t **nodes;

                printf("  partition %d: leader %d", rd_kafka_TopicPartitionInfo_partition(partitions[i]),
                       leader ? rd_kafka_Node_id(leader) : -1);
                nodes = rd_kafka_TopicPartitionInfo_replicas(partitions[i], &node_cnt);
                print_brokers("replicas", nodes, node_cnt);
                nodes = rd_kafka_TopicPartitionInfo_isr(partitions[i], &node_cnt);
                print_brokers("in sync", nodes, node_cnt);
                printf("\n");
        }
}

/* Prints the settings that a topic has of its own. */
static void print_settings(const char *name) {
        rd_kafka_AdminOptions_t *o       = options(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
        rd_kafka_ConfigResource_t *topic = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name);
        const rd_kafka_ConfigResource_t **resources;
        const rd_kafka_ConfigEntry_t **entries = NULL;
        rd_kafka_event_t *event;
        size_t cnt, entry_cnt = 0, i;

        rd_kafka_DescribeConfigs(rk, &topic, 1, o, queue);
        rd_kafka_ConfigResource_destroy(topic);
        event = result(o);
        resources =
            rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &cnt);
        if (cnt == 1) {
                report(name, rd_kafka_ConfigResource_error(resources[0]),
                       rd_kafka_ConfigResource_error_string(resources[0]));
                entries = rd_kafka_ConfigResource_configs(resources[0], &entry_cnt);
        }
        for (i = 0; i < entry_cnt; i++) {
                const char *value = rd_kafka_ConfigEntry_value(entries[i]);
                if (rd_kafka_ConfigEntry_source(entries[i]) ==
                    RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG)
                        printf("  %s=%s\n", rd_kafka_ConfigEntry_name(entries[i]), value ? value : "");
        }
        rd_kafka_event_destroy(event);
}

static void describe(char **arg, int args) {
        rd_kafka_AdminOptions_t *o = options(RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
        rd_kafka_TopicCollection_t *names =
            rd_kafka_TopicCollection_of_topic_names((const char **)arg, (size_t)args);
        const rd_kafka_TopicDescription_t **topics;
        rd_kafka_event_t *event;
        size_t cnt, i;

        if (!names)
                wrong("TOPIC", "a name is not UTF-8");
        rd_kafka_DescribeTopics(rk, names, o, queue);
        rd_kafka_TopicCollection_destroy(names);
        event  = result(o);
        topics = rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &cnt);
        for (i = 0; i < cnt; i++) {
                const rd_kafka_error_t *error = rd_kafka_TopicDescription_error(topics[i]);
                report_error(rd_kafka_TopicDescription_name(topics[i]), error);
                if (!error) {
                        print_topic(topics[i]);
                        print_settings(rd_kafka_TopicDescription_name(topics[i]));
                }
        }
        rd_kafka_event_destroy(event);
}

static void alter(char **arg) {
        rd_kafka_AdminOptions_t *o = options(RD_KAFKA_ADMIN_OP_CREATEPARTITIONS);
        rd_kafka_NewPartitions_t *more =
            rd_kafka_NewPartitions_new(
            arg[0], (size_t)number(arg[1], 1, INT_MAX), errstr, sizeof(errstr));
        const rd_kafka_topic_result_t **topics;
        rd_kafka_event_t *event;
        size_t cnt;

        if (!more)
                wrong(arg[1], errstr);
        rd_kafka_CreatePartitions(rk, &more, 1, o, queue);
        rd_kafka_NewPartitions_destroy(more);
        event = result(o);
        topics =
            rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &cnt);
        check_topics(topics, cnt);
        rd_kafka_event_destroy(event);
}

static void set(char **arg, int args) {
        rd_kafka_AdminOptions_t *o       = options(RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS);
        rd_kafka_ConfigResource_t *topic = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, arg[0]);
        const rd_kafka_ConfigResource_t **resources;
        rd_kafka_event_t *event;
        size_t cnt, i;
        int n;

        for (n = 1; n < args; n++) {
                rd_kafka_AlterConfigOpType_t op = RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE;
                char *value                     = strchr(arg[n], '=');
                rd_kafka_error_t *error;

                if (value) {
                        *value++ = '\0';
                        op       = RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET;
                }
                error = rd_kafka_ConfigResource_add_incremental_config(topic, arg[n], op, value);
                if (error)
                        wrong(arg[n], rd_kafka_error_string(error));
        }
        rd_kafka_IncrementalAlterConfigs(rk, &topic, 1, o, queue);
        rd_kafka_ConfigResource_destroy(topic);
        event     = result(o);
        resources = rd_kafka_IncrementalAlterConfigs_result_resources(
            rd_kafka_event_IncrementalAlterConfigs_result(event), &cnt);
        for (i = 0; i < cnt; i++)
                report(arg[0], rd_kafka_ConfigResource_error(resources[i]),
                       rd_kafka_ConfigResource_error_string(resources[i]));
        rd_kafka_event_destroy(event);
}

static void delete (char **arg, int args) {
        rd_kafka_AdminOptions_t *o      = options(RD_KAFKA_ADMIN_OP_DELETETOPICS);
        rd_kafka_DeleteTopic_t **topics = calloc((size_t)args, sizeof(*topics));
        const rd_kafka_topic_result_t **deleted;
        rd_kafka_event_t *event;
        size_t cnt;
        int i;

        for (i = 0; i < args; i++)
                topics[i] = rd_kafka_DeleteTopic_new(arg[i]);
        rd_kafka_DeleteTopics(rk, topics, (size_t)args, o, queue);
        rd_kafka_DeleteTopic_destroy_array(topics, (size_t)args);
        free(topics);
        event   = result(o);
        deleted = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &cnt);
        check_topics(deleted, cnt);
        rd_kafka_event_destroy(event);
}

int main(int argc, char **argv) {
        const char *what = argc > 2 ? argv[2] : "";
        char **arg       = argv + 3;
        int args         = argc - 3;

        program = "admin_topics";
        if (argc < 3) {
                fprintf(stderr, "usage: admin_topics BROKERS create|list|describe|alter|set|delete ...\n");
                return 2;
        }
        connect_to(argv[1]);
        if (!strcmp(what, "create") && args >= 3)
                create(arg, args);
        else if (!strcmp(what, "list") && args == 0)
                list();
        else if (!strcmp(what, "describe") && args >= 1)
                describe(arg, args);
        else if (!strcmp(what, "alter") && args == 2)
                alter(arg);
        else if (!strcmp(what, "set") && args >= 2)
                set(arg, args);
        else if (!strcmp(what, "delete") && args >= 1)
                delete (arg, args);
        else
                wrong(what, "no such command, or not with these arguments");
        return disconnect();
}
