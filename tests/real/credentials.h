/* New credentials for a running client, from standard input. */

#ifndef OTTLA_TESTS_REAL_CREDENTIALS_H
#define OTTLA_TESTS_REAL_CREDENTIALS_H

#include "rdkafka.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sets the credentials of `rk` to a line "USER\tPASSWORD" of standard input when there is one. The writer writes a line at
 * once. Without the variable CREDENTIALS in the environment nothing is read. Exits with 2 on an error. */
static void take_credentials(rd_kafka_t *rk) {
    static int open = -1;
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    char line[1024];

    if (open < 0)
        open = getenv("CREDENTIALS") != NULL;
    if (!open || poll(&input, 1, 0) <= 0)
        return;
    ssize_t length = read(STDIN_FILENO, line, sizeof(line) - 1);
    if (length <= 0) {
        open = 0;
        return;
    }
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    char *password = strchr(line, '\t');
    if (password == NULL) {
        fprintf(stderr, "credentials: no tab between user and password\n");
        exit(2);
    }
    *password++ = '\0';
    rd_kafka_error_t *error = rd_kafka_sasl_set_credentials(rk, line, password);
    if (error != NULL) {
        fprintf(stderr, "credentials: %s\n", rd_kafka_error_string(error));
        exit(2);
    }
}

#endif
