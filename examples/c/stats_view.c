/*
 * Shows the statistics of clients as they come, in the terminal: rates, latencies, and the lag of
 * each partition.
 *
 *     PROGRAM | stats_view [-n ROWS]
 *
 * Reads the documents of docs/STATISTICS.md, one in a line, from standard input; lines that do not
 * begin with "{" are left out, so the program may write other things, too. A program writes its
 * documents with a callback like this, and statistics.interval.ms=1000:
 *
 *     static int stats_cb(rd_kafka_t *rk, char *json, size_t len, void *opaque) {
 *             printf("%s\n", json);
 *             fflush(stdout);
 *             return 0;
 *     }
 *
 * rdkafka_performance does so with -T 1000. The documents may come from several clients. Of each
 * topic the ROWS partitions (default 10) with most to do are shown: by lag, then by what is queued,
 * then by what has moved. On a terminal each document takes the place of the one before; elsewhere
 * they are written one after the other.
 *
 * Needs no library, only C99 and POSIX.
 */

#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- JSON ---------------------------------------------------------------- */

/* A value of a document. Texts are as they stand there, escapes included: so they have no control
 * characters, and can be shown as they are. */
struct value {
        const char *key, *text;
        int key_len, text_len;
        long long number;
        struct value *first, *next; /* members, and the next one beside this one */
};

static void *must(void *p) {
        if (!p) {
                fprintf(stderr, "stats_view: out of memory\n");
                exit(1);
        }
        return p;
}

static void free_values(struct value *v) {
        while (v) {
                struct value *next = v->next;
                free_values(v->first);
                free(v);
                v = next;
        }
}

/* Reads a text, without its quotes. Is the place behind it, or NULL. */
static const char *read_text(const char *at, const char **text, int *len) {
        const char *begin = at + 1;
        if (*at != '"')
                return NULL;
        for (at = begin; *at && *at != '"'; at++)
                if (*at == '\\' && !*++at)
                        return NULL;
        *text = begin;
        *len  = (int)(at - begin);
        return *at ? at + 1 : NULL;
}

/* Deeper than any document; a line that is not one must not use up the stack. */
enum { DEPTH_MAX = 16 };

static const char *read_value(const char *at, struct value *v, int depth) {
        struct value **end = &v->first;
        char *stop;

        if (*at == '"')
                return read_text(at, &v->text, &v->text_len);
        if (*at != '{') {
                v->number   = *at == 't' ? 1 : strtoll(at, &stop, 10);
                v->text     = at;
                v->text_len = (int)strcspn(at, ",}");
                return v->text_len ? at + v->text_len : NULL;
        }
        if (depth == DEPTH_MAX)
                return NULL;
        if (*++at == '}')
                return at + 1;
        for (;;) {
                struct value *member = must(calloc(1, sizeof(*member)));
                *end                 = member;
                end                  = &member->next;
                at                   = read_text(at, &member->key, &member->key_len);
                if (!at || *at++ != ':')
                        return NULL;
                at = read_value(at, member, depth + 1);
                if (!at || (*at != ',' && *at != '}'))
                        return NULL;
                if (*at++ == '}')
                        return at;
        }
}

static struct value *member_of_len(const struct value *v, const char *key, int len) {
        struct value *m;
        for (m = v ? v->first : NULL; m; m = m->next)
                if (m->key_len == len && !memcmp(m->key, key, (size_t)len))
                        return m;
        return NULL;
}

static struct value *member(const struct value *v, const char *key) {
        return member_of_len(v, key, (int)strlen(key));
}

static long long number(const struct value *v, const char *key) {
        const struct value *m = member(v, key);
        return m ? m->number : 0;
}

/* ---- clients ------------------------------------------------------------- */

struct document {
        char *line;
        struct value *root;
};

struct client {
        struct document last, before;
};

enum { CLIENTS_MAX = 16 };
static struct client clients[CLIENTS_MAX];
static int client_cnt;
static int rows = 10;

static void drop(struct document *d) {
        free_values(d->root);
        free(d->line);
        d->root = NULL;
        d->line = NULL;
}

/* The client that a document is of; NULL when there are too many. */
static struct client *client_of(const struct value *name) {
        int i;
        for (i = 0; i < client_cnt; i++) {
                const struct value *known = member(clients[i].last.root, "name");
                if (known->text_len == name->text_len &&
                    !memcmp(known->text, name->text, (size_t)name->text_len))
                        return &clients[i];
        }
        return client_cnt < CLIENTS_MAX ? &clients[client_cnt++] : NULL;
}

