/*
 * delays.c: delays the threads of a program after the calls by which they affect each other, as a loaded machine
 * does. For LD_PRELOAD. DELAYS_SEED in the environment selects the delays.
 *
 * A thread that wakes another one loses its processor at that moment on a loaded machine, and seldom on an idle one.
 * Each thread is slow, normal or fast for a while: some orders of events need one thread that is later than all others.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct pace {
        unsigned per_mille; /* Calls in a thousand that are delayed. */
        unsigned max_us;    /* The longest delay. */
};

static const struct pace paces[] = {{400, 6000}, {20, 30000}, {5, 30000}};

/* A thread changes its pace after this number of calls on average. */
#define CALLS_PER_PACE 200

static __thread uint64_t random_state;
static __thread struct pace pace;

/* The functions of the C library. */
struct originals {
        ssize_t (*write)(int, const void *, size_t);
        ssize_t (*sendmsg)(int, const struct msghdr *, int);
        ssize_t (*recv)(int, void *, size_t, int);
        int (*epoll_wait)(int, struct epoll_event *, int, int);
        long (*syscall)(long, ...);
};

static struct originals originals;
static uint64_t seed;
static int off;

static void begin_process(void) {
        const char *text = getenv("DELAYS_SEED");

        seed = text ? strtoull(text, NULL, 10) : 0;
        /* Kafka brokers that a test starts are not delayed. */
        off                  = strcmp(program_invocation_short_name, "java") == 0;
        originals.write      = dlsym(RTLD_NEXT, "write");
        originals.sendmsg    = dlsym(RTLD_NEXT, "sendmsg");
        originals.recv       = dlsym(RTLD_NEXT, "recv");
        originals.epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
        originals.syscall    = dlsym(RTLD_NEXT, "syscall");
}

/* Other libraries may call these functions before a constructor of this one would run. */
static const struct originals *original(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, begin_process);
        return &originals;
}

/* xorshift64 */
static uint64_t next_random(void) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state;
}

static void begin_thread(void) {
        static uint64_t threads;
        uint64_t number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
        int i;

        random_state = (seed + 1) * 0x9E3779B97F4A7C15u ^ number * 0xBF58476D1CE4E5B9u;
        random_state |= 1;
        for (i = 0; i < 8; i++)
                next_random();
}

/* Delays the calling thread, or does not. The system call is made directly: nanosleep() would be a point of
 * cancellation where the program has none. */
static void delay(void) {
        int saved = errno;
        struct timespec time = {0, 0};

        if (off)
                return;
        if (!random_state)
                begin_thread();
        if (pace.max_us == 0 || next_random() % CALLS_PER_PACE == 0)
                pace = paces[next_random() % (sizeof(paces) / sizeof(paces[0]))];
        if (next_random() % 1000 < pace.per_mille) {
                time.tv_nsec = (long)(next_random() % pace.max_us) * 1000;
                original()->syscall(SYS_nanosleep, &time, NULL);
        }
        errno = saved;
}

/* Writes to an eventfd have eight bytes. */
ssize_t write(int fd, const void *data, size_t size) {
        ssize_t result = original()->write(fd, data, size);

        if (size == 8)
                delay();
        return result;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
        ssize_t result = original()->sendmsg(fd, message, flags);

        delay();
        return result;
}

ssize_t recv(int fd, void *buffer, size_t size, int flags) {
        ssize_t result = original()->recv(fd, buffer, size, flags);

        delay();
        return result;
}

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms) {
        int result = original()->epoll_wait(epoll, events, max, timeout_ms);

        delay();
        return result;
}

/* Futexes of Rust's standard library and of parking_lot. */
long syscall(long number, ...) {
        long arguments[6], result;
        va_list list;
        int i;

        va_start(list, number);
        for (i = 0; i < 6; i++)
                arguments[i] = va_arg(list, long);
        va_end(list);
        result = original()->syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                                     arguments[5]);
        if (number == SYS_futex)
                delay();
        return result;
}
