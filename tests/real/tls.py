"""Listeners with TLS for real brokers: their certificates, and the properties with which a client reaches them."""

import certificates
import kafka

# A client's password for keys and keystores.
PASSWORD = "secret of the client"

# Java 17 refuses TLS 1.1 and RSA key exchange by its own settings; brokers with this file offer what a listener asks for.
JAVA_SECURITY = "java.security"
DISABLED = "jdk.tls.disabledAlgorithms=SSLv3\njdk.certpath.disabledAlgorithms=MD2\n"


def java_options():
    return (f"-Djava.security.properties={JAVA_SECURITY}",)


class Materials:
    """The certificates of a cluster's listeners and of its clients, in the cluster's folder."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = certificates.Authority(folder, "ca")
        self.other_ca = certificates.Authority(folder, "other", common_name="Other CA")
        self.broker = self.ca.issue("broker", names=certificates.LOCAL, key=certificates.RSA)
        self.client = self.ca.issue("client", "client", usage="clientAuth", key=certificates.RSA)

    def properties(self, *more):
        """Returns the properties of a client that trusts the CA, without its own certificate."""
        return ["security.protocol=ssl", f"ssl.ca.location={self.ca.certificate}", *more]

    def identity(self, own=None, key=None):
        """Returns the properties of a client's own certificate."""
        own = own or self.client
        return [f"ssl.certificate.location={own.certificate}", f"ssl.key.location={key or own.key}"]


def listener(name, keystore, **settings):
    """Returns a listener with a PEM keystore; in the names of further settings `_` is for a dot."""
    others = {key.replace("_", "."): value for key, value in settings.items()}
    return kafka.Listener(name, "SSL", {"ssl.keystore.type": "PEM", "ssl.keystore.location": keystore, **others})


def mutual(name, keystore, ca, **settings):
    """Returns a listener that requires certificates of clients."""
    return listener(name, keystore, ssl_client_auth="required", ssl_truststore_type="PEM", ssl_truststore_location=ca, **settings)


def two_listeners(folder):
    """TLS without and with certificates of clients, for Cluster(listeners=two_listeners)."""
    made = Materials(folder)
    return [listener("TLS", made.broker.keystore), mutual("MTLS", made.broker.keystore, made.ca.certificate)]
