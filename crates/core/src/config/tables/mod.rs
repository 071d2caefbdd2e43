//! The property table. Each file holds the rows of one subject, in the order in which they are dumped:
//!
//! ```text
//! "name" field: type = values => "description";
//! ```
//!
//! The rows generate the table that reads, checks and prints settings ([`GLOBAL`], [`TOPIC`]), the enums that name
//! rows in code ([`Prop`], [`TopicProp`]), and the typed settings ([`ClientConfig`], [`TopicConfig`]).

mod client;
mod consumer;
mod extension;
mod producer;
mod security;
mod topic;

use client::client_rows;
use consumer::consumer_rows;
use extension::extension_rows;
use producer::producer_rows;
use security::security_rows;
use topic::topic_rows;

use super::property::{
    Named, Property, TextCheck, choice, exact_text_or, flags, float, int, patterns, pointer, switch, text, text_or,
};
use super::secret::Secret;
use super::value::{Choice, Field, PatternList, Value};

const FEATURES: &[Named] = &[
    ("gzip", 0x1),
    ("snappy", 0x2),
    ("ssl", 0x4),
    ("sasl", 0x8),
    ("regex", 0x10),
    ("lz4", 0x20),
    ("sasl_gssapi", 0x40),
    ("sasl_plain", 0x80),
    ("sasl_scram", 0x100),
    ("plugins", 0x200),
    ("zstd", 0x400),
    ("sasl_oauthbearer", 0x800),
    ("http", 0x1000),
    ("oidc", 0x2000),
];

/// gzip, snappy, ssl, sasl, regex, lz4, sasl_gssapi, sasl_plain, sasl_scram, zstd, sasl_oauthbearer, http, oidc.
const BUILT_IN: u32 = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x40 | 0x80 | 0x100 | 0x400 | 0x800 | 0x1000 | 0x2000;

/// The names that `debug` accepts: single contexts, and `all` of them.
pub const DEBUG_CONTEXTS: &[Named] = &[
    ("generic", 0x1),
    ("broker", 0x2),
    ("topic", 0x4),
    ("metadata", 0x8),
    ("feature", 0x10),
    ("queue", 0x20),
    ("msg", 0x40),
    ("protocol", 0x80),
    ("cgrp", 0x100),
    ("security", 0x200),
    ("fetch", 0x400),
    ("interceptor", 0x800),
    ("plugin", 0x1000),
    ("consumer", 0x2000),
    ("admin", 0x4000),
    ("eos", 0x8000),
    ("mock", 0x1_0000),
    ("assignor", 0x2_0000),
    ("conf", 0x4_0000),
    ("telemetry", 0x8_0000),
    ("all", 0xf_ffff),
];

const CODECS: &[Named] = &[("none", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)];

const TOPIC_CODECS: &[Named] = &[
    ("none", 0),
    ("gzip", 1),
    ("snappy", 2),
    ("lz4", 3),
    ("zstd", 4),
    ("inherit", 5),
];

const PARTITIONERS: &[&str] = &[
    "random",
    "consistent",
    "consistent_random",
    "murmur2",
    "murmur2_random",
    "fnv1a",
    "fnv1a_random",
];

/// The numbers are those of the logical offsets: beginning, end, invalid.
const OFFSET_RESETS: &[Named] = &[
    ("smallest", -2),
    ("earliest", -2),
    ("beginning", -2),
    ("largest", -1),
    ("latest", -1),
    ("end", -1),
    ("error", -1001),
];

/// Property names of Kafka's Java client that do not exist here, each with its replacement.
pub(super) const NOT_PROPERTIES: &[(&str, &str)] = &[
    (
        "ssl.truststore.location",
        "Java trust stores are not supported: set ssl.ca.location to a file of PEM certificates",
    ),
    (
        "sasl.jaas.config",
        "JAAS configuration is not supported: set sasl.username, sasl.password and the other sasl.* properties",
    ),
];

/// Turns rows into the table, the enum and the typed settings.
macro_rules! define {
    (
        $(#[$enum_doc:meta])* $prop:ident, $(#[$table_doc:meta])* $table:ident, $(#[$struct_doc:meta])* $config:ident;
        $($name:literal $field:ident: $ty:ty = $spec:expr => $description:literal;)+
    ) => {
        $(#[$enum_doc])*
        #[allow(non_camel_case_types)] // as the fields
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum $prop {
            $(#[doc = $description] $field,)+
        }

        $(#[$table_doc])*
        pub(super) static $table: &[Property] = &[$($spec.named($name, $description),)+];

        $(#[$struct_doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $config {
            $(#[doc = $description] pub $field: $ty,)+
        }

        impl $config {
            /// Creates the settings from values in the order of the table.
            pub(super) fn from_values(values: &[Value]) -> Self {
                Self {
                    $($field: values
                        .get($prop::$field as usize)
                        .and_then(Field::take)
                        .unwrap_or_default(),)+
                }
            }
        }

        impl $config {
            /// Returns the value of a property as text; `None` if there is none of that name.
            pub fn get(&self, name: &str) -> Option<String> {
                let named = |p: &Property| p.name == name || p.aliases.contains(&name);
                let index = $table.iter().position(named)?;
                $(if index == $prop::$field as usize {
                    return Some(self.$field.text());
                })+
                None
            }
        }

        #[cfg(test)]
        impl $config {
            /// The fields' names, in the order of the table.
            pub(super) const FIELDS: &[&str] = &[$(stringify!($field),)+];

            /// Returns for each field whether it accepts its value without conversion.
            pub(super) fn takes(values: &[Value]) -> Vec<bool> {
                vec![$(values
                    .get($prop::$field as usize)
                    .is_some_and(|value| <$ty as Field>::take(value).is_some()),)+]
            }
        }
    };
}

macro_rules! define_client {
    (; $($rows:tt)+) => {
        define! {
            /// A property of clients, for code.
            Prop,
            /// The properties of clients.
            GLOBAL,
            /// A client's settings. Texts that are not set are empty, pointers that are not set zero; a list of flags
            /// is the sum of its bits.
            ClientConfig;
            $($rows)+
        }
    };
}

macro_rules! define_topic {
    (; $($rows:tt)+) => {
        define! {
            /// A property of topics, for code.
            TopicProp,
            /// The properties of topics.
            TOPIC,
            /// A topic's settings. Texts that are not set are empty, pointers that are not set zero.
            TopicConfig;
            $($rows)+
        }
    };
}

client_rows! { security_rows extension_rows consumer_rows producer_rows define_client ; }
topic_rows! { define_topic ; }
