//! Errors of the library.

use std::fmt;

use crate::abi::{
    BufferDesc, CREDENTIALS_EXPIRED, ERROR_MASK, Functions, KERBEROS, MAJOR_STATUS, MINOR_STATUS, NO_CRED,
};

/// Maximum number of texts that one status may have.
const TEXTS_MAX: usize = 8;

/// The first code of libkrb5's error table, to which the protocol's error codes (RFC 4120, section 7.5.9) are added.
const KRB5: i32 = -1_765_328_384;

/// The library's text for a minor status of its own that says nothing.
const NO_DETAILS: &str = "Success";

/// Causes that a user or an administrator removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// There are no tickets: no cache, an empty one, or a keytab without a usable key.
    NoCredentials,
    /// The tickets have expired.
    Expired,
    /// The keytab cannot be read, or has no key of the principal.
    Keytab,
    /// The KDC does not know the client's principal.
    UnknownClient,
    /// The KDC does not know the service's principal.
    UnknownService,
    /// The KDC has another key of the client's principal.
    WrongKey,
    /// The client's principal or key has expired, or is locked.
    Locked,
    /// No KDC answers.
    KdcUnreachable,
    /// The realm has no KDC in the configuration or DNS, or the configuration cannot be read.
    UnknownRealm,
    /// The clocks of two machines differ too much.
    ClockSkew,
    /// The encryption types of client, service and KDC have none in common.
    EncryptionType,
}

/// A call of the library that failed.
///
/// The text contains names of principals, caches and keytabs, and no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    major: u32,
    minor: u32,
    text: String,
}

impl Error {
    /// Returns the error of a call's status, or `Ok` when it is none. Must be called by the thread that made the call: the
    /// library keeps the texts of minor codes for each thread.
    pub(crate) fn check(functions: &Functions, major: u32, minor: u32) -> Result<(), Error> {
        if major & ERROR_MASK == 0 {
            return Ok(());
        }
        let mut text = texts(functions, major, MAJOR_STATUS);
        let details = texts(functions, minor, MINOR_STATUS);
        if minor != 0 && details != NO_DETAILS {
            text = format!("{text} ({details})");
        }
        Err(Error { major, minor, text })
    }

    /// Returns the error of a wrong call or peer that this crate detects itself.
    pub(crate) fn invalid(text: &str) -> Self {
        Error {
            major: 0,
            minor: 0,
            text: text.to_owned(),
        }
    }

    /// Returns the cause, when it is one of those that can be removed.
    pub fn cause(&self) -> Option<Cause> {
        // The minor codes of Kerberos are negative numbers of 32 bits.
        let known = match (self.minor as i32).wrapping_sub(KRB5) {
            // KDC_ERR_C_PRINCIPAL_UNKNOWN
            6 => Cause::UnknownClient,
            // KDC_ERR_S_PRINCIPAL_UNKNOWN
            7 => Cause::UnknownService,
            // KDC_ERR_ETYPE_NOSUPP
            14 => Cause::EncryptionType,
            // KDC_ERR_NAME_EXP, KDC_ERR_CLIENT_REVOKED, KDC_ERR_KEY_EXPIRED
            1 | 18 | 23 => Cause::Locked,
            // KDC_ERR_PREAUTH_FAILED, KRB_AP_ERR_BAD_INTEGRITY
            24 | 31 => Cause::WrongKey,
            // KRB_AP_ERR_TKT_EXPIRED
            32 => Cause::Expired,
            // KRB_AP_ERR_TKT_NYV, KRB_AP_ERR_SKEW, KRB5_KDCREP_SKEW
            33 | 37 | 148 => Cause::ClockSkew,
            // KRB5_REALM_UNKNOWN, KRB5_REALM_CANT_RESOLVE, KRB5_CONFIG_CANTOPEN, KRB5_CONFIG_NODEFREALM,
            // KRB5_ERR_HOST_REALM_UNKNOWN
            154 | 220 | 135 | 224 | 217 => Cause::UnknownRealm,
            // KRB5_KDC_UNREACH
            156 => Cause::KdcUnreachable,
            // KRB5_KT_BADNAME, KRB5_KT_NOTFOUND, KRB5_KT_END, KRB5_KT_IOERR, KRB5_KT_KVNONOTFOUND
            179 | 181 | 182 | 184 | 230 => Cause::Keytab,
            // KRB5_CC_NOTFOUND, KRB5_FCC_NOFILE
            141 | 195 => Cause::NoCredentials,
            _ => return self.cause_by_major(),
        };
        Some(known)
    }

