/* Writes JSON to standard output. */

#ifndef OTTLA_TESTS_REAL_ADMIN_JSON_H
#define OTTLA_TESTS_REAL_ADMIN_JSON_H

#include <inttypes.h>
#include <stdio.h>

static int json_needs_comma;

static void json_text(const char *text) {
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < ' ')
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

/* Writes what precedes a value: the comma after the previous one, and the key, NULL in arrays. */
static void json_key(const char *key) {
    if (json_needs_comma)
        putchar(',');
    json_needs_comma = 1;
    if (key != NULL) {
        json_text(key);
        putchar(':');
    }
}

/* Opens an object or an array: `bracket` is { or [. */
static void json_open(const char *key, char bracket) {
    json_key(key);
    putchar(bracket);
    json_needs_comma = 0;
}

static void json_close(char bracket) {
    putchar(bracket);
    json_needs_comma = 1;
}

static void json_int(const char *key, int64_t value) {
    json_key(key);
    printf("%" PRId64, value);
}

static void json_str(const char *key, const char *value) {
    json_key(key);
    if (value != NULL)
        json_text(value);
    else
        printf("null");
}

static void json_null(const char *key) {
    json_str(key, NULL);
}

/* Ends the line of an outermost value. */
static void json_end(void) {
    putchar('\n');
    fflush(stdout);
    json_needs_comma = 0;
}

#endif