/* Takes a line in; 0 when it is no document. */
static int take(char *line) {
        struct document d = {line, must(calloc(1, sizeof(*d.root)))};
        const char *end   = read_value(line, d.root, 0);
        const struct value *name;
        struct client *c;

        name = end ? member(d.root, "name") : NULL;
        c    = name ? client_of(name) : NULL;
        if (!c) {
                drop(&d);
                return 0;
        }
        drop(&c->before);
        c->before = c->last;
        c->last   = d;
        return 1;
}

/* ---- the view ------------------------------------------------------------ */

/* Growth of a counter since the previous document, per second. */
static double rate(const struct value *now, const struct value *before, const char *key, double s) {
        return before && s > 0 ? (double)(number(now, key) - number(before, key)) / s : 0;
}

/* A window's median and 99th percentile, in milliseconds. */
static void show_latency(const struct value *broker, const char *key) {
        const struct value *w = member(broker, key);
        if (number(w, "cnt"))
                printf(" %8.1f %8.1f", (double)number(w, "p50") / 1000, (double)number(w, "p99") / 1000);
        else
                printf(" %8s %8s", "-", "-");
}

static void show_brokers(const struct value *now, const struct value *before, double s) {
        const struct value *b;
        printf("  %-28s %-11s %5s %5s %8s %9s %9s %17s %17s %17s\n", "broker", "state", "out", "wait", "req/s",
               "kB/s out", "kB/s in", "queue ms p50 p99", "rtt ms p50 p99", "throttle ms");
        for (b = now ? now->first : NULL; b; b = b->next) {
                const struct value *old   = member_of_len(before, b->key, b->key_len);
                const struct value *state = member(b, "state");
                const struct value *pause = member(b, "throttle");
                if (!number(b, "connects"))
                        continue; /* never needed */
                printf("  %-28.*s %-11.*s %5lld %5lld %8.0f %9.1f %9.1f", b->key_len, b->key,
                       state ? state->text_len : 0, state ? state->text : "", number(b, "outbuf_cnt"),
                       number(b, "waitresp_cnt"), rate(b, old, "tx", s), rate(b, old, "txbytes", s) / 1000,
                       rate(b, old, "rxbytes", s) / 1000);
                show_latency(b, "int_latency");
                show_latency(b, "rtt");
                printf(" %17lld\n", number(pause, "max"));
        }
}

/* A partition to be shown, and what it is sorted by. */
struct row {
        const struct value *now, *before;
        long long lag, queued, moved;
};

static int by_work(const void *a, const void *b) {
        const struct row *x = a, *y = b;
        if (x->lag != y->lag)
                return x->lag < y->lag ? 1 : -1;
        if (x->queued != y->queued)
                return x->queued < y->queued ? 1 : -1;
        return x->moved < y->moved ? 1 : x->moved > y->moved ? -1 : 0;
}

/* Without a committed offset the lag is measured from the stored offset. */
static long long lag_of(const struct value *p) {
        long long committed = number(p, "consumer_lag"), stored = number(p, "consumer_lag_stored");
        return committed >= 0 ? committed : stored;
}

static void show_topic(const struct value *topic, const struct value *before, double s) {
        const struct value *partitions = member(topic, "partitions"), *p;
        struct row *all;
        int cnt = 0, i;

        for (p = partitions ? partitions->first : NULL; p; p = p->next)
                cnt++;
        all = must(calloc((size_t)cnt + 1, sizeof(*all)));
        cnt = 0;
        for (p = partitions ? partitions->first : NULL; p; p = p->next) {
                struct row *r = &all[cnt];
                r->now        = p;
                r->before     = member_of_len(member(before, "partitions"), p->key, p->key_len);
                r->lag        = lag_of(p);
                r->queued = number(p, "msgq_cnt") + number(p, "xmit_msgq_cnt") + number(p, "fetchq_cnt");
                r->moved  = number(p, "txmsgs") + number(p, "rxmsgs");
                /* Neither used nor wanted. */
                if (r->moved || r->queued || number(p, "desired"))
                        cnt++;
        }
        qsort(all, (size_t)cnt, sizeof(*all), by_work);
        for (i = 0; i < cnt && i < rows; i++) {
                const struct value *now = all[i].now, *old = all[i].before;
                const struct value *state = member(now, "fetch_state");
                char name[64], lag[32];
                snprintf(name, sizeof(name), "%.*s [%.*s]", topic->key_len, topic->key, now->key_len, now->key);
                snprintf(lag, sizeof(lag), "%lld", all[i].lag);
                printf("  %-28s %6lld %10.0f %10.0f %9lld %9lld %9s %12lld %-12.*s\n", name, number(now, "leader"),
                       rate(now, old, "txmsgs", s), rate(now, old, "rxmsgs", s), all[i].queued,
                       number(now, "msgs_inflight"), all[i].lag < 0 ? "-" : lag, number(now, "app_offset"),
                       state ? state->text_len : 0, state ? state->text : "");
        }
        if (cnt > rows)
                printf("  %-28s %d more\n", "...", cnt - rows);
        free(all);
}

