//! Bearer tokens for SASL/OAUTHBEARER, acquired by blocking calls: no thread and no async runtime is started here.
//!
//! | module | subject |
//! |---|---|
//! | `token` | tokens, the trait of their providers, errors |
//! | `unsecured` | unsecured tokens, for tests |
//! | `extensions` | SASL extensions |
//! | `text` | texts of others in error messages |
//! | `clock` | the system's clock |

mod clock;
mod extensions;
mod text;
mod token;
mod unsecured;

pub use token::{SettingsError, Token, TokenError, TokenProvider};
pub use unsecured::UnsecuredJwt;
