/*
 * Handling of exceptions that leave a callback of the application.
 *
 * The stack between a C++ method and a callback that it leads to has frames of the C library, which
 * must not be unwound. So guarded() calls the callback and catches its exception, and the method
 * runs the C function inside exception_guard(), which rethrows the exception after the C function
 * has returned. Each exception_guard() has a Serving object on the thread's stack; guarded() stores
 * the exception in the innermost one if that call throws exceptions of this kind of callback (see
 * Exceptions). All other exceptions, on threads of the library, in destructors and in calls of the
 * C interface, have no caller that could catch them: they are logged.
 */

#ifndef OTTLA_CPP_EXCEPTION_GUARD_H
#define OTTLA_CPP_EXCEPTION_GUARD_H

#include <exception>
#include <utility>

#include <rdkafka.h>

namespace ottla {

/** The kind of a callback, or for a call the kind of callbacks whose exceptions it rethrows. */
enum class Exceptions {
        /** Callbacks that serving a queue calls: delivery reports, rebalances, errors etc. */
        OF_SERVED,
        /** Partitioners, which produce() calls; for messages that wait for the topic's metadata,
         *  any thread that drives the client calls them. */
        OF_PARTITIONERS,
        /** Callbacks for log lines, sockets and files; calls whose result must not be lost, and
         *  destructors. These exceptions are always logged. */
        OF_NONE
};

/** A call on this thread that may call callbacks of the application. */
class Serving {
       public:
        explicit Serving(Exceptions exceptions);
        ~Serving();
        Serving(const Serving &) = delete;
        Serving &operator=(const Serving &) = delete;

        /** Rethrows the stored exception, if there is one. */
        void rethrow();

        /** Stores an exception in the innermost call of this thread. Returns false when there is no
         *  such call, it does not rethrow exceptions of this kind, or it has one already. */
        static bool keep(std::exception_ptr exception, Exceptions exceptions);

       private:
        const Exceptions exceptions_;
        Serving *const outer_;
        std::exception_ptr kept_;
};

/** Runs a C function that may call callbacks, then rethrows the first exception of a callback. */
template <class Call>
auto exception_guard(Call call, Exceptions exceptions = Exceptions::OF_SERVED) -> decltype(call()) {
        Serving scope(exceptions);
        auto result = call();
        scope.rethrow();
        return result;
}

/** Stores or logs the exception that `callback` has thrown; must be called inside a catch block. */
void caught(rd_kafka_t *rk, const char *callback, Exceptions exceptions);

/** Calls a callback of the application; returns `otherwise` if it throws. */
template <class Result, class Call>
Result guarded(rd_kafka_t *rk,
               const char *callback,
               Result otherwise,
               Call call,
               Exceptions exceptions = Exceptions::OF_SERVED) {
        try {
                return call();
        } catch (...) {
                caught(rk, callback, exceptions);
                return otherwise;
        }
}

}  // namespace ottla

#endif /* OTTLA_CPP_EXCEPTION_GUARD_H */
