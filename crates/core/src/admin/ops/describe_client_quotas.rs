//! DescribeClientQuotas: the quotas of users, client ids and addresses (KIP-546).

use std::collections::BTreeMap;

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_client_quotas::{ComponentData, DescribeClientQuotasRequest};

use super::client_quota::{ClientQuotaEntity, described};
use super::partitions::has_duplicate;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::Target;

/// The name that a component of an entity must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuotaMatch {
    /// This one.
    Name(String),
    /// None: the default entity.
    Default,
    /// Any, or none.
    Any,
}

/// An entity with its quotas.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientQuotaEntry {
    /// The entity.
    pub entity: ClientQuotaEntity,
    /// Its quotas by name, such as `producer_byte_rate`.
    pub quotas: BTreeMap<String, f64>,
}

/// Describes the entities that match all components, with their quotas.
#[derive(Debug, Clone, Default)]
pub struct DescribeClientQuotas {
    /// The types that an entity must have, each once, with their names; empty for all entities.
    pub components: Vec<(String, QuotaMatch)>,
    /// Excludes entities that have further types.
    pub is_strict: bool,
}

impl Operation for DescribeClientQuotas {
    const NAME: &'static str = "DescribeClientQuotas";
    type Key = ();
    type Row = Vec<ClientQuotaEntry>;
    type Output = Vec<ClientQuotaEntry>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        match has_duplicate(self.components.iter().map(|(kind, _)| kind)) {
            true => Err(Error::invalid_arg("Duplicate entity types not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        let component = |(kind, expected): &(String, QuotaMatch)| {
            let (match_type, name) = match expected {
                QuotaMatch::Name(name) => (0, Some(name.clone())),
                QuotaMatch::Default => (1, None),
                QuotaMatch::Any => (2, None),
            };
            ComponentData {
                entity_type: kind.clone(),
                match_type,
                r#match: name,
                ..Default::default()
            }
        };
        to.send(&DescribeClientQuotasRequest {
            components: self.components.iter().map(component).collect(),
            strict: self.is_strict,
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<DescribeClientQuotasRequest>()?;
        let verdict = match (error_of(response.error_code, response.error_message), response.entries) {
            (Some(error), _) => Verdict::Failed(error),
            (None, Some(entries)) => {
                let mut rows: Vec<ClientQuotaEntry> = entries
                    .into_iter()
                    .map(|entry| ClientQuotaEntry {
                        entity: described(entry.entity),
                        quotas: entry.values.into_iter().map(|v| (v.key, v.value)).collect(),
                    })
                    .collect();
                rows.sort_by(|a, b| a.entity.cmp(&b.entity));
                Verdict::Done(rows)
            }
            (None, None) => Verdict::Refused(Error::new(ErrorCode::L_BAD_MSG, "the response has no entries")),
        };
        Ok(vec![((), verdict)])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ClientQuotaEntry>, Error> {
        row_of(&rows, &())
    }
}
