//! The faults of a chain, in the order in which OpenSSL finds them.
//!
//! The order is part of the interface: the application's callback is called for each fault, then for each certificate from the
//! root to the leaf.

use rustls::pki_types::CertificateDer;

use super::fault::FaultKind;
use super::host_name::{self, Wanted};
use super::policy::Policy;
use super::signature::{self, Algorithms, RSA_BITS_MIN};
use crate::roots::CaStore;
use crate::x509::Certificate;
use crate::x509::certificate::{DIGITAL_SIGNATURE, KEY_AGREEMENT, KEY_CERT_SIGN, KEY_ENCIPHERMENT};
use crate::x509::names;
use crate::x509::time::Timestamp;

/// Maximum number of certificates of an assembled chain; rustls-webpki allows 8.
const LINKS_MAX: usize = 10;
/// Maximum number of issuers of one certificate whose keys are tried.
const ISSUERS_MAX: usize = 16;

/// A step of OpenSSL's verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// A certificate violates a rule.
    Fault { depth: usize, kind: FaultKind },
    /// The verification has reached a certificate on its way from the root to the leaf.
    Passed { depth: usize },
}

/// The end of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// rustls-webpki has verified all signatures up to a trusted certificate.
    Verified,
    /// The last certificate is trusted.
    Trusted,
    /// The last certificate is self-signed and not trusted.
    SelfSigned,
    /// The issuer of the last certificate is missing.
    Open,
    /// The chain is too long.
    TooLong,
}

/// A chain with its faults.
#[derive(Debug)]
pub(super) struct Examined<'c> {
    /// From leaf to root; at least the leaf.
    pub(super) links: Vec<Certificate<'c>>,
    pub(super) end: End,
    pub(super) events: Vec<Event>,
}

impl Examined<'_> {
    pub(super) fn faults(&self) -> impl Iterator<Item = &FaultKind> {
        self.events.iter().filter_map(|event| match event {
            Event::Fault { kind, .. } => Some(kind),
            Event::Passed { .. } => None,
        })
    }

    /// Returns the different faults besides one.
    pub(super) fn other_faults(&self, first: &FaultKind) -> Vec<FaultKind> {
        let mut others: Vec<FaultKind> = Vec::new();
        for fault in self.faults() {
            // A missing issuer is reported already.
            if fault != first && *fault != FaultKind::Unverifiable && !others.contains(fault) {
                others.push(fault.clone());
            }
        }
        others
    }
}

/// The rules and the time of an examination.
pub(super) struct Examination<'e> {
    pub(super) policy: &'e Policy,
    pub(super) algorithms: Algorithms<'e>,
    pub(super) now: Timestamp,
    pub(super) wanted: Option<&'e Wanted>,
}

/// Assembles the most plausible chain from a leaf, the other certificates that the broker sent, and the trusted ones.
pub(super) fn assemble<'c>(
    examination: &Examination<'_>,
    leaf: Certificate<'c>,
    presented: &'c [CertificateDer<'_>],
    roots: &'c CaStore,
) -> (Vec<Certificate<'c>>, End) {
    let mut links = vec![leaf];
    let mut last = leaf;
    while links.len() <= LINKS_MAX {
        if roots.contains(last.der) {
            return (links, End::Trusted);
        }
        if is_self_signed(&last) {
            return (links, End::SelfSigned);
        }
        let trusted = best_issuer(examination, &last, roots.certificates(), &links);
        let issuer = match trusted {
            Some((issuer, true)) => Some(issuer),
            // The broker's may have the key that no trusted one of this name has.
            Some((issuer, false)) => match best_issuer(examination, &last, presented, &links) {
                Some((better, true)) => Some(better),
                _ => Some(issuer),
            },
            None => best_issuer(examination, &last, presented, &links).map(|(issuer, _)| issuer),
        };
        let Some(issuer) = issuer else {
            return (links, End::Open);
        };
        links.push(issuer);
        last = issuer;
    }
    (links, End::TooLong)
}

