//! The decision on a chain: by rustls-webpki, and by this module for leaves that rustls-webpki does not support.

use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, KeyUsage, VerifiedPath};

use super::chain::{self, End, Event, Examination, Examined};
use super::fault::FaultKind;
use super::policy::Policy;
use super::signature::Algorithms;
use crate::x509::Certificate;

/// The verification of one chain.
pub(super) struct Authority<'p> {
    pub(super) policy: &'p Policy,
    pub(super) algorithms: Algorithms<'p>,
    pub(super) now: UnixTime,
}

impl<'p> Authority<'p> {
    /// Verifies a chain with rustls-webpki, and examines the chain that it found. If it found none, examines the most
    /// plausible chain for its faults.
    pub(super) fn examine<'c>(
        &self,
        examination: &Examination<'_>,
        leaf: Certificate<'c>,
        leaf_der: &'c CertificateDer<'_>,
        intermediates: &'c [CertificateDer<'_>],
    ) -> Examined<'c>
    where
        'p: 'c,
    {
        let error = match self.webpki_path(leaf, leaf_der, intermediates) {
            Ok(links) => return examination.examine(links, End::Verified),
            Err(error) => error,
        };
        let (links, end) = chain::assemble(examination, leaf, intermediates, &self.policy.roots);
        let mut examined = examination.examine(links, end);
        if !self.decides_without_webpki(&examined) {
            add_webpki_fault(&mut examined, error);
        }
        examined
    }

    /// Returns the links of the chain that rustls-webpki accepts, from leaf to root.
    fn webpki_path<'c>(
        &self,
        leaf: Certificate<'c>,
        leaf_der: &'c CertificateDer<'_>,
        intermediates: &'c [CertificateDer<'_>],
    ) -> Result<Vec<Certificate<'c>>, webpki::Error>
    where
        'p: 'c,
    {
        let roots = &self.policy.roots;
        let leaf_cert = EndEntityCert::try_from(leaf_der)?;
        let check_root = |path: &VerifiedPath<'_>| self.check_root(path);
        let path = leaf_cert.verify_for_usage(
            self.algorithms,
            roots.anchors(),
            intermediates,
            self.now,
            KeyUsage::server_auth(),
            None,
            Some(&check_root),
        )?;
        let mut links = vec![leaf];
        for used in path.intermediate_certificates() {
            // The path's certificates are among the presented ones.
            let der = used.der();
            let presented = intermediates
                .iter()
                .find(|presented| presented.as_ref() == der.as_ref());
            let read = presented.and_then(|presented| Certificate::read(presented).ok());
            links.push(read.ok_or(webpki::Error::BadDer)?);
        }
        let root = roots
            .certificate_of(path.anchor())
            .ok_or(webpki::Error::UnknownIssuer)?;
        links.push(Certificate::read(root).map_err(|_| webpki::Error::BadDer)?);
        Ok(links)
    }

    /// Checks what rustls-webpki does not check in trust anchors. After an error it tries other paths.
    fn check_root(&self, path: &VerifiedPath<'_>) -> Result<(), webpki::Error> {
        let root = self
            .policy
            .roots
            .certificate_of(path.anchor())
            .ok_or(webpki::Error::UnknownIssuer)?;
        let root = Certificate::read(root).map_err(|_| webpki::Error::BadDer)?;
        let now = i64::try_from(self.now.as_secs()).unwrap_or(i64::MAX);
        let seconds = |time: i64| {
            rustls::pki_types::UnixTime::since_unix_epoch(std::time::Duration::from_secs(
                u64::try_from(time).unwrap_or(0),
            ))
        };
        if root.not_after.0 < now {
            return Err(webpki::Error::CertExpired {
                time: self.now,
                not_after: seconds(root.not_after.0),
            });
        }
        if root.not_before.0 > now {
            return Err(webpki::Error::CertNotValidYet {
                time: self.now,
                not_before: seconds(root.not_before.0),
            });
        }
        if root.extensions.unknown_critical.is_some() {
            return Err(webpki::Error::UnsupportedCriticalExtension);
        }
        if !root.is_ca() {
            return Err(webpki::Error::EndEntityUsedAsCa);
        }
        if !root.allows_server_auth() {
            return Err(webpki::Error::ExtensionValueInvalid);
        }
        let below = path
            .intermediate_certificates()
            .filter(|cert| cert.issuer() != cert.subject())
            .count();
        let limit = root
            .extensions
            .basic_constraints
            .and_then(|constraints| constraints.path_len);
        if limit.is_some_and(|limit| u32::try_from(below).is_ok_and(|below| below > limit)) {
            return Err(webpki::Error::PathLenConstraintViolated);
        }
        Ok(())
    }

    /// Returns whether a chain is of a kind that rustls-webpki does not support and that the examination alone decides: the leaf
    /// itself is trusted, or a trusted CA has signed it directly and it has version 1 or the flag of a CA. Name constraints are
    /// examined by rustls-webpki alone.
    fn decides_without_webpki(&self, examined: &Examined<'_>) -> bool {
        let (leaf, issuer) = match examined.links.as_slice() {
            [leaf] => (leaf, None),
            [leaf, issuer] => (leaf, Some(issuer)),
            _ => return false,
        };
        let odd = leaf.version < 3
            || leaf
                .extensions
                .basic_constraints
                .is_some_and(|constraints| constraints.ca);
        examined.end == End::Trusted
            && match issuer {
                None => true,
                Some(issuer) => odd && !issuer.extensions.name_constraints,
            }
    }
}

