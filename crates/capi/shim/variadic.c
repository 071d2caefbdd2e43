/*
 * The two functions of the C API with variable arguments, turned into forms
 * that Rust can implement.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Layouts and numbers as in rdkafka.h; src/abi.rs is tested against the
 * recorded ones, and the checks below tie this file to them. */
typedef struct vu {
        int vtype;
        union {
                const char *cstr;
                void *rkt;
                int i;
                int32_t i32;
                int64_t i64;
                struct {
                        void *ptr;
                        size_t size;
                } mem;
                struct {
                        const char *name;
                        const void *val;
                        ssize_t size;
                } header;
                void *headers;
                void *ptr;
                char pad[64];
        } u;
} vu_t;

_Static_assert(sizeof(vu_t) == 72, "rd_kafka_vu_t has 72 bytes");
_Static_assert(offsetof(vu_t, u) == 8, "rd_kafka_vu_t's union is at 8");

enum vtype {
        VTYPE_END,
        VTYPE_TOPIC,
        VTYPE_RKT,
        VTYPE_PARTITION,
        VTYPE_VALUE,
        VTYPE_KEY,
        VTYPE_OPAQUE,
        VTYPE_MSGFLAGS,
        VTYPE_TIMESTAMP,
        VTYPE_HEADER,
        VTYPE_HEADERS,
};

#define ERR_CRIT_SYS_RESOURCE (-194)
#define ERR_INVALID_ARG (-186)

/* Arguments kept on the stack; more of them (headers repeat) are allocated. */
#define ON_STACK 16

extern int ottla_producev(const void *rk, const vu_t *vus, size_t count);
extern void *ottla_error_new(int code, const char *text);

int rd_kafka_producev(void *rk, ...);
void *rd_kafka_error_new(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads the values of one argument; 0 for a type that is not known, whose
 * values, and so everything behind them, cannot be read. */
static int read_argument(vu_t *vu, int vtype, va_list *ap) {
        vu->vtype = vtype;
        switch (vtype) {
        case VTYPE_TOPIC:
                vu->u.cstr = va_arg(*ap, const char *);
                return 1;
        case VTYPE_RKT:
        case VTYPE_OPAQUE:
        case VTYPE_HEADERS:
                vu->u.ptr = va_arg(*ap, void *);
                return 1;
        case VTYPE_PARTITION:
                vu->u.i32 = va_arg(*ap, int32_t);
                return 1;
        case VTYPE_MSGFLAGS:
                vu->u.i = va_arg(*ap, int);
                return 1;
        case VTYPE_TIMESTAMP:
                vu->u.i64 = va_arg(*ap, int64_t);
                return 1;
        case VTYPE_VALUE:
        case VTYPE_KEY:
                vu->u.mem.ptr = va_arg(*ap, void *);
                vu->u.mem.size = va_arg(*ap, size_t);
                return 1;
        case VTYPE_HEADER:
                vu->u.header.name = va_arg(*ap, const char *);
                vu->u.header.val = va_arg(*ap, const void *);
                vu->u.header.size = va_arg(*ap, ssize_t);
                return 1;
        default:
                return 0;
        }
}

int rd_kafka_producev(void *rk, ...) {
        vu_t fixed[ON_STACK];
        vu_t *vus = fixed;
        size_t count = 0, room = ON_STACK;
        int result = 0, vtype;
        va_list ap;

        va_start(ap, rk);
        while ((vtype = va_arg(ap, int)) != VTYPE_END) {
                if (count == room) {
                        vu_t *more = malloc(2 * room * sizeof(*more));
                        if (!more) {
                                result = ERR_CRIT_SYS_RESOURCE;
                                break;
                        }
                        memcpy(more, vus, count * sizeof(*more));
                        if (vus != fixed)
                                free(vus);
                        vus = more;
                        room *= 2;
                }
                if (!read_argument(&vus[count], vtype, &ap)) {
                        result = ERR_INVALID_ARG;
                        break;
                }
                count++;
        }
        va_end(ap);

        if (!result)
                result = ottla_producev(rk, vus, count);
        if (vus != fixed)
                free(vus);
        return result;
}

void *rd_kafka_error_new(int code, const char *fmt, ...) {
        char fixed[512];
        char *text = fixed;
        void *error;
        int len;
        va_list ap;

        if (!fmt)
                return ottla_error_new(code, NULL);
        va_start(ap, fmt);
        len = vsnprintf(fixed, sizeof(fixed), fmt, ap);
        va_end(ap);
        if (len < 0)
                return ottla_error_new(code, NULL);
        /* Without memory for a longer text, its beginning must do. */
        if ((size_t)len >= sizeof(fixed) && (text = malloc((size_t)len + 1))) {
                va_start(ap, fmt);
                vsnprintf(text, (size_t)len + 1, fmt, ap);
                va_end(ap);
        }
        error = ottla_error_new(code, text ? text : fixed);
        if (text != fixed)
                free(text);
        return error;
}
