/*
 * Administers access control entries.
 *
 *     admin_acls BROKERS add    RESOURCE --principal NAME --operation NAME... [--host HOST] [--deny]
 *     admin_acls BROKERS list   [RESOURCE] [--principal NAME] [--operation NAME] [--host HOST] [--deny]
 *     admin_acls BROKERS remove RESOURCE   [--principal NAME] [--operation NAME] [--host HOST] [--deny]
 *
 * RESOURCE is --topic NAME, --group NAME, --transactional-id NAME or --cluster; with --prefixed the
 * name is a prefix. list and remove select the entries that have all that is named; remove prints
 * what it has removed. Principals are as in User:alice, operations as in Read or DescribeConfigs.
 * Exit status: 0, 1 for an error of the brokers, 2 for wrong arguments.
 */

#include <ctype.h>

#include "admin.h"

#define OPERATIONS_MAX 16

/* The options of the command line. */
struct entry {
        rd_kafka_ResourceType_t type;
        const char *name;
        rd_kafka_ResourcePatternType_t pattern;
        const char *principal;
        const char *host;
        rd_kafka_AclOperation_t operations[OPERATIONS_MAX];
        int operation_cnt;
        rd_kafka_AclPermissionType_t permission;
};

/* Compares names without case and separators: DescribeConfigs and DESCRIBE_CONFIGS are equal. */
static int same(const char *a, const char *b) {
        for (;; a++, b++) {
                while (*a == '_' || *a == '-')
                        a++;
                while (*b == '_' || *b == '-')
                        b++;
                if (toupper((unsigned char)*a) != toupper((unsigned char)*b))
                        return 0;
                if (!*a)
                        return 1;
        }
}

static rd_kafka_AclOperation_t operation(const char *name) {
        int i;
        for (i = RD_KAFKA_ACL_OPERATION_ALL; i < RD_KAFKA_ACL_OPERATION__CNT; i++)
                if (same(name, rd_kafka_AclOperation_name((rd_kafka_AclOperation_t)i)))
                        return (rd_kafka_AclOperation_t)i;
        wrong(name, "no such operation");
        return RD_KAFKA_ACL_OPERATION_UNKNOWN;
}

static struct entry parse(char **arg, int args, int is_new) {
        struct entry e;
        int i;

        memset(&e, 0, sizeof(e));
        e.type       = RD_KAFKA_RESOURCE_ANY;
        e.pattern    = is_new ? RD_KAFKA_RESOURCE_PATTERN_LITERAL : RD_KAFKA_RESOURCE_PATTERN_ANY;
        e.permission = is_new ? RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW : RD_KAFKA_ACL_PERMISSION_TYPE_ANY;
        e.host       = is_new ? "*" : NULL;
        for (i = 0; i < args; i++) {
                const char *option = arg[i], *value;
                if (!strcmp(option, "--cluster")) {
                        e.type = RD_KAFKA_RESOURCE_BROKER;
                        e.name = "kafka-cluster";
                        continue;
                } else if (!strcmp(option, "--prefixed")) {
                        e.pattern = RD_KAFKA_RESOURCE_PATTERN_PREFIXED;
                        continue;
                } else if (!strcmp(option, "--deny")) {
                        e.permission = RD_KAFKA_ACL_PERMISSION_TYPE_DENY;
                        continue;
                }
                value = i + 1 < args ? arg[++i] : NULL;
                if (!value)
                        wrong(option, "no such option, or it has no value");
                if (!strcmp(option, "--topic"))
                        e.type = RD_KAFKA_RESOURCE_TOPIC, e.name = value;
                else if (!strcmp(option, "--group"))
                        e.type = RD_KAFKA_RESOURCE_GROUP, e.name = value;
                else if (!strcmp(option, "--transactional-id"))
                        e.type = RD_KAFKA_RESOURCE_TRANSACTIONAL_ID, e.name = value;
                else if (!strcmp(option, "--principal"))
                        e.principal = value;
                else if (!strcmp(option, "--host"))
                        e.host = value;
                else if (!strcmp(option, "--operation") && e.operation_cnt < OPERATIONS_MAX)
                        e.operations[e.operation_cnt++] = operation(value);
                else
                        wrong(option, "no such option");
        }
        return e;
}

static void print(const rd_kafka_AclBinding_t *acl) {
        rd_kafka_ResourceType_t type = rd_kafka_AclBinding_restype(acl);
        printf("%s %s %s: %s %s %s from %s\n",
               type == RD_KAFKA_RESOURCE_BROKER ? "CLUSTER" : rd_kafka_ResourceType_name(type),
               rd_kafka_ResourcePatternType_name(rd_kafka_AclBinding_resource_pattern_type(acl)),
               rd_kafka_AclBinding_name(acl), rd_kafka_AclBinding_principal(acl),
               rd_kafka_AclPermissionType_name(rd_kafka_AclBinding_permission_type(acl)),
               rd_kafka_AclOperation_name(rd_kafka_AclBinding_operation(acl)),
               rd_kafka_AclBinding_host(acl));
}

