/* Operations of ottla_admin.h on delegation tokens. */

#ifndef OTTLA_TESTS_REAL_ADMIN_TOKENS_H
#define OTTLA_TESTS_REAL_ADMIN_TOKENS_H

#include "call.h"
#include "ottla_admin.h"

#define PRINCIPALS_MAX 16
#define HMAC_MAX       256

/* Fills `users` with principals of the names that commas separate; returns how many there are. */
static size_t principals(char *names, rd_kafka_Principal_t **users) {
    size_t cnt = 0;
    for (char *name; (name = strsep(&names, ",")) != NULL && cnt < PRINCIPALS_MAX;)
        if (*name)
            users[cnt++] = rd_kafka_Principal_new("User", name);
    return cnt;
}

/* Argument: LONGEST LIFETIME|OWNER|RENEWER,RENEWER. */
static void create_token(Call *call) {
    char *argument    = call->argv[0];
    int64_t lifetime  = number(part(&argument));
    char *owner_name  = part(&argument);
    rd_kafka_Principal_t *owner = *owner_name ? rd_kafka_Principal_new("User", owner_name) : NULL;
    rd_kafka_Principal_t *renewers[PRINCIPALS_MAX];
    size_t cnt = principals(part(&argument), renewers);

    rd_kafka_NewDelegationToken_t *token = rd_kafka_NewDelegationToken_new(owner, renewers, cnt, lifetime);
    begin(call);
    rd_kafka_CreateDelegationToken(call->rk, token, call->options, call->queue);
    rd_kafka_NewDelegationToken_destroy(token);
    rd_kafka_Principal_destroy_array(renewers, cnt);
    rd_kafka_Principal_destroy(owner);
}

/* Writes TYPE:NAME. */
static void print_principal(const char *key, const rd_kafka_Principal_t *principal) {
    char text[256];
    snprintf(text, sizeof(text), "%s:%s", rd_kafka_Principal_type(principal), rd_kafka_Principal_name(principal));
    json_str(key, text);
}

static void print_token(const rd_kafka_DelegationToken_t *token) {
    size_t cnt = 0, size = 0;
    const rd_kafka_Principal_t **renewers = rd_kafka_DelegationToken_renewers(token, &cnt);
    const unsigned char *hmac             = rd_kafka_DelegationToken_hmac(token, &size);
    json_open(NULL, '{');
    json_str("id", rd_kafka_DelegationToken_token_id(token));
    print_principal("owner", rd_kafka_DelegationToken_owner(token));
    print_principal("requester", rd_kafka_DelegationToken_requester(token));
    json_open("renewers", '[');
    for (size_t i = 0; i < cnt; i++)
        print_principal(NULL, renewers[i]);
    json_close(']');
    json_int("issue", rd_kafka_DelegationToken_issue_timestamp(token));
    json_int("expiry", rd_kafka_DelegationToken_expiry_timestamp(token));
    json_int("max", rd_kafka_DelegationToken_max_timestamp(token));
    json_key("hmac");
    putchar('"');
    for (size_t i = 0; i < size; i++)
        printf("%02x", hmac[i]);
    putchar('"');
    json_close('}');
}

static void print_create_token(rd_kafka_event_t *event) {
    print_token(rd_kafka_CreateDelegationToken_result_token(rd_kafka_event_CreateDelegationToken_result(event)));
}

/* Takes the next part of an argument, hexadecimal digits; returns the number of bytes. */
static size_t hmac_part(char **argument, unsigned char *hmac) {
    const char *text = part(argument);
    size_t size      = strlen(text) / 2;
    for (size_t i = 0; i < size && i < HMAC_MAX; i++)
        sscanf(text + 2 * i, "%2hhx", &hmac[i]);
    return size < HMAC_MAX ? size : HMAC_MAX;
}

/* Argument of this one and the next: HMAC|PERIOD. */
static void renew_token(Call *call) {
    unsigned char hmac[HMAC_MAX];
    char *argument = call->argv[0];
    size_t size    = hmac_part(&argument, hmac);
    int64_t period = number(part(&argument));
    begin(call);
    rd_kafka_RenewDelegationToken(call->rk, hmac, size, period, call->options, call->queue);
}

static void expire_token(Call *call) {
    unsigned char hmac[HMAC_MAX];
    char *argument = call->argv[0];
    size_t size    = hmac_part(&argument, hmac);
    int64_t period = number(part(&argument));
    begin(call);
    rd_kafka_ExpireDelegationToken(call->rk, hmac, size, period, call->options, call->queue);
}

static void print_expiry(int64_t timestamp) {
    json_open(NULL, '{');
    json_int("expiry", timestamp);
    json_close('}');
}

static void print_renew_token(rd_kafka_event_t *event) {
    print_expiry(
        rd_kafka_RenewDelegationToken_result_expiry_timestamp(rd_kafka_event_RenewDelegationToken_result(event)));
}

static void print_expire_token(rd_kafka_event_t *event) {
    print_expiry(
        rd_kafka_ExpireDelegationToken_result_expiry_timestamp(rd_kafka_event_ExpireDelegationToken_result(event)));
}

/* Arguments: owners; none are all. */
static void describe_tokens(Call *call) {
    rd_kafka_Principal_t *owners[PRINCIPALS_MAX];
    size_t cnt = 0;
    for (; cnt < call->argc && cnt < PRINCIPALS_MAX; cnt++)
        owners[cnt] = rd_kafka_Principal_new("User", call->argv[cnt]);
    begin(call);
    rd_kafka_DescribeDelegationToken(call->rk, cnt ? owners : NULL, cnt, call->options, call->queue);
    rd_kafka_Principal_destroy_array(owners, cnt);
}

static void print_describe_tokens(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_DelegationToken_t **tokens =
        rd_kafka_DescribeDelegationToken_result_tokens(rd_kafka_event_DescribeDelegationToken_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++)
        print_token(tokens[i]);
}

#endif
