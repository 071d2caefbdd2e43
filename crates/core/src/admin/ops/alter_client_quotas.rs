//! AlterClientQuotas: sets and removes quotas of users, client ids and addresses (KIP-546).

use std::collections::BTreeMap;

use ottla_protocol::DecodeError;
use ottla_protocol::api::alter_client_quotas::{AlterClientQuotasRequest, EntityData, EntryData, OpData};

use super::client_quota::{ClientQuotaEntity, altered};
use super::partitions::has_duplicate;
use super::topic_result::check_not_empty;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;

/// Changes of an entity's quotas.
#[derive(Debug, Clone, Default)]
pub struct ClientQuotaAlteration {
    /// The entity.
    pub entity: ClientQuotaEntity,
    /// The quotas by name with their values; `None` removes one.
    pub changes: BTreeMap<String, Option<f64>>,
}

/// The outcome for one entity.
#[derive(Debug, Clone)]
pub struct ClientQuotaResult {
    /// The entity.
    pub entity: ClientQuotaEntity,
    /// The error with the broker's message; `None` on success.
    pub error: Option<Error>,
}

/// Changes quotas, of each entity all or none. With `validate_only` the broker only validates the changes.
#[derive(Debug, Clone)]
pub struct AlterClientQuotas(pub Vec<ClientQuotaAlteration>);

impl Operation for AlterClientQuotas {
    const NAME: &'static str = "AlterClientQuotas";
    type Key = ClientQuotaEntity;
    type Row = ();
    type Output = Vec<ClientQuotaResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.0.is_empty())?;
        if self.0.iter().any(|alteration| alteration.entity.is_empty()) {
            return Err(Error::invalid_arg("An alteration has no entity"));
        }
        if self.0.iter().any(|alteration| alteration.changes.is_empty()) {
            return Err(Error::invalid_arg("An alteration changes no quota"));
        }
        let mut values = self.0.iter().flat_map(|a| a.changes.values().flatten());
        if values.any(|value| !value.is_finite()) {
            return Err(Error::invalid_arg("The value of a quota is not a finite number"));
        }
        match has_duplicate(self.0.iter().map(|alteration| &alteration.entity)) {
            true => Err(Error::invalid_arg("Duplicate entities not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<ClientQuotaEntity> {
        Keys::Known(self.0.iter().map(|alteration| alteration.entity.clone()).collect())
    }

    fn target(&self, _: &ClientQuotaEntity) -> Target {
        Target::Any
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[ClientQuotaEntity], to: &mut To<'_, '_>) -> Result<(), Error> {
        let asked = |alteration: &&ClientQuotaAlteration| keys.binary_search(&alteration.entity).is_ok();
        to.send(&AlterClientQuotasRequest {
            entries: self.0.iter().filter(asked).map(entry).collect(),
            validate_only: to.options().validate_only,
            ..Default::default()
        })
    }

    fn read(&self, _: &[ClientQuotaEntity], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let rows = answer.decode::<AlterClientQuotasRequest>()?.entries.into_iter();
        let verdict = |row: ottla_protocol::api::alter_client_quotas::ResponseEntryData| {
            let verdict = Verdict::of(row.error_code, row.error_message, ());
            (altered(row.entity), verdict)
        };
        Ok(rows.map(verdict).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ClientQuotaResult>, Error> {
        let result = |alteration: &ClientQuotaAlteration| ClientQuotaResult {
            entity: alteration.entity.clone(),
            error: row_of(&rows, &alteration.entity).err(),
        };
        Ok(self.0.iter().map(result).collect())
    }
}

fn entry(alteration: &ClientQuotaAlteration) -> EntryData {
    let part = |(kind, name): (&String, &Option<String>)| EntityData {
        entity_type: kind.clone(),
        entity_name: name.clone(),
        ..Default::default()
    };
    let change = |(key, value): (&String, &Option<f64>)| OpData {
        key: key.clone(),
        value: value.unwrap_or(0.0),
        remove: value.is_none(),
        ..Default::default()
    };
    EntryData {
        entity: alteration.entity.iter().map(part).collect(),
        ops: alteration.changes.iter().map(change).collect(),
        ..Default::default()
    }
}
