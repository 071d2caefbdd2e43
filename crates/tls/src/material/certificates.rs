//! Certificates and revocation lists.

use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};

use super::der::{self, DerError, Element, Reader};
use super::pem::{self, Block};
use super::{MaterialError, MaterialErrorKind};

/// Returns the certificates of a PEM text in their order: the blocks `CERTIFICATE`, `X509 CERTIFICATE` and
/// `TRUSTED CERTIFICATE`. Other blocks, and text between blocks, are skipped.
///
/// # Errors
/// A block of these is damaged, or there is none.
pub fn certificates_from_pem(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, MaterialError> {
    let blocks = pem::blocks(text);
    let certificates = blocks
        .iter()
        .filter_map(certificate_of_block)
        .collect::<Result<Vec<_>, _>>()?;
    match certificates.is_empty() {
        true => Err(pem::nothing_found(
            MaterialErrorKind::NoCertificate,
            "certificate",
            text,
        )),
        false => Ok(certificates),
    }
}

fn certificate_of_block(block: &Block<'_>) -> Option<Result<CertificateDer<'static>, MaterialError>> {
    // After OpenSSL's trusted certificates there are its trust settings, which do not concern other programs.
    let trust_follows = match block.label {
        "CERTIFICATE" | "X509 CERTIFICATE" => false,
        "TRUSTED CERTIFICATE" => true,
        _ => return None,
    };
    let read = || {
        let bytes = block.decode()?;
        let mut reader = Reader::new(&bytes);
        let certificate = next_certificate(&mut reader).map_err(|error| block.fault(error))?;
        match reader.is_empty() || trust_follows {
            true => Ok(certificate),
            false => Err(block.fault(MaterialError::malformed("bytes follow the certificate"))),
        }
    };
    Some(read())
}

/// Returns the certificates of DER data: one, or several one after the other.
///
/// # Errors
/// The data is damaged or empty.
pub fn certificates_from_der(data: &[u8]) -> Result<Vec<CertificateDer<'static>>, MaterialError> {
    if data.is_empty() {
        let text = "no certificate: the data is empty";
        return Err(MaterialError::new(MaterialErrorKind::NoCertificate, text));
    }
    if !pem::blocks(data).is_empty() {
        return Err(MaterialError::unsupported("the data is PEM text, DER was expected"));
    }
    let mut reader = Reader::new(data);
    let mut certificates = Vec::new();
    while !reader.is_empty() {
        certificates.push(next_certificate(&mut reader)?);
    }
    Ok(certificates)
}

fn next_certificate(reader: &mut Reader<'_>) -> Result<CertificateDer<'static>, MaterialError> {
    let element = reader.element()?;
    parse(element.whole).map_err(|error| MaterialError::malformed(format!("it is no certificate: {}", error.0)))?;
    Ok(CertificateDer::from(element.whole.to_vec()))
}

/// Returns the certificate revocation lists of a PEM text: the blocks `X509 CRL`.
///
/// # Errors
/// A block of these is damaged, or there is none.
pub fn crls_from_pem(text: &[u8]) -> Result<Vec<CertificateRevocationListDer<'static>>, MaterialError> {
    let mut lists = Vec::new();
    for block in pem::blocks(text) {
        if block.label != "X509 CRL" {
            continue;
        }
        let bytes = block.decode()?;
        signed(&bytes).map_err(|error| {
            let text = format!("it is no certificate revocation list: {}", error.0);
            block.fault(MaterialError::malformed(text))
        })?;
        lists.push(CertificateRevocationListDer::from(bytes.to_vec()));
    }
    match lists.is_empty() {
        true => {
            let wanted = "certificate revocation list";
            Err(pem::nothing_found(MaterialErrorKind::NoRevocationList, wanted, text))
        }
        false => Ok(lists),
    }
}

/// The parts of a certificate that decide which key and which issuer it belongs to (RFC 5280, section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// The encoded name.
    pub(super) issuer: &'a [u8],
    /// The encoded name.
    pub(super) subject: &'a [u8],
    /// The content of the public key's BIT STRING.
    pub(super) public_key: &'a [u8],
}

/// Returns the parts of an encoded certificate.
pub(super) fn parse(certificate: &[u8]) -> Result<Parts<'_>, DerError> {
    let mut fields = Reader::new(signed(certificate)?);
    fields.optional(der::CONTEXT_0)?;
    fields.expect(der::INTEGER)?;
    fields.expect(der::SEQUENCE)?;
    let issuer = fields.sequence_whole()?;
    fields.expect(der::SEQUENCE)?;
    let subject = fields.sequence_whole()?;
    let public_key = public_key_bits(fields.sequence_whole()?)?;
    Ok(Parts {
        issuer,
        subject,
        public_key,
    })
}

/// Returns the content of the BIT STRING of an encoded SubjectPublicKeyInfo.
pub(super) fn public_key_bits(info: &[u8]) -> Result<&[u8], DerError> {
    let mut fields = Reader::new(info).sequence()?;
    fields.expect(der::SEQUENCE)?;
    fields.expect(der::BIT_STRING)
}

/// Returns the signed content of a certificate or a revocation list.
fn signed(data: &[u8]) -> Result<&[u8], DerError> {
    let mut outer = Reader::new(data);
    let mut fields = outer.sequence()?;
    let content = fields.expect(der::SEQUENCE)?;
    fields.expect(der::SEQUENCE)?;
    fields.expect(der::BIT_STRING)?;
    match outer.is_empty() && fields.is_empty() {
        true => Ok(content),
        false => Err(DerError("bytes follow the last element")),
    }
}

impl<'a> Reader<'a> {
    /// Returns the whole encoding of the next element, a SEQUENCE.
    fn sequence_whole(&mut self) -> Result<&'a [u8], DerError> {
        match self.element()? {
            Element {
                tag: der::SEQUENCE,
                whole,
                ..
            } => Ok(whole),
            _ => Err(DerError("an element has an unexpected type")),
        }
    }
}
