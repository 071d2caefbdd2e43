//! TLS of HTTPS connections, with the verification of ottla-tls.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use ottla_tls::verify::{self, CertificateFault, FaultKind, Policy, ServerVerifier};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

use super::error::HttpError;
use super::proxy::Proxy;
use super::trust::HttpsTrust;
use super::url::Url;

/// Establishes TLS on connections for `https`.
pub(super) struct TlsConnector {
    /// Without a configuration, no connection needs TLS.
    config: Option<Arc<ClientConfig>>,
}

impl TlsConnector {
    /// Creates a connector for one request. Reads the trusted certificates if the URL or the proxy needs TLS.
    pub(super) fn new(trust: &HttpsTrust, url: &Url, proxy: Option<&Proxy>) -> Result<Self, HttpError> {
        if !url.is_https() && !proxy.is_some_and(|proxy| proxy.is_https) {
            return Ok(TlsConnector { config: None });
        }
        let (roots, _warnings) = trust.load().map_err(|error| HttpError::new(error.0))?;
        let policy = Policy {
            roots,
            revocation: None,
            check_certificate: true,
            check_name: true,
            callback: None,
        };
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = Arc::new(ServerVerifier::new(Arc::new(policy), &provider));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| HttpError::new(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(TlsConnector {
            config: Some(Arc::new(config)),
        })
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConnector")
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, TlsTransport>;

    fn connect(&self, details: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        let Some(transport) = chained else {
            return Ok(None);
        };
        if !details.needs_tls() || transport.is_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let config = self.config.clone().ok_or(Error::TlsRequired)?;
        let host = details.uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = verify::server_name(host)
            .ok_or_else(|| other(format!("{host} is not a host name that a certificate can have")))?;
        let mut conn = ClientConnection::new(config, name).map_err(|error| other(rustls_text(&error)))?;
        let mut sock = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        sock.set_timeout(details.timeout);
        while conn.is_handshaking() {
            conn.complete_io(&mut sock).map_err(io_error)?;
        }
        let config = details.config;
        Ok(Some(Either::B(TlsTransport {
            buffers: LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size()),
            stream: StreamOwned::new(conn, sock),
        })))
    }
}

/// A TLS connection.
pub(super) struct TlsTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsTransport")
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        self.stream.write_all(output).map_err(io_error)?;
        self.stream.flush().map_err(io_error)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.get_mut().set_timeout(timeout);
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input).map_err(io_error)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

fn other(text: String) -> Error {
    Error::Other(text.into())
}

/// Converts an error of a TLS connection: one of TLS, one of ureq (a timeout), or one of the socket.
fn io_error(error: io::Error) -> Error {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(tls) => other(rustls_text(tls)),
        None => Error::from(error),
    }
}

fn rustls_text(error: &rustls::Error) -> String {
    let text = match error {
        rustls::Error::PeerIncompatible(cause) => format!("no common parameters with the server: {cause:?}"),
        rustls::Error::InvalidCertificate(_) => match verify::fault_of(error) {
            Some(fault) => fault_text(fault),
            None => error.to_string(),
        },
        _ => match ottla_tls::Failure::from(error.clone()) {
            ottla_tls::Failure::NotTls => "the server does not speak TLS: is http:// meant?".to_owned(),
            failure => failure.to_string(),
        },
    };
    format!("SSL handshake failed: {text}")
}

/// Describes a fault as `CertificateFault` itself does, for another kind of server and its properties.
fn fault_text(fault: &CertificateFault) -> String {
    let owner = match fault.depth {
        0 => "the server's certificate",
        _ => "a CA certificate in the server's chain",
    };
    let certificate = match &fault.certificate {
        Some(certificate) => format!("{certificate}; "),
        None => String::new(),
    };
    let names = match fault.names_presented.is_empty() {
        true => "no names presented".to_owned(),
        false => format!("names presented: {}", fault.names_presented.join(", ")),
    };
    let plural = if fault.ca_count == 1 { "" } else { "s" };
    let property = match fault.kind {
        FaultKind::WrongName | FaultKind::WrongAddress => "sasl.oauthbearer.token.endpoint.url",
        FaultKind::Expired | FaultKind::NotYetValid => "the validity period and this machine's clock",
        _ => "https.ca.location or https.ca.pem",
    };
    format!(
        "certificate verify failed: {owner} is refused: {} ({certificate}{names}, name wanted: {}; {} trusted CA \
         certificate{plural} from {}): check {property}",
        fault.kind, fault.name_wanted, fault.ca_count, fault.ca_source
    )
}