static void show(const struct client *c) {
        const struct value *now = c->last.root, *before = c->before.root, *t;
        const struct value *name = member(now, "name"), *group = member(now, "cgrp"), *eos = member(now, "eos");
        const struct value *fatal = member(now, "fatal");
        double s = before ? (double)(number(now, "ts") - number(before, "ts")) / 1e6 : 0;
        long long held = number(now, "msg_cnt"), limit = number(now, "msg_max");

        printf("%.*s, %lld s old\n", name->text_len, name->text, number(now, "age") / 1000000);
        printf("  sent %.0f msgs/s, %.2f MB/s; received %.0f msgs/s, %.2f MB/s", rate(now, before, "txmsgs", s),
               rate(now, before, "txmsg_bytes", s) / 1e6, rate(now, before, "rxmsgs", s),
               rate(now, before, "rxmsg_bytes", s) / 1e6);
        if (limit)
                printf("; holds %lld msgs (%lld %%)", held, held * 100 / limit);
        printf("\n");
        if (group) {
                const struct value *state = member(group, "state"), *join = member(group, "join_state");
                printf("  group: coordinator %.*s, %.*s, %lld partitions, %lld rebalances\n",
                       state ? state->text_len : 0, state ? state->text : "", join ? join->text_len : 0,
                       join ? join->text : "", number(group, "assignment_size"), number(group, "rebalance_cnt"));
        }
        if (eos) {
                const struct value *id = member(eos, "idemp_state"), *txn = member(eos, "txn_state");
                printf("  exactly once: id %lld epoch %lld, %.*s, transaction %.*s\n", number(eos, "producer_id"),
                       number(eos, "producer_epoch"), id ? id->text_len : 0, id ? id->text : "",
                       txn ? txn->text_len : 0, txn ? txn->text : "");
        }
        if (fatal) {
                const struct value *reason = member(fatal, "reason");
                printf("  FATAL: %.*s\n", reason ? reason->text_len : 0, reason ? reason->text : "");
        }
        show_brokers(member(now, "brokers"), member(before, "brokers"), s);
        printf("  %-28s %6s %10s %10s %9s %9s %9s %12s %-12s\n", "partition", "leader", "sent/s", "received/s",
               "queued", "in flight", "lag", "app offset", "fetching");
        t = member(now, "topics");
        for (t = t ? t->first : NULL; t; t = t->next)
                show_topic(t, member_of_len(member(before, "topics"), t->key, t->key_len), s);
        printf("\n");
}

int main(int argc, char **argv) {
        int on_terminal = isatty(STDOUT_FILENO), opt, i;

        while ((opt = getopt(argc, argv, "n:")) != -1) {
                rows = opt == 'n' ? atoi(optarg) : 0;
                if (rows <= 0) {
                        fprintf(stderr, "usage: PROGRAM | %s [-n ROWS]\n", argv[0]);
                        return 2;
                }
        }
        for (;;) {
                char *line  = NULL;
                size_t size = 0;
                if (getline(&line, &size, stdin) < 0) {
                        free(line);
                        break;
                }
                if (line[0] != '{') {
                        free(line);
                        continue;
                }
                if (!take(line))
                        continue;
                if (on_terminal)
                        printf("\033[H\033[J"); /* to the upper left corner, and nothing below */
                for (i = 0; i < client_cnt; i++)
                        show(&clients[i]);
                fflush(stdout);
        }
        for (i = 0; i < client_cnt; i++) {
                drop(&clients[i].last);
                drop(&clients[i].before);
        }
        return client_cnt ? 0 : 1;
}
