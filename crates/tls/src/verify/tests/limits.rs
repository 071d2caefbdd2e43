//! Bounds on what a broker or a file can contain.

use rustls::pki_types::CertificateRevocationListDer;

use super::super::*;
use super::set::{Set, provider};

#[test]
fn a_chain_of_too_many_certificates_is_refused() {
    let set = Set::read();
    let case = &set.cases["shape-one-intermediate"];
    let verifier = ServerVerifier::new(Arc::new(set.policy(case)), &provider());
    let chain = set.chain(&case.chain);
    let verify = |count: usize| {
        let mut intermediates = vec![set.certificate("root-other-name"); count - 1];
        intermediates.push(chain[1].clone());
        verifier.verify(&chain[0], &intermediates, &case.server_name(), case.at)
    };
    assert_eq!(verify(CHAIN_MAX - 1), Ok(()));
    assert_eq!(verify(CHAIN_MAX).unwrap_err().kind, FaultKind::ChainTooLong);
}

#[test]
fn many_issuers_of_the_same_name_end_in_bounded_time() {
    let set = Set::read();
    let mut case = set.cases["shape-plain"].clone();
    case.trusted.clear();
    let verifier = ServerVerifier::new(Arc::new(set.policy(&case)), &provider());
    // Different bytes with the same name: each signature byte changed.
    let twins: Vec<CertificateDer<'static>> = (0..90_u8)
        .map(|number| {
            let mut twin = set.certificates["root-plain-2"].clone();
            let last = twin.len() - 1;
            twin[last] = twin[last].wrapping_add(number);
            twin.into()
        })
        .collect();
    let leaf = set.certificate("leaf-plain");
    let started = std::time::Instant::now();
    let result = verifier.verify(&leaf, &twins, &case.server_name(), case.at);
    assert!(result.is_err());
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

#[test]
fn revocation_lists_that_cannot_be_read_are_refused_by_number() {
    let set = Set::read();
    let good = CertificateRevocationListDer::from(set.lists["list-current"].clone());
    let lists = RevocationLists::read([good.clone(), good.clone()]).unwrap();
    assert_eq!((lists.len(), lists.is_empty()), (2, false));
    let bad = CertificateRevocationListDer::from(vec![0x30, 0]);
    let error = RevocationLists::read([good.clone(), bad]).unwrap_err();
    assert_eq!(error, "revocation list 2 cannot be read: an element is cut off");
    let certificate = CertificateRevocationListDer::from(set.certificates["root"].clone());
    assert!(RevocationLists::read([certificate]).is_err());
    for at in 0..good.as_ref().len() {
        let cut = CertificateRevocationListDer::from(good.as_ref()[..at].to_vec());
        assert!(RevocationLists::read([cut]).is_err(), "{at}");
    }
}
