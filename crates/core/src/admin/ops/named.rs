//! The protocol's numbers with the names that Kafka's tools have for them.

use crate::error::Error;

/// Declares constants of a type of numbers, and its conversions to and from their names.
macro_rules! named {
    ($type:ident is $what:literal: $($(#[$doc:meta])* $name:ident = $number:literal,)+) => {
        impl $type {
            $($(#[$doc])* pub const $name: Self = Self($number);)+

            const NAMES: &'static [(&'static str, Self)] = &[$((stringify!($name), Self($number)),)+];
        }

        impl std::fmt::Display for $type {
            /// Writes the name, such as `DESCRIBE_CONFIGS`; the number if it has none.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match Self::NAMES.iter().find(|(_, number)| number == self) {
                    Some((name, _)) => f.write_str(name),
                    None => write!(f, "{}", self.0),
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            /// Returns the number of a name, in any case and with or without separators: `DescribeConfigs`,
            /// `describe-configs`.
            ///
            /// # Errors
            /// `_INVALID_ARG` with the names that exist.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::admin::ops::named::find($what, Self::NAMES, text)
            }
        }
    };
}

pub(super) use named;

/// Returns the number of a name.
///
/// # Errors
/// `_INVALID_ARG` with the names that exist.
pub(super) fn find<T: Copy>(what: &str, names: &[(&str, T)], text: &str) -> Result<T, Error> {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|c| !matches!(c, '_' | '-'));
        letters.map(|c| c.to_ascii_uppercase()).collect()
    };
    let wanted = letters(text);
    let found = names.iter().find(|(name, _)| letters(name) == wanted);
    found.map(|(_, number)| *number).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        Error::invalid_arg(format!("\"{text}\" is no {what}: {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use crate::admin::{AclOperation, AclResourceType, PatternType, PermissionType};

    #[test]
    fn names_are_read_in_any_case_and_written_as_kafka_does() {
        for text in ["DescribeConfigs", "describe-configs", "DESCRIBE_CONFIGS"] {
            assert_eq!(text.parse(), Ok(AclOperation::DESCRIBE_CONFIGS), "{text}");
        }
        assert_eq!(AclOperation::DESCRIBE_CONFIGS.to_string(), "DESCRIBE_CONFIGS");
        assert_eq!(AclResourceType(99).to_string(), "99");
        assert_eq!("allow".parse(), Ok(PermissionType::ALLOW));
        assert_eq!("prefixed".parse(), Ok(PatternType::PREFIXED));
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_exist() {
        let error = "maybe".parse::<PermissionType>().unwrap_err();
        assert_eq!(error.message, "\"maybe\" is no permission type: ANY, DENY, ALLOW");
    }
}