    fn cause_by_major(&self) -> Option<Cause> {
        match (self.major & 0x00ff_0000) >> 16 {
            NO_CRED => Some(Cause::NoCredentials),
            CREDENTIALS_EXPIRED => Some(Cause::Expired),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// Returns the texts of a status, joined.
fn texts(functions: &Functions, status: u32, kind: i32) -> String {
    let (mut texts, mut more) = (Vec::new(), 0);
    while texts.len() < TEXTS_MAX {
        let (mut minor, mut desc) = (0, BufferDesc::empty());
        // SAFETY: the out-parameters are live variables, the mechanism is a constant.
        let major = unsafe {
            (functions.gss_display_status)(
                &raw mut minor,
                status,
                kind,
                &raw const KERBEROS,
                &raw mut more,
                &raw mut desc,
            )
        };
        if major & ERROR_MASK != 0 || desc.value.is_null() {
            texts.push(format!("status {status:#x}"));
            break;
        }
        // SAFETY: the library has filled the buffer: `value` is the start of `length` bytes. They are released once, after
        // they were copied.
        unsafe {
            let bytes = std::slice::from_raw_parts(desc.value.cast::<u8>(), desc.length);
            texts.push(String::from_utf8_lossy(bytes).into_owned());
            (functions.gss_release_buffer)(&raw mut minor, &raw mut desc);
        }
        if more == 0 {
            break;
        }
    }
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(routine: u32, code: i32) -> Error {
        Error {
            major: routine << 16,
            minor: code as u32,
            text: String::new(),
        }
    }

    #[test]
    fn causes_follow_the_codes_of_libkrb5() {
        // Values of krb5.h.
        let cases = [
            (-1_765_328_378, Cause::UnknownClient),
            (-1_765_328_377, Cause::UnknownService),
            (-1_765_328_360, Cause::WrongKey),
            (-1_765_328_352, Cause::Expired),
            (-1_765_328_351, Cause::ClockSkew),
            (-1_765_328_347, Cause::ClockSkew),
            (-1_765_328_236, Cause::ClockSkew),
            (-1_765_328_228, Cause::KdcUnreachable),
            (-1_765_328_230, Cause::UnknownRealm),
            (-1_765_328_164, Cause::UnknownRealm),
            (-1_765_328_249, Cause::UnknownRealm),
            (-1_765_328_160, Cause::UnknownRealm),
            (-1_765_328_167, Cause::UnknownRealm),
            (-1_765_328_203, Cause::Keytab),
            (-1_765_328_205, Cause::Keytab),
            (-1_765_328_202, Cause::Keytab),
            (-1_765_328_200, Cause::Keytab),
            (-1_765_328_154, Cause::Keytab),
            (-1_765_328_243, Cause::NoCredentials),
            (-1_765_328_189, Cause::NoCredentials),
            (-1_765_328_370, Cause::EncryptionType),
            (-1_765_328_361, Cause::Locked),
            (-1_765_328_366, Cause::Locked),
            (-1_765_328_383, Cause::Locked),
        ];
        for (code, cause) in cases {
            assert_eq!(error(13, code).cause(), Some(cause), "{code}");
        }
    }

    #[test]
    fn a_major_status_decides_when_the_minor_one_is_unknown() {
        assert_eq!(error(7, 39_756_044).cause(), Some(Cause::NoCredentials));
        assert_eq!(error(11, 0).cause(), Some(Cause::Expired));
        assert_eq!(error(13, 100_001).cause(), None);
        assert_eq!(Error::invalid("text").cause(), None);
    }
}
