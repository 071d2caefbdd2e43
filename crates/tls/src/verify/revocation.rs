//! Revocation lists, and the check of a leaf against them.
//!
//! rustls-webpki checks revocation as part of its verification, where an earlier fault hides the result; a callback that forgives
//! that fault must still not hide a revocation. It also rejects lists of version 1, which `openssl ca -gencrl` writes without a
//! `crlnumber` file.

use std::fmt;
use std::ops::Range;

use rustls::pki_types::CertificateRevocationListDer;

use super::fault::FaultKind;
use super::signature::{self, Algorithms};
use crate::x509::Certificate;
use crate::x509::certificate::{CRL_SIGN, PublicKey, Signed, read_extensions};
use crate::x509::der::{ENUMERATED, GENERALIZED_TIME, INTEGER, Malformed, Reader, SEQUENCE, UTC_TIME, single};
use crate::x509::time::{self, Timestamp};

/// Maximum number of lists.
const LISTS_MAX: usize = 1000;
/// Maximum size of one list in bytes.
const LIST_LEN_MAX: usize = 256 << 20;
/// Maximum number of lists of one issuer whose signatures are verified for a certificate.
const CANDIDATES_MAX: usize = 8;

/// Revocation lists of `ssl.crl.location`, read and indexed.
#[derive(Debug, Clone)]
pub struct RevocationLists {
    lists: Vec<List>,
}

#[derive(Clone)]
struct List {
    der: CertificateRevocationListDer<'static>,
    this_update: Timestamp,
    next_update: Option<Timestamp>,
    /// The serial numbers of revoked certificates as places in `der`, sorted by content.
    serials: Vec<Range<u32>>,
    scope: Scope,
    /// A critical extension that is not implemented.
    unknown_critical: bool,
}

/// The certificates that a list covers.
#[derive(Debug, Clone, Default)]
struct Scope {
    /// The list is only for CAs or attribute certificates.
    excludes_leaves: bool,
    /// The list has only some reasons, only changes, or certificates of other issuers.
    partial: bool,
    /// The elements of the distribution point's full name; empty if the list is for all certificates.
    distribution_point: Option<Vec<Vec<u8>>>,
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "List({} revoked, {} to {:?})",
            self.serials.len(),
            self.this_update,
            self.next_update
        )
    }
}

impl RevocationLists {
    /// Reads lists in DER. Their signatures are verified with the certificates that they are used for.
    ///
    /// # Errors
    /// A list cannot be read; the text names it by its number from 1.
    pub fn read(
        lists: impl IntoIterator<Item = impl Into<CertificateRevocationListDer<'static>>>,
    ) -> Result<RevocationLists, String> {
        let mut all = Vec::new();
        for (index, der) in lists.into_iter().enumerate() {
            if index == LISTS_MAX {
                return Err(format!("there are more than {LISTS_MAX} revocation lists"));
            }
            let list = List::read(der.into());
            all.push(list.map_err(|rule| format!("revocation list {} cannot be read: {}", index + 1, rule.0))?);
        }
        Ok(RevocationLists { lists: all })
    }

    /// Returns the number of lists.
    pub fn len(&self) -> usize {
        self.lists.len()
    }

