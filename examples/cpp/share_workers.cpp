/*
 * share_workers: a work queue: workers process the records of a topic as members of a share group.
 *
 *     share_workers BROKERS GROUP TOPIC [WORKERS [DELIVERIES [IDLE_S]]]
 *
 * Each of WORKERS (4) threads is a member of GROUP; they may outnumber the topic's partitions. A job that
 * fails is released, which delivers it again to any worker, and is rejected when it was delivered
 * DELIVERIES (3) times. The group's share.delivery.count.limit, 5 by default, must not be lower. The
 * program ends when no job has arrived for IDLE_S (30) seconds. A new group begins at the end of the
 * topic, unless its share.auto.offset.reset is `earliest`.
 *
 * Jobs are texts. Those that begin with "flaky" fail when they are delivered for the first time, those
 * that begin with "fail" always. Exit status: 0, 1 for an error of the brokers, 2 for wrong arguments.
 *
 * Shows: ottla_sharepp.h, explicit acknowledgement, retries by delivery count, failed acknowledgements.
 */

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <ottla_sharepp.h>

namespace {

using ottla::share::Acknowledge;
using ottla::share::AcknowledgementResult;
using ottla::share::Conf;
using ottla::share::Consumer;
using ottla::share::Error;
using ottla::share::Record;

typedef std::chrono::steady_clock Clock;

struct Arguments {
        std::string brokers, group, topic;
        long workers, deliveries, idle_s;
};

/* Processes a job. A real worker would call a service, or write to a database. */
bool work(const std::string &job, int delivery_count) {
        if (job.compare(0, 5, "flaky") == 0 && delivery_count == 1)
                return false;
        return job.compare(0, 4, "fail") != 0;
}

Acknowledge process(long worker, const Record &record, long deliveries) {
        const std::string job         = record.value();
        const int count               = record.delivery_count();
        const bool succeeded          = work(job, count);
        const Acknowledge acknowledge = succeeded            ? Acknowledge::ACCEPT
                                        : count < deliveries ? Acknowledge::RELEASE
                                                             : Acknowledge::REJECT;
        std::printf("worker %ld: %s %s (delivery %d)\n", worker,
                    succeeded            ? "accepted"
                    : count < deliveries ? "released"
                                         : "rejected",
                    job.c_str(), count);
        return acknowledge;
}

/* Reports acknowledgements that have failed: their jobs are processed again, by any worker. */
void report(long worker, const AcknowledgementResult &result) {
        if (result.error)
                std::fprintf(stderr, "worker %ld: %s [%d]: %zu jobs are delivered again: %s\n", worker,
                             result.partition.topic.c_str(), result.partition.partition,
                             result.offsets.size(), result.error.text.c_str());
}

Error consume(long worker, const Arguments &arguments, Consumer &consumer) {
        Error error = consumer.on_acknowledged(
            [worker](const AcknowledgementResult &result) { report(worker, result); });
        if (!error)
                error = consumer.subscribe({arguments.topic});
        if (error)
                return error;
        const Clock::duration idle = std::chrono::seconds(arguments.idle_s);
        Clock::time_point last_job = Clock::now();
        while (Clock::now() - last_job < idle) {
                /* Sends the acknowledgements of the jobs before. */
                auto polled = consumer.poll(500);
                if (polled.error().is_fatal)
                        return polled.error();
                if (!polled.ok())
                        std::fprintf(stderr, "worker %ld: %s\n", worker, polled.error().text.c_str());
                for (const Record &record : polled.value()) {
                        if (record.error()) {
                                std::fprintf(stderr, "worker %ld: %s\n", worker,
                                             record.error().text.c_str());
                                continue;
                        }
                        error = consumer.acknowledge(record, process(worker, record, arguments.deliveries));
                        if (error)
                                return error;
                        last_job = Clock::now();
                }
        }
        return consumer.close();
}

void run(long worker, const Arguments &arguments, bool *succeeded) {
        const std::string settings[][2] = {
            {"bootstrap.servers", arguments.brokers},
            {"group.id", arguments.group},
            {"share.acknowledgement.mode", "explicit"},
            /* Few jobs at a time, so that those of a slow worker do not wait for it while others are idle. */
            {"max.poll.records", "10"},
        };
        Conf conf;
        Error error;
        for (const auto &setting : settings)
                if (!error)
                        error = conf.set(setting[0], setting[1]);
        if (!error) {
                auto created = Consumer::create(conf);
                error        = created.ok() ? consume(worker, arguments, *created.value()) : created.error();
        }
        if (error)
                std::fprintf(stderr, "worker %ld: %s\n", worker, error.text.c_str());
        *succeeded = !error;
}

/* Returns a number from 1 to 32767, -1 for another text. */
long number(int argc, char **argv, int index, long fallback) {
        if (index >= argc)
                return fallback;
        char *end;
        const long value = std::strtol(argv[index], &end, 10);
        return *argv[index] && !*end && value >= 1 && value <= 32767 ? value : -1;
}

}  // namespace

int main(int argc, char **argv) {
        const long workers    = number(argc, argv, 4, 4);
        const long deliveries = number(argc, argv, 5, 3);
        const long idle_s     = number(argc, argv, 6, 30);
        if (argc < 4 || argc > 7 || workers < 0 || deliveries < 0 || idle_s < 0) {
                std::fprintf(stderr,
                             "usage: share_workers BROKERS GROUP TOPIC [WORKERS [DELIVERIES [IDLE_S]]]\n");
                return 2;
        }
        const Arguments arguments = {argv[1], argv[2], argv[3], workers, deliveries, idle_s};
        std::vector<std::thread> threads;
        std::unique_ptr<bool[]> succeeded(new bool[workers]);
        for (long i = 0; i < workers; i++)
                threads.push_back(std::thread(run, i + 1, arguments, &succeeded[i]));
        bool all = true;
        for (long i = 0; i < workers; i++) {
                threads[i].join();
                all = all && succeeded[i];
        }
        return all ? 0 : 1;
}