static void add(const struct entry *e) {
        rd_kafka_AdminOptions_t *o = options(RD_KAFKA_ADMIN_OP_CREATEACLS);
        rd_kafka_AclBinding_t *acls[OPERATIONS_MAX];
        const rd_kafka_acl_result_t **results;
        rd_kafka_event_t *event;
        size_t cnt, i;
        int n;

        if (!e->name || !e->principal || !e->operation_cnt)
                wrong("add", "needs a resource, --principal and --operation");
        for (n = 0; n < e->operation_cnt; n++) {
                acls[n] = rd_kafka_AclBinding_new(e->type, e->name, e->pattern, e->principal, e->host,
                                                  e->operations[n], e->permission, errstr, sizeof(errstr));
                if (!acls[n])
                        wrong("add", errstr);
        }
        rd_kafka_CreateAcls(rk, acls, (size_t)e->operation_cnt, o, queue);
        rd_kafka_AclBinding_destroy_array(acls, (size_t)e->operation_cnt);
        event   = result(o);
        results = rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &cnt);
        for (i = 0; i < cnt; i++)
                report_error(rd_kafka_AclOperation_name(e->operations[i]),
                             rd_kafka_acl_result_error(results[i]));
        rd_kafka_event_destroy(event);
}

/* Returns the filter of list and remove, which the caller frees. */
static rd_kafka_AclBindingFilter_t *filter(const struct entry *e) {
        rd_kafka_AclBindingFilter_t *acl;
        if (e->operation_cnt > 1)
                wrong("--operation", "one at a time");
        acl = rd_kafka_AclBindingFilter_new(
            e->type, e->name, e->pattern, e->principal, e->host,
            e->operation_cnt ? e->operations[0] : RD_KAFKA_ACL_OPERATION_ANY, e->permission, errstr,
            sizeof(errstr));
        if (!acl)
                wrong("filter", errstr);
        return acl;
}

static void list(const struct entry *e) {
        rd_kafka_AdminOptions_t *o       = options(RD_KAFKA_ADMIN_OP_DESCRIBEACLS);
        rd_kafka_AclBindingFilter_t *acl = filter(e);
        const rd_kafka_AclBinding_t **acls;
        rd_kafka_event_t *event;
        size_t cnt, i;

        rd_kafka_DescribeAcls(rk, acl, o, queue);
        rd_kafka_AclBinding_destroy(acl);
        event = result(o);
        acls  = rd_kafka_DescribeAcls_result_acls(rd_kafka_event_DescribeAcls_result(event), &cnt);
        for (i = 0; i < cnt; i++)
                print(acls[i]);
        rd_kafka_event_destroy(event);
}

static void remove_acls(const struct entry *e) {
        rd_kafka_AdminOptions_t *o       = options(RD_KAFKA_ADMIN_OP_DELETEACLS);
        rd_kafka_AclBindingFilter_t *acl = filter(e);
        const rd_kafka_DeleteAcls_result_response_t **responses;
        rd_kafka_event_t *event;
        size_t cnt, acl_cnt, i, j;

        if (!e->name)
                wrong("remove", "needs a resource");
        rd_kafka_DeleteAcls(rk, &acl, 1, o, queue);
        rd_kafka_AclBinding_destroy(acl);
        event     = result(o);
        responses = rd_kafka_DeleteAcls_result_responses(rd_kafka_event_DeleteAcls_result(event), &cnt);
        for (i = 0; i < cnt; i++) {
                const rd_kafka_AclBinding_t **acls =
                    rd_kafka_DeleteAcls_result_response_matching_acls(responses[i], &acl_cnt);
                report_error("filter", rd_kafka_DeleteAcls_result_response_error(responses[i]));
                for (j = 0; j < acl_cnt; j++) {
                        const rd_kafka_error_t *error = rd_kafka_AclBinding_error(acls[j]);
                        report_error(rd_kafka_AclBinding_name(acls[j]), error);
                        if (!error)
                                print(acls[j]);
                }
        }
        rd_kafka_event_destroy(event);
}

int main(int argc, char **argv) {
        const char *what = argc > 2 ? argv[2] : "";
        struct entry e;

        program = "admin_acls";
        if (argc < 3) {
                fprintf(stderr, "usage: admin_acls BROKERS add|list|remove ...\n");
                return 2;
        }
        e = parse(argv + 3, argc - 3, !strcmp(what, "add"));
        connect_to(argv[1]);
        if (!strcmp(what, "add"))
                add(&e);
        else if (!strcmp(what, "list"))
                list(&e);
        else if (!strcmp(what, "remove"))
                remove_acls(&e);
        else
                wrong(what, "no such command");
        return disconnect();
}
