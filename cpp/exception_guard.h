/*
 * What becomes of exceptions that leave a callback of the application.
 *
 * Between a callback and the method that leads to it lie frames of the C library, which must not be
 * unwound. So a callback is called through guarded(), which catches, and a method runs the C
 * function inside exception_guard(), which throws again what was caught on its thread meanwhile. The two
 * meet in a chain of Serving objects on the thread's stack: the innermost one is the call that the
 * application will see the exception come out of, if it is of the kind that leads to such
 * callbacks. Everywhere else (threads of the library, destructors, calls of the C interface) nobody
 * could catch it: it is reported.
 */

#ifndef OTTLA_CPP_SERVING_H
#define OTTLA_CPP_SERVING_H

#include <exception>
#include <utility>

#include <rdkafka.h>

namespace ottla {

/** Which callbacks' exceptions a call throws, and which kind a callback is of. */
enum class Exceptions {
        /** Of callbacks that are served: delivery reports, rebalances, errors and so on. */
        OF_SERVED,
        /** Of partitioners, which decide whether produce() accepts a message. For messages that
         *  wait for their partitions they are called by whoever drives the client on. */
        OF_PARTITIONERS,
        /** Of none: a call whose outcome must come out, a destructor; log lines, sockets, files. */
        OF_NONE
};

/** A call on this thread that may call callbacks of the application. */
class Serving {
       public:
        explicit Serving(Exceptions exceptions);
        ~Serving();
        Serving(const Serving &) = delete;
        Serving &operator=(const Serving &) = delete;

        /** Throws what was kept, if anything was. */
        void rethrow();

        /** Keeps an exception for the innermost call of this thread, if it is for that to throw. */
        static bool keep(std::exception_ptr exception, Exceptions exceptions);

       private:
        const Exceptions exceptions_;
        Serving *const outer_;
        std::exception_ptr kept_;
};

/** Runs a C function that may call callbacks; throws what they have thrown when it is through. */
template <class Call>
auto exception_guard(Call call, Exceptions exceptions = Exceptions::OF_SERVED) -> decltype(call()) {
        Serving scope(exceptions);
        auto result = call();
        scope.rethrow();
        return result;
}

/** Inside a catch block: keeps or reports the exception that `callback` has thrown. */
void caught(rd_kafka_t *rk, const char *callback, Exceptions exceptions);

/** Calls the application; `otherwise` stands for the result where it throws. */
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

#endif /* OTTLA_CPP_SERVING_H */
