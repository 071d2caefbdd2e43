//! Environment variables, which tests replace.

use std::fmt;
use std::sync::Arc;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The environment variables of the process. They are read when they are used.
#[derive(Clone)]
pub(crate) struct Environment(Arc<Lookup>);

impl Environment {
    /// Returns the environment of the process.
    pub(crate) fn of_process() -> Self {
        Environment(Arc::new(|name| std::env::var(name).ok()))
    }

    /// Returns an environment of these variables only.
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let variables: std::collections::HashMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Environment(Arc::new(move |name| variables.get(name).cloned()))
    }

    /// Returns the value of a variable; `None` if it is not set, empty, or not UTF-8.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }
}

/// Prints no variable.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}