/// Adds the fault that rustls-webpki found, unless the examination has found it, too.
fn add_webpki_fault(examined: &mut Examined<'_>, error: webpki::Error) {
    let constrained = examined
        .links
        .iter()
        .skip(1)
        .any(|link| link.extensions.name_constraints);
    let kind = translate(&error);
    // An odd leaf directly below a trusted CA is refused for that CA's name constraints alone.
    let constraints_alone = constrained && kind == FaultKind::UnsupportedLeaf && examined.links.len() == 2;
    if !constraints_alone && !examined.faults().any(|found| explains(found, &kind)) {
        examined.events.push(Event::Fault {
            depth: 0,
            kind: kind.clone(),
        });
    }
    if constrained && kind != FaultKind::NameConstraints {
        // rustls-webpki stopped before the name constraints, and a callback may forgive the fault.
        examined.events.push(Event::Fault {
            depth: 0,
            kind: FaultKind::NameConstraintsUnchecked,
        });
    }
}

/// Returns whether a fault of the examination is the reason for a fault that rustls-webpki found.
fn explains(found: &FaultKind, webpki: &FaultKind) -> bool {
    use FaultKind as F;
    if found.x509_code() == webpki.x509_code() {
        return true;
    }
    match webpki {
        // rustls-webpki verifies no signature of short keys or old digests.
        F::BadSignature | F::UnsupportedSignature(_)
            if matches!(found, F::WeakLeafKey(_) | F::WeakCaKey(_) | F::WeakSignature(_)) =>
        {
            true
        }
        // Without a way to a trusted CA it reports the last certificate that it tried.
        F::BadSignature | F::Expired | F::NotYetValid | F::UnsupportedLeaf => {
            matches!(found, F::SelfSigned | F::UntrustedRoot | F::UnknownIssuer | F::NotACa)
        }
        // Its default.
        F::UnknownIssuer => matches!(
            found,
            F::SelfSigned | F::UntrustedRoot | F::NotACa | F::WrongPurpose | F::Expired | F::NotYetValid
        ),
        // A certificate of a CA that cannot be used as an issuer.
        F::NotACa => matches!(found, F::SelfSigned | F::UntrustedRoot | F::UnknownIssuer),
        _ => false,
    }
}

fn translate(error: &webpki::Error) -> FaultKind {
    use webpki::Error as E;
    match error {
        E::UnknownIssuer => FaultKind::UnknownIssuer,
        E::CertExpired { .. } | E::InvalidCertValidity => FaultKind::Expired,
        E::CertNotValidYet { .. } => FaultKind::NotYetValid,
        E::InvalidSignatureForPublicKey => FaultKind::BadSignature,
        E::UnsupportedSignatureAlgorithmContext(_) | E::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            FaultKind::UnsupportedSignature("of the chain".to_owned())
        }
        E::RequiredEkuNotFoundContext(_) | E::ExtensionValueInvalid | E::EmptyEkuExtension => FaultKind::WrongPurpose,
        E::EndEntityUsedAsCa => FaultKind::NotACa,
        E::CaUsedAsEndEntity | E::UnsupportedCertVersion => FaultKind::UnsupportedLeaf,
        E::UnsupportedCriticalExtension => FaultKind::CriticalExtension("of the chain".to_owned()),
        E::PathLenConstraintViolated => FaultKind::PathTooLong,
        E::NameConstraintViolation => FaultKind::NameConstraints,
        E::MaximumPathDepthExceeded => FaultKind::ChainTooLong,
        other => FaultKind::Other(format!("{other:?}")),
    }
}
