/* Operations on the settings of topics, brokers and groups. */

#ifndef OTTLA_TESTS_REAL_ADMIN_CONFIGS_H
#define OTTLA_TESTS_REAL_ADMIN_CONFIGS_H

#include "call.h"

static rd_kafka_ConfigResource_t *resource(char **argument) {
    char *type = part(argument), *name = part(argument);
    rd_kafka_ResourceType_t number = !strcmp(type, "topic")    ? RD_KAFKA_RESOURCE_TOPIC
                                     : !strcmp(type, "broker") ? RD_KAFKA_RESOURCE_BROKER
                                     : !strcmp(type, "group")  ? RD_KAFKA_RESOURCE_GROUP
                                                               : RD_KAFKA_RESOURCE_UNKNOWN;
    return rd_kafka_ConfigResource_new(number, name);
}

/* Makes a resource of TYPE|NAME[|SETTING=VALUE]... */
static void *set_resource(char *argument) {
    rd_kafka_ConfigResource_t *found = resource(&argument);
    for (char *setting; (setting = strsep(&argument, "|")) != NULL;) {
        char *value = value_of(setting);
        need_ok(setting, rd_kafka_ConfigResource_set_config(found, setting, value), "refused");
    }
    return found;
}

/* Makes a resource of TYPE|NAME[|SETTING]... for a description. */
static void *named_resource(char *argument) {
    rd_kafka_ConfigResource_t *found = resource(&argument);
    for (char *setting; (setting = strsep(&argument, "|")) != NULL;)
        need_ok(setting, rd_kafka_ConfigResource_set_config(found, setting, ""), "refused");
    return found;
}

/* Makes a resource of TYPE|NAME[|OPERATION SETTING=VALUE]..., where OPERATION is one of the characters = (sets), - (deletes),
 * + (appends), ~ (subtracts). */
static void *changed_resource(char *argument) {
    rd_kafka_ConfigResource_t *found = resource(&argument);
    for (char *setting; (setting = strsep(&argument, "|")) != NULL;) {
        char operation = *setting++, *value = value_of(setting);
        rd_kafka_AlterConfigOpType_t type = operation == '='   ? RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET
                                            : operation == '-' ? RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE
                                            : operation == '+' ? RD_KAFKA_ALTER_CONFIG_OP_TYPE_APPEND
                                                               : RD_KAFKA_ALTER_CONFIG_OP_TYPE_SUBTRACT;
        const char *given = operation == '-' ? NULL : value;
        need_no_error(setting, rd_kafka_ConfigResource_add_incremental_config(found, setting, type, given));
    }
    return found;
}

static void alter_configs(Call *call) {
    CALL_WITH(call, rd_kafka_ConfigResource, set_resource, rd_kafka_AlterConfigs);
}

static void incremental_alter_configs(Call *call) {
    CALL_WITH(call, rd_kafka_ConfigResource, changed_resource, rd_kafka_IncrementalAlterConfigs);
}

static void describe_configs(Call *call) {
    CALL_WITH(call, rd_kafka_ConfigResource, named_resource, rd_kafka_DescribeConfigs);
}

static void print_entry(const rd_kafka_ConfigEntry_t *entry) {
    size_t cnt = 0;
    const rd_kafka_ConfigEntry_t **synonyms = rd_kafka_ConfigEntry_synonyms(entry, &cnt);
    json_open(rd_kafka_ConfigEntry_name(entry), '{');
    json_str("value", rd_kafka_ConfigEntry_value(entry));
    json_int("source", rd_kafka_ConfigEntry_source(entry));
    json_int("read_only", rd_kafka_ConfigEntry_is_read_only(entry));
    json_int("sensitive", rd_kafka_ConfigEntry_is_sensitive(entry));
    json_int("default", rd_kafka_ConfigEntry_is_default(entry));
    json_open("synonyms", '[');
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '[');
        json_str(NULL, rd_kafka_ConfigEntry_name(synonyms[i]));
        json_str(NULL, rd_kafka_ConfigEntry_value(synonyms[i]));
        json_int(NULL, rd_kafka_ConfigEntry_source(synonyms[i]));
        json_close(']');
    }
    json_close(']');
    json_close('}');
}

static void print_resources(const rd_kafka_ConfigResource_t **resources, size_t cnt, int has_entries) {
    for (size_t i = 0; i < cnt; i++) {
        size_t entry_cnt = 0;
        const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resources[i], &entry_cnt);
        json_open(NULL, '{');
        json_str("type", rd_kafka_ResourceType_name(rd_kafka_ConfigResource_type(resources[i])));
        json_str("name", rd_kafka_ConfigResource_name(resources[i]));
        json_int("code", rd_kafka_ConfigResource_error(resources[i]));
        json_str("text", rd_kafka_ConfigResource_error_string(resources[i]));
        if (has_entries && !rd_kafka_ConfigResource_error(resources[i])) {
            json_open("entries", '{');
            for (size_t e = 0; e < entry_cnt; e++)
                print_entry(entries[e]);
            json_close('}');
        }
        json_close('}');
    }
}

static void print_alter_configs(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ConfigResource_t **resources =
        rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &cnt);
    print_resources(resources, cnt, 0);
}

static void print_incremental_alter_configs(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ConfigResource_t **resources =
        rd_kafka_IncrementalAlterConfigs_result_resources(rd_kafka_event_IncrementalAlterConfigs_result(event), &cnt);
    print_resources(resources, cnt, 0);
}

static void print_describe_configs(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ConfigResource_t **resources =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &cnt);
    print_resources(resources, cnt, 1);
}

#endif
