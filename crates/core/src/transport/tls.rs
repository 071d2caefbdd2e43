//! Connections with TLS: the byte stream, and checks for changed certificate files (*looks*).

use std::io::IoSlice;
use std::sync::Arc;
use std::task::Poll;

use mio::net::TcpStream;
use ottla_tls::{
    ClientTls, Failure, NoSignal, Peer, Received as Decrypted, Refresh, Session, SessionError, SessionInfo,
};

use super::stream::{ByteStream, Received, Refused, io_reason};
use super::worker::Worker;
use crate::connection::{CertificateRefresh, CloseReason, TlsFailure, TlsPeer, TlsSession};
use crate::sys::Waker;

/// A TLS session over a socket.
pub(super) struct TlsStream {
    socket: NoSignal<TcpStream>,
    session: Session,
}

impl TlsStream {
    /// Returns the TLS stream of a socket that connects to `broker` (`host:port/id`).
    pub(super) fn open(
        tls: &ClientTls,
        socket: TcpStream,
        broker: &str,
        peer: &TlsPeer,
    ) -> Result<Box<dyn ByteStream>, Refused> {
        let peer = Peer {
            host: &peer.host,
            broker,
            broker_id: peer.broker_id,
        };
        match tls.connect(peer) {
            Ok(session) => Ok(Box::new(TlsStream {
                socket: NoSignal(socket),
                session,
            })),
            Err(failure) => Err(Refused {
                socket,
                reason: CloseReason::Tls(tls_failure(failure)),
            }),
        }
    }
}

impl ByteStream for TlsStream {
    fn handshake(&mut self) -> Result<Poll<Option<TlsSession>>, CloseReason> {
        let state = self.session.handshake(&mut self.socket).map_err(close_reason)?;
        Ok(state.map(|info| Some(tls_session(info))))
    }

    fn read(&mut self, buf: &mut [u8]) -> Result<Received, CloseReason> {
        Ok(match self.session.read(&mut self.socket, buf).map_err(close_reason)? {
            Decrypted::Bytes { count, drained } => Received::Bytes { count, drained },
            Decrypted::WouldBlock => Received::WouldBlock,
            Decrypted::End => Received::End,
        })
    }

    fn write(&mut self, slices: &[IoSlice<'_>]) -> Result<Option<usize>, CloseReason> {
        let count = self.session.write(slices).map_err(close_reason)?;
        Ok((count > 0).then_some(count))
    }

    fn flush(&mut self) -> Result<bool, CloseReason> {
        self.session.flush(&mut self.socket).map_err(close_reason)
    }

    fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket.0
    }

    fn into_socket(mut self: Box<Self>) -> TcpStream {
        self.session.close(&mut self.socket);
        self.socket.0
    }
}

fn tls_session(info: SessionInfo) -> TlsSession {
    TlsSession {
        version: info.version,
        cipher_suite: info.cipher_suite,
        resumed: info.resumed,
        peer: info.peer.map(|peer| peer.to_string()),
    }
}

fn close_reason(error: SessionError) -> CloseReason {
    match error {
        SessionError::Io(e) => io_reason(&e),
        SessionError::Tls(failure) => CloseReason::Tls(tls_failure(failure)),
    }
}

fn tls_failure(failure: Failure) -> TlsFailure {
    match failure {
        Failure::Alert(number) => TlsFailure::Alert(number),
        Failure::NotTls => TlsFailure::NotTls,
        Failure::Certificate(text) => TlsFailure::Certificate(text),
        Failure::Other(text) => TlsFailure::Other(text),
    }
}

/// Checks certificate files for changes, and loads changed ones, on a thread of its own.
pub(super) struct CertificateFiles {
    worker: Worker<Arc<ClientTls>, CertificateRefresh>,
    /// Number of looks whose results were not taken yet.
    pending: usize,
}

impl CertificateFiles {
    /// Creates the worker, which calls `waker` when a result is available.
    pub(super) fn new(waker: Arc<dyn Waker>) -> Self {
        CertificateFiles {
            worker: Worker::new("ottla-certs", waker, |tls: Arc<ClientTls>| refresh(&tls)),
            pending: 0,
        }
    }

    /// Begins a look. [`take_results`](Self::take_results) returns its result later.
    pub(super) fn look(&mut self, tls: Arc<ClientTls>) {
        self.pending += 1;
        // If no thread can be started, the look is performed here and blocks.
        self.worker.submit(tls, |tls, _| refresh(&tls));
    }

    /// Returns whether a result is pending.
    pub(super) fn is_looking(&self) -> bool {
        self.pending > 0
    }

    /// Removes and returns the results that have arrived.
    pub(super) fn take_results(&mut self) -> Vec<CertificateRefresh> {
        if self.pending == 0 {
            return Vec::new();
        }
        let results = self.worker.take_results();
        self.pending -= results.len().min(self.pending);
        results
    }
}

fn refresh(tls: &ClientTls) -> CertificateRefresh {
    match tls.refresh() {
        Refresh::Unchanged => CertificateRefresh::Unchanged,
        Refresh::Renewed(warnings) => CertificateRefresh::Renewed(warnings),
        Refresh::Failed(error) => CertificateRefresh::Failed(error.to_string()),
    }
}
