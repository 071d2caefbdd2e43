/* TLS: certificates from memory, the check of brokers' certificates, refused engines. */

#include "test.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

using RdKafka::Conf;

static const std::string FOLDER = "tests/c/certificates/";

static std::string contents(const std::string &name) {
        std::ifstream file((FOLDER + name).c_str(), std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
}

static bool says(const std::string &text, const char *what) {
        return text.find(what) != std::string::npos;
}

static ConfPtr cluster_conf(const std::string &broker) {
        ConfPtr conf = new_conf();
        set(conf, "test.mock.num.brokers", "1");
        set(conf, "test.mock.ssl", "true");
        set(conf, "test.mock.ssl.certificate.location", FOLDER + broker + ".pem");
        set(conf, "test.mock.ssl.key.location", FOLDER + broker + ".key");
        return conf;
}

static bool connects(RdKafka::Producer &producer, int timeout_ms) {
        RdKafka::Metadata *metadata = NULL;
        RdKafka::ErrorCode code     = producer.metadata(true, NULL, &metadata, timeout_ms);
        delete metadata;
        return code == RdKafka::ERR_NO_ERROR;
}

static void certificates_from_memory() {
        ConfPtr conf = cluster_conf("broker");
        set(conf, "test.mock.ssl.client.ca.location", FOLDER + "client_ca.pem");
        std::string errstr, ca = contents("ca.pem"), certificate = contents("client.pem"), key = contents("client.key");
        CHECK_INT(conf->set_ssl_cert(RdKafka::CERT_CA, RdKafka::CERT_ENC_PEM, "x", 1, errstr), Conf::CONF_INVALID);
        CHECK(says(errstr, "Failed to read PEM CA"));
        CHECK_INT(conf->set_ssl_cert(RdKafka::CERT_CA, RdKafka::CERT_ENC_PEM, ca.data(), ca.size(), errstr),
                  Conf::CONF_OK);
        CHECK_INT(conf->set_ssl_cert(RdKafka::CERT_PUBLIC_KEY, RdKafka::CERT_ENC_PEM, certificate.data(),
                                     certificate.size(), errstr),
                  Conf::CONF_OK);
        CHECK_INT(conf->set_ssl_cert(RdKafka::CERT_PRIVATE_KEY, RdKafka::CERT_ENC_PEM, key.data(), key.size(),
                                     errstr),
                  Conf::CONF_OK);
        ProducerPtr producer = new_producer(conf);
        CHECK(connects(*producer, 20000));
}

struct Verifies : RdKafka::SslCertificateVerifyCb {
        bool answer;
        bool forgives;
        bool throws;
        int calls;

        Verifies() : answer(true), forgives(false), throws(false), calls(0) {
        }

        bool ssl_cert_verify_cb(const std::string &broker_name,
                                int32_t,
                                int *x509_error,
                                int depth,
                                const char *buf,
                                size_t size,
                                std::string &errstr) {
                CHECK(says(broker_name, "127.0.0.1:"));
                CHECK(depth == 0 || depth == 1);
                CHECK(size > 100 && buf[0] == 0x30);
                calls++;
                if (throws)
                        throw std::runtime_error("thrown");
                if (forgives)
                        *x509_error = 0;
                errstr = "refused by the test";
                return answer;
        }
};

static ProducerPtr verified(const std::string &broker, Verifies &verifies) {
        ConfPtr conf = cluster_conf(broker);
        set(conf, "ssl.ca.location", FOLDER + "ca.pem");
        RdKafka::SslCertificateVerifyCb *callback = &verifies, *found = NULL;
        std::string errstr;
        CHECK_INT(conf->set("ssl_cert_verify_cb", callback, errstr), Conf::CONF_OK);
        CHECK_INT(conf->get(found), Conf::CONF_OK);
        CHECK(found == callback);
        return new_producer(conf);
}

static void the_callback_decides() {
        Verifies verifies;
        {
                ProducerPtr producer = verified("broker", verifies);
                CHECK(connects(*producer, 20000));
                CHECK(verifies.calls >= 2);
        }
        verifies.forgives = true;
        {
                ProducerPtr producer = verified("elsewhere", verifies);
                CHECK(connects(*producer, 20000));
        }
        verifies.answer = false;
        {
                ProducerPtr producer = verified("broker", verifies);
                CHECK(!connects(*producer, 500));
        }
        verifies.answer = verifies.throws = true;
        ProducerPtr producer = verified("broker", verifies);
        CHECK(!connects(*producer, 500));
}

static void engine_data_refuses_the_client() {
        ConfPtr conf = new_conf();
        std::string errstr;
        CHECK_INT(conf->set_engine_callback_data(&errstr, errstr), Conf::CONF_OK);
        set(conf, "security.protocol", "ssl");
        CHECK(RdKafka::Producer::create(conf.get(), errstr) == NULL);
        CHECK(says(errstr, "OpenSSL"));
}

int main() {
        RUN(certificates_from_memory);
        RUN(the_callback_decides);
        RUN(engine_data_refuses_the_client);
        return test_end();
}
