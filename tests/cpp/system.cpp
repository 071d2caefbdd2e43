/* Sockets and files that the application opens. */

#include "test.hpp"

#include <atomic>
#include <fcntl.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using RdKafka::Topic;

struct Opens : RdKafka::SocketCb, RdKafka::OpenCb {
        std::atomic<int> sockets{0}, reads{0}, writes{0};
        std::atomic<bool> throws{false};

        int socket_cb(int domain, int type, int protocol) {
                sockets++;
                if (throws)
                        throw std::runtime_error("no sockets today");
                return socket(domain, type, protocol);
        }
        int open_cb(const std::string &path, int flags, int mode) {
                ((flags & O_ACCMODE) == O_RDONLY ? reads : writes)++;
                return open(path.c_str(), flags, mode);
        }
};

static void sockets() {
        ProducerPtr cluster = new_cluster();
        Opens opens;
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", servers_of(cluster));
        set_cb<RdKafka::SocketCb>(conf, "socket_cb", &opens);
        {
                ProducerPtr p = new_producer(conf);
                send_numbers(p, "t", 0, 0, 5);
        }
        CHECK(opens.sockets >= 1);
        int before = opens.sockets;
        /* An exception is a socket that there is not, and nothing more. */
        opens.throws = true;
        {
                ProducerPtr p = new_producer(conf);
                std::string payload = "x";
                CHECK_FINE(p->produce("t", 0, RdKafka::Producer::RK_MSG_COPY, &payload[0], 1, NULL, 0, 0,
                                      NULL));
                CHECK_CODE(p->flush(200), RdKafka::ERR__TIMED_OUT);
                for (int i = 0; opens.sockets <= before && i < 100; i++)
                        CHECK_CODE(p->flush(200), RdKafka::ERR__TIMED_OUT);
                CHECK_FINE(p->purge(RdKafka::Producer::PURGE_QUEUE));
        }
        CHECK(opens.sockets > before);
}

static void files() {
        ProducerPtr cluster = new_cluster();
        send_numbers(cluster, "t", 0, 0, 3);
        std::string folder = "/tmp/ottla-cpp-" + std::to_string(getpid());
        CHECK_INT(mkdir(folder.c_str(), 0700), 0);
        Opens opens;
        ConfPtr conf = new_conf();
        std::string errstr;
        set(conf, "bootstrap.servers", servers_of(cluster));
        set(conf, "offset.store.method", "file");
        set(conf, "offset.store.path", folder);
        set(conf, "auto.offset.reset", "earliest");
        set_cb<RdKafka::OpenCb>(conf, "open_cb", &opens);
        {
                std::unique_ptr<RdKafka::Consumer> c(RdKafka::Consumer::create(conf.get(), errstr));
                REQUIRE(c != NULL);
                std::unique_ptr<Topic> topic(Topic::create(c.get(), "t", NULL, errstr));
                REQUIRE(topic != NULL);
                CHECK_FINE(c->start(topic.get(), 0, Topic::OFFSET_STORED));
                MessagePtr m(c->consume(topic.get(), 0, 10000));
                CHECK_FINE(m->err());
                CHECK_FINE(c->stop(topic.get(), 0));
        }
        CHECK(opens.reads >= 1);
        CHECK(opens.writes >= 1);
        CHECK_INT(unlink((folder + "/t-0.offset").c_str()), 0);
        CHECK_INT(rmdir(folder.c_str()), 0);
}

int main() {
        RUN(sockets);
        RUN(files);
        return test_end();
}
