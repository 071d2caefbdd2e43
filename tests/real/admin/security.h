/* Operations on access control entries and SCRAM credentials. */

#ifndef OTTLA_TESTS_REAL_ADMIN_SECURITY_H
#define OTTLA_TESTS_REAL_ADMIN_SECURITY_H

#include "call.h"

/* Parts of TYPE|NAME|PATTERN|PRINCIPAL|HOST|OPERATION|PERMISSION; all but the names are Kafka's numbers. An empty name is
 * NULL. */
typedef struct {
    int type, pattern, operation, permission;
    const char *name, *principal, *host;
} Acl;

static const char *name_or_null(char *text) {
    return *text ? text : NULL;
}

static Acl acl_parts(char *argument) {
    Acl acl;
    acl.type       = (int)number(part(&argument));
    acl.name       = name_or_null(part(&argument));
    acl.pattern    = (int)number(part(&argument));
    acl.principal  = name_or_null(part(&argument));
    acl.host       = name_or_null(part(&argument));
    acl.operation  = (int)number(part(&argument));
    acl.permission = (int)number(part(&argument));
    return acl;
}

static void *binding(char *argument) {
    char reason[256];
    Acl acl    = acl_parts(argument);
    void *made = rd_kafka_AclBinding_new(
        (rd_kafka_ResourceType_t)acl.type, acl.name, (rd_kafka_ResourcePatternType_t)acl.pattern, acl.principal, acl.host,
        (rd_kafka_AclOperation_t)acl.operation, (rd_kafka_AclPermissionType_t)acl.permission, reason, sizeof(reason));
    if (made == NULL)
        wrong("binding", reason);
    return made;
}

static void *filter(char *argument) {
    char reason[256];
    Acl acl    = acl_parts(argument);
    void *made = rd_kafka_AclBindingFilter_new(
        (rd_kafka_ResourceType_t)acl.type, acl.name, (rd_kafka_ResourcePatternType_t)acl.pattern, acl.principal, acl.host,
        (rd_kafka_AclOperation_t)acl.operation, (rd_kafka_AclPermissionType_t)acl.permission, reason, sizeof(reason));
    if (made == NULL)
        wrong("filter", reason);
    return made;
}

static void create_acls(Call *call) {
    CALL_WITH(call, rd_kafka_AclBinding, binding, rd_kafka_CreateAcls);
}

static void delete_acls(Call *call) {
    CALL_WITH(call, rd_kafka_AclBinding, filter, rd_kafka_DeleteAcls);
}

static void describe_acls(Call *call) {
    if (call->argc != 1)
        wrong("DescribeAcls", "not one filter");
    rd_kafka_AclBindingFilter_t *one = filter(call->argv[0]);
    begin(call);
    rd_kafka_DescribeAcls(call->rk, one, call->options, call->queue);
    rd_kafka_AclBinding_destroy(one);
}

static void print_create_acls(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_acl_result_t **rows = rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        print_error(rd_kafka_acl_result_error(rows[i]));
        json_close('}');
    }
}

static void print_bindings(const rd_kafka_AclBinding_t **acls, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_int("type", rd_kafka_AclBinding_restype(acls[i]));
        json_str("name", rd_kafka_AclBinding_name(acls[i]));
        json_int("pattern", rd_kafka_AclBinding_resource_pattern_type(acls[i]));
        json_str("principal", rd_kafka_AclBinding_principal(acls[i]));
        json_str("host", rd_kafka_AclBinding_host(acls[i]));
        json_int("operation", rd_kafka_AclBinding_operation(acls[i]));
        json_int("permission", rd_kafka_AclBinding_permission_type(acls[i]));
        json_close('}');
    }
}

static void print_describe_acls(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_AclBinding_t **acls =
        rd_kafka_DescribeAcls_result_acls(rd_kafka_event_DescribeAcls_result(event), &cnt);
    print_bindings(acls, cnt);
}

static void print_delete_acls(rd_kafka_event_t *event) {
    size_t cnt = 0, acl_cnt = 0;
    const rd_kafka_DeleteAcls_result_response_t **rows =
        rd_kafka_DeleteAcls_result_responses(rd_kafka_event_DeleteAcls_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_AclBinding_t **acls = rd_kafka_DeleteAcls_result_response_matching_acls(rows[i], &acl_cnt);
        json_open(NULL, '{');
        print_error(rd_kafka_DeleteAcls_result_response_error(rows[i]));
        json_open("acls", '[');
        print_bindings(acls, acl_cnt);
        json_close(']');
        json_close('}');
    }
}

/* ---- SCRAM credentials --------------------------------------------------- */

static void describe_scram(Call *call) {
    begin(call);
    rd_kafka_DescribeUserScramCredentials(call->rk, (const char **)call->argv, call->argc, call->options, call->queue);
}

static void print_describe_scram(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_UserScramCredentialsDescription_t **users = rd_kafka_DescribeUserScramCredentials_result_descriptions(
        rd_kafka_event_DescribeUserScramCredentials_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("user", rd_kafka_UserScramCredentialsDescription_user(users[i]));
        print_error(rd_kafka_UserScramCredentialsDescription_error(users[i]));
        json_open("credentials", '[');
        for (size_t c = 0; c < rd_kafka_UserScramCredentialsDescription_scramcredentialinfo_count(users[i]); c++) {
            const rd_kafka_ScramCredentialInfo_t *info =
                rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(users[i], c);
            json_open(NULL, '[');
            json_int(NULL, rd_kafka_ScramCredentialInfo_mechanism(info));
            json_int(NULL, rd_kafka_ScramCredentialInfo_iterations(info));
            json_close(']');
        }
        json_close(']');
        json_close('}');
    }
}

/* Makes a change of USER|MECHANISM, which deletes, or USER|MECHANISM|ITERATIONS|PASSWORD, which sets; MECHANISM is Kafka's
 * number. */
static void *scram_change(char *argument) {
    char *user = part(&argument);
    rd_kafka_ScramMechanism_t mechanism = (rd_kafka_ScramMechanism_t)number(part(&argument));
    if (argument == NULL)
        return rd_kafka_UserScramCredentialDeletion_new(user, mechanism);
    int32_t iterations = (int32_t)number(part(&argument));
    char *password     = part(&argument);
    return rd_kafka_UserScramCredentialUpsertion_new(user, mechanism, iterations, (const unsigned char *)password,
                                                     strlen(password), NULL, 0);
}

static void alter_scram(Call *call) {
    CALL_WITH(call, rd_kafka_UserScramCredentialAlteration, scram_change, rd_kafka_AlterUserScramCredentials);
}

static void print_alter_scram(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_AlterUserScramCredentials_result_response_t **rows = rd_kafka_AlterUserScramCredentials_result_responses(
        rd_kafka_event_AlterUserScramCredentials_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("user", rd_kafka_AlterUserScramCredentials_result_response_user(rows[i]));
        print_error(rd_kafka_AlterUserScramCredentials_result_response_error(rows[i]));
        json_close('}');
    }
}

#endif
