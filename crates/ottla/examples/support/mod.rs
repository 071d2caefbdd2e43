//! Shared by the admin examples: the client, and errors that name whose fault they are.

use std::process::ExitCode;
use std::time::Duration;

use ottla::admin::{Admin, Options};
use ottla::config::Conf;
use ottla::error::{Error, ErrorCode};

/// The end of a program before its work is done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong arguments: what, and why.
    Usage(String, String),
    /// The error of a call.
    Call(Error),
    /// Errors of parts of a call, which were reported.
    Reported,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Call(error)
    }
}

pub(crate) fn wrong(what: impl Into<String>, why: impl Into<String>) -> Failure {
    Failure::Usage(what.into(), why.into())
}

/// Returns whose fault an error is.
fn fault(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::L_TIMED_OUT
        | ErrorCode::L_TRANSPORT
        | ErrorCode::L_RESOLVE
        | ErrorCode::L_ALL_BROKERS_DOWN
        | ErrorCode::L_SSL
        | ErrorCode::L_AUTHENTICATION => "no answer from the brokers",
        ErrorCode::L_INVALID_ARG | ErrorCode::L_CONFLICT | ErrorCode::L_UNKNOWN_PARTITION => "wrong arguments",
        ErrorCode::L_UNSUPPORTED_FEATURE => "the brokers are too old",
        code if code.is_from_broker() => "refused by the broker",
        _ => "error in the client",
    }
}

/// Reports the errors of parts of a call (topics, entries, partitions); returns the values if there is none.
///
/// # Errors
/// [`Failure::Reported`] if there was one.
pub(crate) fn values<K: std::fmt::Display, V>(
    program: &str,
    results: impl IntoIterator<Item = (K, Result<V, Error>)>,
) -> Result<Vec<(K, V)>, Failure> {
    let mut values = Vec::new();
    let mut outcome = Ok(());
    for (part, result) in results {
        match result {
            Ok(value) => values.push((part, value)),
            Err(error) => {
                eprintln!("{program}: {part}: {}: {}", fault(error.code), error.message);
                outcome = Err(Failure::Reported);
            }
        }
    }
    outcome.map(|()| values)
}

/// Returns the client, and options with a timeout of 30 seconds for a call.
///
/// # Errors
/// [`Failure::Usage`] for addresses that are none.
pub(crate) fn connect(brokers: &str) -> Result<(Admin, Options), Failure> {
    let mut conf = Conf::new();
    conf.set("bootstrap.servers", brokers)
        .map_err(|error| wrong(brokers, error.to_string()))?;
    let options = Options {
        request_timeout: Some(Duration::from_secs(30)),
        ..Options::default()
    };
    Ok((Admin::new(&conf)?, options))
}

/// Returns the exit status of a program: 1 for an error of the brokers, 2 for wrong arguments.
pub(crate) fn exit(program: &str, outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::from(1),
        Err(Failure::Call(error)) => {
            eprintln!("{program}: {}: {}", fault(error.code), error.message);
            ExitCode::from(1)
        }
        Err(Failure::Usage(what, why)) => {
            eprintln!("{program}: wrong arguments: {what}: {why}");
            ExitCode::from(2)
        }
    }
}
