//! The common part of AlterConfigs and IncrementalAlterConfigs: all but their requests.

use std::fmt::Debug;

use ottla_protocol::DecodeError;

use super::config_resource::{
    ConfigChange, ConfigChanges, ResourceKey, ResourceResult, ResourceType, in_order, target,
};
use super::topic_result::check_not_empty;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts};
use crate::error::Error;
use crate::request::Target;

/// The result of one resource in a response.
pub struct ChangedResource {
    pub(super) kind: i8,
    pub(super) name: String,
    pub(super) error_code: i16,
    pub(super) error_message: Option<String>,
}

/// An operation that changes settings, with its own request.
pub trait ConfigOperation: Debug + Send + Sized + 'static {
    /// The operation's name in librdkafka's style.
    const NAME: &'static str;

    /// Returns the changes.
    fn changes(&self) -> &[ConfigChanges];

    /// Checks that the operation has this kind of change.
    ///
    /// # Errors
    /// `_INVALID_ARG`.
    fn check_change(change: &ConfigChange) -> Result<(), Error>;

    /// Sends the request for these resources.
    ///
    /// # Errors
    /// `_UNSUPPORTED_FEATURE` for a broker without the API.
    fn send_changes(resources: &[&ConfigChanges], to: &mut To<'_, '_>) -> Result<(), Error>;

    /// Decodes the response.
    ///
    /// # Errors
    /// A malformed response.
    fn decode(answer: &Answer<'_>) -> Result<Vec<ChangedResource>, DecodeError>;
}

fn common_target(changes: &[ConfigChanges]) -> Result<Target, Error> {
    target(changes.iter().map(|resource| (resource.kind, &*resource.name)))
}

impl<C: ConfigOperation> Operation for C {
    const NAME: &'static str = C::NAME;
    type Key = ResourceKey;
    type Row = ();
    type Output = Vec<ResourceResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(C::NAME, self.changes().is_empty())?;
        common_target(self.changes())?;
        let mut changes = self.changes().iter().flat_map(|resource| &resource.changes);
        changes.try_for_each(C::check_change)
    }

    fn keys(&self) -> Keys<ResourceKey> {
        Keys::Known(self.changes().iter().map(ConfigChanges::key).collect())
    }

    fn target(&self, _: &ResourceKey) -> Target {
        common_target(self.changes()).unwrap_or(Target::Any)
    }

    fn is_repeatable(&self, options: &Options) -> bool {
        options.validate_only
    }

    fn send(&self, keys: &[ResourceKey], to: &mut To<'_, '_>) -> Result<(), Error> {
        let resources = self.changes().iter();
        let resources: Vec<&ConfigChanges> = resources.filter(|resource| keys.contains(&resource.key())).collect();
        C::send_changes(&resources, to)
    }

    fn read(&self, _: &[ResourceKey], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let verdict = |row: ChangedResource| {
            let key = (ResourceType(row.kind), row.name);
            (key, Verdict::of(row.error_code, row.error_message, ()))
        };
        Ok(C::decode(answer)?.into_iter().map(verdict).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ResourceResult>, Error> {
        let keys = self.changes().iter().map(ConfigChanges::key);
        Ok(in_order(keys, &rows, |()| Vec::new()))
    }
}

/// Checks one change, for the tests of both operations.
#[cfg(test)]
pub(super) fn code_of<C: ConfigOperation>(
    operation: fn(Vec<ConfigChanges>) -> C,
    op: super::config_resource::AlterOp,
    value: Option<&str>,
) -> Option<crate::error::ErrorCode> {
    let operation = operation(vec![ConfigChanges {
        kind: ResourceType::TOPIC,
        name: "t".into(),
        changes: vec![ConfigChange {
            name: "retention.ms".into(),
            op,
            value: value.map(str::to_owned),
        }],
    }]);
    operation.check(&Options::default()).err().map(|error| error.code)
}
