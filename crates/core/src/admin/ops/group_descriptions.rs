//! Operations that describe groups of one type, at their coordinators: all but the request and the description.

use std::fmt::Debug;
use std::marker::PhantomData;

use ottla_protocol::DecodeError;

use super::group_result::{check_group_names, coordinator};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;

/// The description of a group of one type, with the request that returns it.
pub trait DescribedBy: Clone + Debug + Send + Sync + 'static {
    /// The operation's name in librdkafka's style.
    const OPERATION: &'static str;

    /// Sends the request for these groups, with their authorized operations if `operations` is set.
    ///
    /// # Errors
    /// `_UNSUPPORTED_FEATURE` for a broker without the API.
    fn send(groups: &[String], operations: bool, to: &mut To<'_, '_>) -> Result<(), Error>;

    /// Decodes the response: each group's id and verdict.
    ///
    /// # Errors
    /// A malformed response.
    fn read(answer: &Answer<'_>) -> Result<Vec<(String, Verdict<String, Self>)>, DecodeError>;
}

/// Describes groups of one type, each with its description or its error. The results are in the order of the call.
#[derive(Debug, Clone)]
pub struct DescribeGroups<D> {
    groups: Vec<String>,
    include_authorized_operations: bool,
    description: PhantomData<fn() -> D>,
}

impl<D> DescribeGroups<D> {
    /// Returns the operation for these groups, each once. `include_authorized_operations` requests the operations on the
    /// groups that the client may perform.
    pub fn new(groups: Vec<String>, include_authorized_operations: bool) -> Self {
        DescribeGroups {
            groups,
            include_authorized_operations,
            description: PhantomData,
        }
    }
}

/// A group's id with its description, or its error.
pub type DescribedGroup<D> = (String, Result<D, Error>);

impl<D: DescribedBy> Operation for DescribeGroups<D> {
    const NAME: &'static str = D::OPERATION;
    const KEYS_FAIL_ALONE: bool = true;
    type Key = String;
    type Row = D;
    type Output = Vec<DescribedGroup<D>>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_group_names(&self.groups, "describe")
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.groups.clone())
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        D::send(keys, self.include_authorized_operations, to)
    }

    fn read(&self, _: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        D::read(answer)
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Self::Output, Error> {
        let row = |id: &String| (id.clone(), row_of(&rows, id));
        Ok(self.groups.iter().map(row).collect())
    }
}