/// Returns whether a certificate is signed with its own key, by its names and key identifiers.
fn is_self_signed(certificate: &Certificate<'_>) -> bool {
    certificate.self_issued() && identifiers_agree(certificate, certificate)
}

/// Returns whether the key identifiers allow that `issuer` signed `certificate`.
fn identifiers_agree(certificate: &Certificate<'_>, issuer: &Certificate<'_>) -> bool {
    match (
        certificate.extensions.authority_key_id,
        issuer.extensions.subject_key_id,
    ) {
        (Some(wanted), Some(own)) => wanted == own,
        _ => true,
    }
}

/// Returns the most plausible issuer of a certificate and whether its key verifies the signature: one that does before
/// others, then one that is valid now, then the first.
fn best_issuer<'c>(
    examination: &Examination<'_>,
    certificate: &Certificate<'_>,
    candidates: &'c [CertificateDer<'_>],
    links: &[Certificate<'c>],
) -> Option<(Certificate<'c>, bool)> {
    let mut best: Option<(Certificate<'c>, (bool, bool))> = None;
    let mut tried = 0;
    for candidate in candidates {
        let Ok(issuer) = Certificate::read(candidate) else {
            continue;
        };
        if issuer.subject != certificate.issuer
            || !identifiers_agree(certificate, &issuer)
            || links.iter().any(|link| link.der == issuer.der)
        {
            continue;
        }
        tried += 1;
        if tried > ISSUERS_MAX {
            break;
        }
        let verifies = signature::verify(examination.algorithms, &certificate.signed, &issuer.public_key).is_ok();
        let current = (issuer.not_before..=issuer.not_after).contains(&examination.now);
        let rank = (verifies, current);
        if best.as_ref().is_none_or(|(_, best_rank)| rank > *best_rank) {
            best = Some((issuer, rank));
        }
    }
    best.map(|(issuer, (verifies, _))| (issuer, verifies))
}

impl Examination<'_> {
    /// Lists the faults of a chain.
    pub(super) fn examine<'c>(&self, links: Vec<Certificate<'c>>, end: End) -> Examined<'c> {
        let mut events = Vec::new();
        let mut fault = |depth: usize, kind: FaultKind| events.push(Event::Fault { depth, kind });
        let last = links.len().saturating_sub(1);
        let Some(leaf) = links.first() else {
            return Examined { links, end, events };
        };
        if let Some(bits) = short_key(leaf) {
            fault(0, FaultKind::WeakLeafKey(bits));
        }
        match end {
            End::Verified | End::Trusted => {}
            End::SelfSigned if last == 0 => fault(0, FaultKind::SelfSigned),
            End::SelfSigned => fault(last, FaultKind::UntrustedRoot),
            End::Open => fault(last, FaultKind::UnknownIssuer),
            End::TooLong => fault(last, FaultKind::ChainTooLong),
        }
        check_extensions(&links, &mut fault);
        check_algorithms(&links, &mut fault);
        self.check_name(leaf, &mut fault);
        self.check_revocation(&links, &mut fault);
        self.check_signatures_and_dates(&links, end, &mut events);
        Examined { links, end, events }
    }

    fn check_name(&self, leaf: &Certificate<'_>, fault: &mut impl FnMut(usize, FaultKind)) {
        if !self.policy.check_name {
            return;
        }
        match self.wanted {
            Some(wanted) if host_name::compare(leaf, wanted).is_some() => {}
            Some(Wanted::Address(_)) => fault(0, FaultKind::WrongAddress),
            _ => fault(0, FaultKind::WrongName),
        }
    }

    fn check_revocation(&self, links: &[Certificate<'_>], fault: &mut impl FnMut(usize, FaultKind)) {
        let (Some(lists), Some(leaf)) = (&self.policy.revocation, links.first()) else {
            return;
        };
        let issuer = match links.get(1) {
            None if is_self_signed(leaf) => Some(leaf),
            issuer => issuer,
        };
        if let Err(faults) = lists.check(self.algorithms, leaf, issuer, self.now) {
            faults.into_iter().for_each(|kind| fault(0, kind));
        }
    }

    /// Follows the chain from the root to the leaf.
    fn check_signatures_and_dates(&self, links: &[Certificate<'_>], end: End, events: &mut Vec<Event>) {
        let mut issuer: Option<&Certificate<'_>> = None;
        for (depth, link) in links.iter().enumerate().rev() {
            if issuer.is_some_and(|issuer| !issuer.allows(KEY_CERT_SIGN)) {
                events.push(Event::Fault {
                    depth: depth + 1,
                    kind: FaultKind::IssuerUsage,
                });
            }
            let mut fault = |kind: FaultKind| events.push(Event::Fault { depth, kind });
            match issuer {
                // OpenSSL starts below a certificate whose issuer is missing.
                None if end == End::Open && depth > 0 => {
                    issuer = Some(link);
                    continue;
                }
                None if end == End::Open => fault(FaultKind::Unverifiable),
                None => {}
                Some(_) if end == End::Verified => {}
                Some(issuer) => {
                    if let Err(kind) = signature::verify(self.algorithms, &link.signed, &issuer.public_key) {
                        let reported = matches!(kind, FaultKind::WeakSignature(_)) || short_key(issuer).is_some();
                        if !reported {
                            fault(kind);
                        }
                    }
                }
            }
            if self.now < link.not_before {
                fault(FaultKind::NotYetValid);
            }
            if self.now > link.not_after {
                fault(FaultKind::Expired);
            }
            events.push(Event::Passed { depth });
            issuer = Some(link);
        }
    }
}

fn short_key(certificate: &Certificate<'_>) -> Option<usize> {
    certificate.public_key.rsa_bits().filter(|bits| *bits < RSA_BITS_MIN)
}

/// Checks extensions and purposes from the leaf upwards.
fn check_extensions(links: &[Certificate<'_>], fault: &mut impl FnMut(usize, FaultKind)) {
    let mut below = 0_u32;
    for (depth, link) in links.iter().enumerate() {
        if let Some(oid) = link.extensions.unknown_critical {
            fault(depth, FaultKind::CriticalExtension(names::dotted(oid)));
        }
        let is_ca = link.is_ca();
        // Only the last certificate, which is trusted by itself, may do without basic constraints.
        let needs_constraints = depth > 0 && depth + 1 < links.len();
        let constrained = link
            .extensions
            .basic_constraints
            .is_some_and(|constraints| constraints.ca);
        if depth > 0 && !is_ca || needs_constraints && !constrained {
            fault(depth, FaultKind::NotACa);
        }
        let usage = match depth {
            0 => link.allows(DIGITAL_SIGNATURE | KEY_ENCIPHERMENT | KEY_AGREEMENT),
            _ => is_ca,
        };
        if !usage || !link.allows_server_auth() {
            fault(depth, FaultKind::WrongPurpose);
        }
        let limit = link
            .extensions
            .basic_constraints
            .and_then(|constraints| constraints.path_len);
        if depth > 1 && limit.is_some_and(|limit| below > limit) {
            fault(depth, FaultKind::PathTooLong);
        }
        if depth > 0 && !link.self_issued() {
            below += 1;
        }
    }
}

/// Checks keys of CAs, and digests of signatures except for the last one, which nothing depends on.
fn check_algorithms(links: &[Certificate<'_>], fault: &mut impl FnMut(usize, FaultKind)) {
    for (depth, link) in links.iter().enumerate() {
        if let Some(bits) = short_key(link).filter(|_| depth > 0) {
            fault(depth, FaultKind::WeakCaKey(bits));
        }
        if let Some(weak) = signature::weak_algorithm(&link.signed).filter(|_| depth + 1 < links.len()) {
            fault(depth, FaultKind::WeakSignature(weak));
        }
    }
}
