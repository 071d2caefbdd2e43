//! Properties of encryption and authentication.

/// Passes its rows to the macro of the next table.
macro_rules! security_rows {
    ($next:ident $($more:ident)* ; $($rows:tt)*) => { $next! { $($more)* ; $($rows)*

"security.protocol" security_protocol: Choice
    = choice(&[("plaintext", 0), ("ssl", 1), ("sasl_plaintext", 2), ("sasl_ssl", 3)], 0).high() =>
    "How to talk to brokers: encrypted (`ssl`, `sasl_ssl`) or not, authenticated (`sasl_...`) or not.";
"ssl.cipher.suites" ssl_cipher_suites: String = text() =>
    "Cipher suites for TLS 1.2 to offer, the preferred one first, as an OpenSSL cipher list. The suites of TLS 1.3 are always \
     offered. Names without a suite in this build are ignored with a warning; a list of which nothing is left is refused.";
"ssl.curves.list" ssl_curves_list: String = text() =>
    "Groups to offer for the key exchange, the preferred one first, separated by colons: `X25519:P-256`. A name without a \
     group in this build is refused.";
"ssl.sigalgs.list" ssl_sigalgs_list: String = text() =>
    "Signature algorithms to offer, the preferred one first, separated by colons: `RSA+SHA256:ECDSA+SHA256` or \
     `rsa_pss_rsae_sha256`.";
"ssl.key.location" ssl_key_location: Secret = text().sensitive() =>
    "File with the client's private key (PEM: PKCS#8, PKCS#1 or SEC1, plain or encrypted).";
"ssl.key.password" ssl_key_password: Secret = text().sensitive() =>
    "Passphrase of the client's private key, for each of its sources but `ssl.keystore.location`.";
"ssl.key.pem" ssl_key_pem: Secret = text().sensitive() =>
    "The client's private key itself (PEM).";
"ssl_key" ssl_key: usize = pointer("rd_kafka_conf_set_ssl_cert").sensitive() =>
    "The client's private key from memory.";
"ssl.certificate.location" ssl_certificate_location: String = text() =>
    "File with the client's certificate, followed by the intermediate ones (PEM).";
"ssl.certificate.pem" ssl_certificate_pem: String = text() =>
    "The client's certificate itself, followed by the intermediate ones (PEM).";
"ssl_certificate" ssl_certificate: usize = pointer("rd_kafka_conf_set_ssl_cert") =>
    "The client's certificate from memory.";
"ssl.ca.location" ssl_ca_location: String = text() =>
    "File (PEM) or directory with the certificates of the authorities that brokers' certificates are verified with; `probe` \
     uses the first of the operating systems' usual places that has certificates. Not set, and without `ssl.ca.pem`: the \
     operating system's certificates (`SSL_CERT_FILE` and `SSL_CERT_DIR` in the environment take precedence).";
"https.ca.location" https_ca_location: String = text() =>
    "File or folder with the certificates of the authorities for HTTPS endpoints (OAUTHBEARER with `oidc`); `probe` \
     looks in the system's usual places. Not together with `https.ca.pem`.";
"https.ca.pem" https_ca_pem: String = text() =>
    "The certificates of the authorities for HTTPS endpoints themselves (PEM). Not together with `https.ca.location`.";
"ssl.ca.pem" ssl_ca_pem: Secret = text().sensitive() =>
    "The certificates of the authorities themselves (PEM), in addition to those of `ssl.ca.location`.";
"ssl_ca" ssl_ca: usize = pointer("rd_kafka_conf_set_ssl_cert") =>
    "The certificates of the authorities from memory. Not together with `ssl.ca.location` or `ssl.ca.pem`.";
"ssl.ca.certificate.stores" ssl_ca_certificate_stores: String = text_or("Root").windows_only() =>
    "Windows certificate stores to take the authorities from, separated by commas. Cannot be set on other systems.";
"ssl.crl.location" ssl_crl_location: String = text() =>
    "File with certificate revocation lists (PEM). Brokers' own certificates are looked up in them, those of authorities are \
     not; without a current list of a certificate's issuer the certificate is refused.";
"ssl.keystore.location" ssl_keystore_location: String = text() =>
    "File with the client's key and certificate (PKCS#12). Needs `ssl.keystore.password`.";
"ssl.keystore.password" ssl_keystore_password: Secret = text().sensitive() =>
    "Password of `ssl.keystore.location`.";
"ssl.providers" ssl_providers: String = text() =>
    "OpenSSL 3 providers, separated by commas. OpenSSL is not used here: `default` and `legacy`, whose formats are read \
     without them, have no effect, others are refused.";
"ssl.engine.location" ssl_engine_location: String = text().deprecated() =>
    "OpenSSL engine to load. OpenSSL is not used here: refused with encryption.";
"ssl.engine.id" ssl_engine_id: String = text_or("dynamic") =>
    "Name of the OpenSSL engine. OpenSSL is not used here: refused with encryption.";
"ssl_engine_callback_data" ssl_engine_callback_data: usize = pointer("rd_kafka_conf_set_engine_callback_data") =>
    "The application's pointer for the OpenSSL engine.";
"enable.ssl.certificate.verification" enable_ssl_certificate_verification: bool = switch(true) =>
    "Verify brokers' certificates. Switched off, any host can pose as a broker.";
"ssl.endpoint.identification.algorithm" ssl_endpoint_identification_algorithm: Choice
    = choice(&[("none", 0), ("https", 1)], 1) =>
    "Whether a broker's certificate must name the host that was connected to (`https`, RFC 2818) or need not (`none`).";
"ssl.certificate.verify_cb" ssl_certificate_verify_cb: usize = pointer("rd_kafka_conf_set_ssl_cert_verify_cb") =>
    "Called for each certificate of a broker's chain, to accept or refuse it. Excludes the resumption of sessions.";
"ssl.certificate.refresh.interval.ms" ssl_certificate_refresh_interval_ms: u32 = int(0, 86_400_000, 5000).ms() =>
    "Minimum time between two looks at the files of certificates, keys, authorities and revocation lists. They are looked at \
     before connections are opened, which use the files as they are then; files that cannot be used leave those before in \
     use, with a line in the log. 0 reads them only when the client is created. Not in librdkafka.";
"ssl.certificate.refresh.reconnect.ms" ssl_certificate_refresh_reconnect_ms: u32 = int(0, 86_400_000, 0).ms() =>
    "Time within which open connections are replaced, one after another and with no request in flight, when certificates \
     have changed. With it the files are looked at in each `ssl.certificate.refresh.interval.ms`, also when no connection is \
     opened. 0 keeps open connections. Not in librdkafka.";
"sasl.mechanisms" sasl_mechanisms: String
    = text_or("GSSAPI").check(TextCheck::SingleItem).also(&["sasl.mechanism"]).high() =>
    "How to authenticate: one of GSSAPI, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER. One name only, in spite of \
     the property's. `docs/SASL.md` has the settings of each.";
"sasl.kerberos.service.name" sasl_kerberos_service_name: String = text_or("kafka") =>
    "Kerberos service name of the brokers, without host and realm.";
"sasl.kerberos.principal" sasl_kerberos_principal: String = text_or("kafkaclient") =>
    "The client's Kerberos principal, of which `sasl.kerberos.keytab` has a key. With the default, the keytab's first \
     principal is used; without a keytab, that of the ticket cache.";
"sasl.kerberos.kinit.cmd" sasl_kerberos_kinit_cmd: String
    = text_or("kinit -R -t \"%{sasl.kerberos.keytab}\" -k %{sasl.kerberos.principal} || \
               kinit -t \"%{sasl.kerberos.keytab}\" -k %{sasl.kerberos.principal}") =>
    "Shell command that acquires or renews the tickets of the default Kerberos cache. The default does not run: \
     tickets of `sasl.kerberos.keytab` need no command, and connections do not use those of a command if a keytab is set. `%{property}` is replaced by the property's value.";
"sasl.kerberos.keytab" sasl_kerberos_keytab: String = text() =>
    "Kerberos keytab: the client acquires and renews tickets with it, in its own memory. Without it, the tickets of the \
     default cache are used.";
"sasl.kerberos.min.time.before.relogin" sasl_kerberos_min_time_before_relogin: u32
    = int(0, 86_400_000, 60_000).ms() =>
    "Time between the starts of two runs of `sasl.kerberos.kinit.cmd`; 0 never runs it.";
"sasl.username" sasl_username: Secret = text().high().sensitive() =>
    "User name for PLAIN and SCRAM. `rd_kafka_sasl_set_credentials()` replaces it in a running client.";
"sasl.password" sasl_password: Secret = text().high().sensitive() =>
    "Password for PLAIN and SCRAM. `rd_kafka_sasl_set_credentials()` replaces it in a running client.";
"sasl.oauthbearer.config" sasl_oauthbearer_config: Secret = text().sensitive() =>
    "Settings for the application's token refresh callback. For the built-in unsecured tokens `principal=`, `scope=`, \
     `lifeSeconds=` and the like, separated by spaces; for `azure_imds` `query=`, among pairs separated by commas; for \
     `aws_iam` `region=`, `profile=`, `audience=` and the like, separated by spaces.";
"enable.sasl.oauthbearer.unsecure.jwt" enable_sasl_oauthbearer_unsecure_jwt: bool = switch(false) =>
    "Create unsigned OAUTHBEARER tokens. For tests only: such tokens prove no identity.";
"oauthbearer_token_refresh_cb" oauthbearer_token_refresh_cb: usize
    = pointer("rd_kafka_conf_set_oauthbearer_token_refresh_cb") =>
    "Called when a new OAUTHBEARER token is needed. Precedes `sasl.oauthbearer.method=oidc`.";
"enable_sasl_queue" enable_sasl_queue: bool = switch(false).hidden() =>
    "Put requests for tokens on a queue of their own; see `rd_kafka_conf_enable_sasl_queue()`.";
"sasl.oauthbearer.method" sasl_oauthbearer_method: Choice = choice(&[("default", 0), ("oidc", 1)], 0) =>
    "Where OAUTHBEARER tokens come from: the application (`default`) or an identity provider (`oidc`, KIP-768).";
"sasl.oauthbearer.client.id" sasl_oauthbearer_client_id: String
    = text().also(&["sasl.oauthbearer.client.credentials.client.id"]) =>
    "The application's public name at the identity provider. Needed with `oidc` and grant `client_credentials`.";
"sasl.oauthbearer.client.secret" sasl_oauthbearer_client_secret: Secret
    = text().also(&["sasl.oauthbearer.client.credentials.client.secret"]).sensitive() =>
    "The secret that goes with `sasl.oauthbearer.client.id`. Sent with grant `client_credentials` unless an assertion \
     replaces it, and in addition to the assertion of the other grant.";
"sasl.oauthbearer.scope" sasl_oauthbearer_scope: String = text() =>
    "Scope of access that the token request contains.";
"sasl.oauthbearer.extensions" sasl_oauthbearer_extensions: String = text() =>
    "Additional information for brokers: `key=value` pairs separated by commas (KIP-342).";
"sasl.oauthbearer.token.endpoint.url" sasl_oauthbearer_token_endpoint_url: String = text() =>
    "Address (HTTP or HTTPS) of the identity provider's token endpoint.";
"sasl.oauthbearer.sub.claim.name" sasl_oauthbearer_sub_claim_name: String = text_or("sub") =>
    "The token's claim that holds the principal. A token that is not a JWT is accepted as well, if the provider's answer has \
     `expires_in`; its principal is `sasl.oauthbearer.client.id`.";
"sasl.oauthbearer.grant.type" sasl_oauthbearer_grant_type: Choice
    = choice(&[("client_credentials", 0), ("urn:ietf:params:oauth:grant-type:jwt-bearer", 1)], 0) =>
    "Grant by which the identity provider issues tokens: the client's own credentials (a secret, or an assertion in its \
     place), or an assertion that is exchanged for a token (KIP-1139).";
"sasl.oauthbearer.assertion.algorithm" sasl_oauthbearer_assertion_algorithm: Choice
    = choice(&[("RS256", 0), ("ES256", 1)], 0) =>
    "How the assertion is signed.";
"sasl.oauthbearer.assertion.private.key.file" sasl_oauthbearer_assertion_private_key_file: Secret
    = text().sensitive() =>
    "File with the private key that signs the assertion (PEM). Read for each assertion.";
"sasl.oauthbearer.assertion.private.key.passphrase" sasl_oauthbearer_assertion_private_key_passphrase: Secret
    = text().sensitive() =>
    "Passphrase of the private key that signs the assertion.";
"sasl.oauthbearer.assertion.private.key.pem" sasl_oauthbearer_assertion_private_key_pem: Secret
    = text().sensitive() =>
    "The private key that signs the assertion itself (PEM).";
"sasl.oauthbearer.assertion.file" sasl_oauthbearer_assertion_file: String = text() =>
    "File with a complete assertion, read for each token. Excludes the properties that create one.";
"sasl.oauthbearer.assertion.claim.aud" sasl_oauthbearer_assertion_claim_aud: String = text() =>
    "Audience that the assertion claims. With grant `client_credentials` the default is the token endpoint's URL.";
"sasl.oauthbearer.assertion.claim.exp.seconds" sasl_oauthbearer_assertion_claim_exp_seconds: u32
    = int(1, i32::MAX, 300).seconds() =>
    "Life of an assertion.";
"sasl.oauthbearer.assertion.claim.iss" sasl_oauthbearer_assertion_claim_iss: String = text() =>
    "Issuer that the assertion claims. With grant `client_credentials` the default is `sasl.oauthbearer.client.id`.";
"sasl.oauthbearer.assertion.claim.jti.include" sasl_oauthbearer_assertion_claim_jti_include: bool = switch(false) =>
    "Give each assertion an identifier of its own.";
"sasl.oauthbearer.assertion.claim.nbf.seconds" sasl_oauthbearer_assertion_claim_nbf_seconds: u32
    = int(0, i32::MAX, 60).seconds() =>
    "Time before its creation from which an assertion is valid, for clocks that differ.";
"sasl.oauthbearer.assertion.claim.sub" sasl_oauthbearer_assertion_claim_sub: String = text() =>
    "Subject that the assertion claims. With grant `client_credentials` the default is `sasl.oauthbearer.client.id`.";
"sasl.oauthbearer.assertion.jwt.template.file" sasl_oauthbearer_assertion_jwt_template_file: String = text() =>
    "File (JSON) with the members `header` and `payload`, whose members the assertion has besides its own. Read for each \
     assertion.";
"sasl.oauthbearer.metadata.authentication.type" sasl_oauthbearer_metadata_authentication_type: Choice
    = choice(&[("none", 0), ("azure_imds", 1), ("aws_iam", 2)], 0) =>
    "Cloud service whose identity of the machine or program yields tokens, with `sasl.oauthbearer.method=oidc`: Azure's \
     instance metadata service, or AWS credentials, for Amazon MSK and (with `audience=` in `sasl.oauthbearer.config`) other \
     services. In librdkafka `aws_iam` requires a callback.";

    } };
}
pub(super) use security_rows;
