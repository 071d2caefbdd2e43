//! Configuration: one table of properties ([`Property`]) that parses, checks, prints and documents them.
//!
//! An application fills a [`Conf`] by name. [`Conf::finalize`] applies the rules between properties and returns
//! the typed settings of the client: [`ClientConfig`] and [`TopicConfig`], whose fields are the names with
//! `_` for `.`.

mod conf;
mod kind;
mod manual;
mod number;
mod property;
mod refusal;
mod rules;
mod rules_security;
mod rules_share;
mod secret;
mod tables;
mod unavailable;
pub(crate) mod units;
mod value;

pub use conf::{Conf, ConfError, ConfErrorKind, IntoText, TopicConf};
pub use kind::ClientKind;
pub use manual::{manual, properties_show};
pub use property::{Applies, Importance, Kind, Named, Property, TextCheck};
pub use secret::Secret;
pub use tables::{ClientConfig, DEBUG_CONTEXTS, Prop, TopicConfig, TopicProp};
pub use value::{Choice, PatternList};

#[cfg(test)]
mod tests;