    /// Returns whether there is no list, so that every certificate is refused.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Checks a leaf. `issuer` is its issuer's certificate if the chain has it.
    pub(super) fn check(
        &self,
        algorithms: Algorithms<'_>,
        leaf: &Certificate<'_>,
        issuer: Option<&Certificate<'_>>,
        now: Timestamp,
    ) -> Result<(), Vec<FaultKind>> {
        let Some(issuer) = issuer else {
            return Err(vec![FaultKind::NoRevocationList]);
        };
        let mut candidates: Vec<&List> = self
            .lists
            .iter()
            .filter(|list| !list.scope.partial && list.is_of(leaf.issuer))
            .collect();
        // One that covers the leaf before others, then a current one, then the latest.
        let rank = |list: &&List| {
            (
                list.scope.covers(leaf),
                list.time_fault(now).is_none(),
                list.this_update,
            )
        };
        candidates.sort_by_key(|list| std::cmp::Reverse(rank(list)));
        candidates.truncate(CANDIDATES_MAX);
        let Some(&best) = candidates.first() else {
            return Err(vec![FaultKind::NoRevocationList]);
        };
        let covered = best.scope.covers(leaf);
        candidates.retain(|list| list.scope.covers(leaf) == covered);
        let mut faults = Vec::new();
        if !issuer.allows(CRL_SIGN) {
            faults.push(FaultKind::RevocationListIssuerUsage);
        }
        // Two CAs of the same name have different keys.
        let signed = candidates
            .iter()
            .copied()
            .find(|list| list.is_signed_by(algorithms, &issuer.public_key));
        let list = signed.unwrap_or(best);
        if !covered {
            faults.push(FaultKind::RevocationListScope);
        }
        faults.extend(list.time_fault(now));
        if signed.is_none() {
            faults.push(FaultKind::RevocationListSignature);
        }
        if list.unknown_critical {
            faults.push(FaultKind::RevocationListExtension);
        }
        if list.revokes(leaf.serial) {
            faults.push(FaultKind::Revoked);
        }
        if !covered {
            faults.push(FaultKind::NoRevocationList);
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

impl Scope {
    fn covers(&self, leaf: &Certificate<'_>) -> bool {
        let points = leaf.extensions.crl_distribution_points.unwrap_or_default();
        let listed = |names: &Vec<Vec<u8>>| {
            full_names(points)
                .iter()
                .any(|name| names.iter().any(|own| own == name))
        };
        !self.excludes_leaves && self.distribution_point.as_ref().is_none_or(listed)
    }
}

/// Returns the names of a certificate's distribution points that apply to all reasons.
fn full_names(points: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    let mut points = Reader::new(points);
    while let Ok(point) = points.expect(SEQUENCE) {
        let mut fields = Reader::new(point.content);
        let name = fields.optional(0xa0).ok().flatten();
        // Reasons or another issuer follow.
        if let Some(name) = name.filter(|_| fields.is_empty()) {
            all.extend(elements_of_full_name(name.content));
        }
    }
    all
}

/// Returns the elements of `[0] fullName` of a distribution point's name; none for the relative form.
fn elements_of_full_name(content: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    if let Ok(full) = single(content, 0xa0) {
        let mut names = Reader::new(full.content);
        while let Ok(name) = names.next() {
            all.push(name.whole);
        }
    }
    all
}

impl List {
    fn read(der: CertificateRevocationListDer<'static>) -> Result<Self, Malformed> {
        if der.len() > LIST_LEN_MAX {
            return Err(Malformed("it is too large"));
        }
        let (signed, content) = Signed::read(&der)?;
        let mut fields = Reader::new(content);
        let version = match fields.optional(INTEGER)?.map(|version| version.content) {
            None => 1,
            Some([1]) => 2,
            Some(_) => return Err(Malformed("its version is neither 1 nor 2")),
        };
        if fields.expect(SEQUENCE)?.content != signed.algorithm {
            return Err(Malformed("its two signature algorithms differ"));
        }
        fields.expect(SEQUENCE)?;
        let this_update = time::read(&mut fields)?;
        let next_update = match fields.peek() {
            Some(UTC_TIME | GENERALIZED_TIME) => Some(time::read(&mut fields)?),
            _ => None,
        };
        let base = der.as_ref().as_ptr() as usize;
        let mut unknown_critical = false;
        let mut serials = Vec::new();
        if let Some(revoked) = fields.optional(SEQUENCE)? {
            let mut entries = Reader::new(revoked.content);
            while !entries.is_empty() {
                let mut entry = Reader::new(entries.expect(SEQUENCE)?.content);
                let serial = entry.expect(INTEGER)?.content;
                time::read(&mut entry)?;
                let extensions = entry.optional(SEQUENCE)?;
                entry.finish()?;
                let removed = match extensions {
                    Some(extensions) => entry_extensions(extensions.content, &mut unknown_critical)?,
                    None => false,
                };
                if !removed {
                    let start = serial.as_ptr() as usize - base;
                    let place = |at: usize| u32::try_from(at).map_err(|_| Malformed("it is too large"));
                    serials.push(place(start)?..place(start + serial.len())?);
                }
            }
        }
        let mut scope = Scope::default();
        if let Some(extensions) = fields.optional(0xa0)? {
            if version == 1 {
                return Err(Malformed("it has extensions, but not version 2"));
            }
            read_extensions(single(extensions.content, SEQUENCE)?.content, |oid, critical, value| {
                match oid {
                    [0x55, 29, 28] => issuing_distribution_point(&mut scope, value)?,
                    // The number of the list that this one changes.
                    [0x55, 29, 27] => scope.partial = true,
                    [0x55, 29, 20 | 35] => {}
                    _ => unknown_critical |= critical,
                }
                Ok(())
            })?;
        }
        fields.finish()?;
        let bytes = |range: &Range<u32>| der_range(&der, range);
        serials.sort_by(|a, b| bytes(a).cmp(bytes(b)));
        Ok(List {
            this_update,
            next_update,
            serials,
            scope,
            unknown_critical,
            der,
        })
    }

    /// Returns whether the list names this issuer.
    fn is_of(&self, issuer: &[u8]) -> bool {
        let read = || {
            let (_, content) = Signed::read(&self.der)?;
            let mut fields = Reader::new(content);
            fields.optional(INTEGER)?;
            fields.expect(SEQUENCE)?;
            fields.expect(SEQUENCE)
        };
        read().is_ok_and(|name| name.content == issuer)
    }

    fn is_signed_by(&self, algorithms: Algorithms<'_>, key: &PublicKey<'_>) -> bool {
        Signed::read(&self.der).is_ok_and(|(signed, _)| signature::verify(algorithms, &signed, key).is_ok())
    }

    fn time_fault(&self, now: Timestamp) -> Option<FaultKind> {
        if now < self.this_update {
            return Some(FaultKind::RevocationListNotYetValid);
        }
        let over = self.next_update.is_some_and(|next| next < now);
        over.then_some(FaultKind::RevocationListExpired)
    }

    fn revokes(&self, serial: &[u8]) -> bool {
        self.serials
            .binary_search_by(|range| der_range(&self.der, range).cmp(serial))
            .is_ok()
    }
}

fn der_range<'a>(der: &'a [u8], range: &Range<u32>) -> &'a [u8] {
    let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    der.get(place(range.start)..place(range.end)).unwrap_or_default()
}

/// Reads the extensions of an entry; returns whether its reason is `removeFromCRL`.
fn entry_extensions(content: &[u8], unknown_critical: &mut bool) -> Result<bool, Malformed> {
    let mut removed = false;
    read_extensions(content, |oid, critical, value| {
        match oid {
            [0x55, 29, 21] => removed = single(value, ENUMERATED)?.content == [8],
            [0x55, 29, 24] => {}
            _ => *unknown_critical |= critical,
        }
        Ok(())
    })?;
    Ok(removed)
}

fn issuing_distribution_point(scope: &mut Scope, value: &[u8]) -> Result<(), Malformed> {
    let mut fields = Reader::new(single(value, SEQUENCE)?.content);
    while !fields.is_empty() {
        let field = fields.next()?;
        match field.tag {
            0xa0 => {
                let names = elements_of_full_name(field.content);
                scope.distribution_point = Some(names.into_iter().map(<[u8]>::to_vec).collect());
            }
            // Only certificates of users, which leaves are.
            0x81 => {}
            0x82 | 0x85 => scope.excludes_leaves = true,
            0x83 | 0x84 => scope.partial = true,
            _ => return Err(Malformed("its scope has an unknown field")),
        }
    }
    Ok(())
}
