//! The byte stream of a new connection.

use std::sync::Arc;

use mio::net::TcpStream;
use ottla_tls::ClientTls;

use super::stream::{ByteStream, PlainStream, Refused};
use super::tls::TlsStream;
use crate::connection::{CloseReason, TlsFailure, TlsPeer};

/// Creates the stream of a socket that connects to the broker with that name (`host:port/id`); with TLS if there is a
/// [`TlsPeer`].
pub(super) type StreamFactory =
    Box<dyn Fn(TcpStream, &str, Option<&TlsPeer>) -> Result<Box<dyn ByteStream>, Refused> + Send + Sync>;

/// Returns the factory of a client. If the client has no TLS (`tls` is `None`), refuses connections that require TLS,
/// so that their requests are never sent in plain text.
pub(super) fn stream_factory(tls: Option<Arc<ClientTls>>) -> StreamFactory {
    Box::new(move |socket, broker, peer| match (peer, &tls) {
        (None, _) => Ok(PlainStream::open(socket)),
        (Some(peer), Some(tls)) => TlsStream::open(tls, socket, broker, peer),
        (Some(_), None) => Err(Refused {
            socket,
            reason: CloseReason::Tls(TlsFailure::Other("this client has no TLS".into())),
        }),
    })
}
