//! TLS of a world's clients: the certificates of each, the looks at their files, and the results of handshakes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ottla_core::connection::{CertificateRefresh, ConnId, TlsFailure};

use crate::plan::{Settings, TlsPlan};
use crate::rng::SeededRng;

/// The result of a handshake on the broker's side.
#[derive(Debug, Clone)]
pub(crate) enum Handshake {
    Secured,
    /// The client detects a failure, or receives an alert.
    Failed(TlsFailure),
    /// The broker refuses the client's certificate after the client's part of the handshake is complete (TLS 1.3).
    RefusedLater(TlsFailure),
    /// The connection breaks.
    Cut,
    /// The broker sends nothing.
    Silence,
}

/// An attempt to connect that waits for a look at certificate files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingConnect {
    pub(crate) conn: ConnId,
    pub(crate) addr: SocketAddr,
}

/// The certificates of one client.
#[derive(Debug)]
struct Certificates {
    /// Looks in progress.
    looks: usize,
    waiting: Vec<WaitingConnect>,
    /// The time of the next change of the files.
    changes_at_us: u64,
    /// Renewals that looks have found.
    renewals: usize,
    /// The time at which the client was notified of each renewal.
    notified_us: Vec<u64>,
}

/// TLS of all clients.
#[derive(Debug)]
pub(crate) struct Tls {
    plan: Option<TlsPlan>,
    rng: SeededRng,
    clients: BTreeMap<usize, Certificates>,
}

impl Tls {
    pub(crate) fn new(plan: Option<TlsPlan>, rng: SeededRng) -> Self {
        Tls {
            plan,
            rng,
            clients: BTreeMap::new(),
        }
    }

    /// Returns true when clients may use TLS.
    pub(crate) fn exists(&self) -> bool {
        self.plan.is_some()
    }

    /// Adds a client. Returns its settings; none for one that does not use TLS.
    pub(crate) fn add_client(&mut self, client: usize, now_us: u64) -> Settings {
        let Some(plan) = &self.plan else {
            return Settings::new();
        };
        if !plan.draw_use(&mut self.rng) {
            return Settings::new();
        }
        let certificates = Certificates {
            looks: 0,
            waiting: Vec::new(),
            changes_at_us: now_us + self.rng.between(0, plan.change_us),
            renewals: 0,
            notified_us: Vec::new(),
        };
        self.clients.insert(client, certificates);
        plan.settings()
    }

    /// Forgets a client that has crashed.
    pub(crate) fn remove_client(&mut self, client: usize) {
        self.clients.remove(&client);
    }

    // ---------------------------------------------------------------- certificates

    /// Returns the number of renewals before a connection that is opened now; `None` for a client without TLS.
    pub(crate) fn renewals(&self, client: usize) -> Option<usize> {
        Some(self.clients.get(&client)?.renewals)
    }

    /// Begins a look at a client's files. Returns its duration.
    pub(crate) fn begin_look(&mut self, client: usize) -> Option<u64> {
        let (plan, certificates) = (self.plan.as_ref()?, self.clients.get_mut(&client)?);
        certificates.looks += 1;
        Some(self.rng.between(0, plan.look_us))
    }

    /// Keeps an attempt to connect while a look is in progress. Returns false when there is none.
    pub(crate) fn keep_connect(&mut self, client: usize, connect: WaitingConnect) -> bool {
        let looking = self.clients.get_mut(&client).filter(|c| c.looks > 0);
        looking.map(|c| c.waiting.push(connect)).is_some()
    }

    /// Removes an attempt to connect that the client has given up.
    pub(crate) fn cancel_connect(&mut self, client: usize, conn: ConnId) {
        if let Some(certificates) = self.clients.get_mut(&client) {
            certificates.waiting.retain(|waiting| waiting.conn != conn);
        }
    }

    /// Ends a look. Returns its result and, after the last look in progress, the attempts that waited. `changes`: files may
    /// have changed; `fails`: they may be unusable.
    pub(crate) fn end_look(
        &mut self,
        client: usize,
        now_us: u64,
        (changes, fails): (bool, bool),
    ) -> Option<(CertificateRefresh, Vec<WaitingConnect>)> {
        let (plan, certificates) = (self.plan.as_ref()?, self.clients.get_mut(&client)?);
        certificates.looks -= 1;
        let result = if !changes || now_us < certificates.changes_at_us {
            CertificateRefresh::Unchanged
        } else {
            certificates.changes_at_us = now_us + self.rng.between(plan.change_us / 2, plan.change_us);
            match fails && self.rng.hit(plan.unusable) {
                true => CertificateRefresh::Failed("the certificate and the key do not match".into()),
                false => {
                    certificates.renewals += 1;
                    CertificateRefresh::Renewed(vec!["the certificate expires soon".into()])
                }
            }
        };
        let waiting = match certificates.looks {
            0 => std::mem::take(&mut certificates.waiting),
            _ => Vec::new(),
        };
        Some((result, waiting))
    }

    /// Stores the time at which a client is notified of a renewal.
    pub(crate) fn on_notified(&mut self, client: usize, now_us: u64) {
        if let Some(certificates) = self.clients.get_mut(&client) {
            certificates.notified_us.push(now_us);
        }
    }

    /// Returns the time after which a connection, opened after this many renewals, must not be used for requests; `None`
    /// where its certificates are current or connections are not replaced.
    pub(crate) fn replaced_by_us(&self, client: usize, renewals: usize) -> Option<u64> {
        let within = self.plan.as_ref()?.reconnect_us()?;
        let notified_us = self.clients.get(&client)?.notified_us.get(renewals)?;
        Some(notified_us + within)
    }

    // ---------------------------------------------------------------- handshakes

    /// Draws the time that a broker takes for a handshake.
    pub(crate) fn handshake_us(&mut self) -> u64 {
        let most = self.plan.as_ref().map_or(0, |plan| plan.handshake_us);
        self.rng.between(0, most)
    }

    /// Draws the result of a handshake.
    pub(crate) fn handshake(&mut self, faults_enabled: bool) -> Handshake {
        let fails = self.plan.as_ref().map_or(0.0, |plan| plan.fails);
        if !faults_enabled || !self.rng.hit(fails) {
            return Handshake::Secured;
        }
        match self.rng.below(8) {
            0 => Handshake::Failed(TlsFailure::Certificate("it has expired".into())),
            1 => Handshake::Failed(TlsFailure::Alert(self.rng.pick(&[40, 42, 46, 70, 80]))),
            2 => Handshake::Failed(TlsFailure::Other("the peer's signature is invalid".into())),
            3 => Handshake::Failed(TlsFailure::NotTls),
            4 => Handshake::RefusedLater(TlsFailure::Alert(self.rng.pick(&[42, 45, 116]))),
            5 | 6 => Handshake::Cut,
            _ => Handshake::Silence,
        }
    }
}
