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

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError};

    use super::*;
    use crate::admin::{DescribeClientQuotas, QuotaMatch};
    use crate::error::ErrorCode;
    use crate::test_kit::World;

    fn entity(parts: &[(&str, Option<&str>)]) -> ClientQuotaEntity {
        let part = |(kind, name): &(&str, Option<&str>)| ((*kind).to_owned(), name.map(str::to_owned));
        parts.iter().map(part).collect()
    }

    fn change(parts: &[(&str, Option<&str>)], changes: &[(&str, Option<f64>)]) -> ClientQuotaAlteration {
        let change = |(name, value): &(&str, Option<f64>)| ((*name).to_owned(), *value);
        ClientQuotaAlteration {
            entity: entity(parts),
            changes: changes.iter().map(change).collect(),
        }
    }

    fn codes(results: &[ClientQuotaResult]) -> Vec<Option<ErrorCode>> {
        results.iter().map(|r| r.error.as_ref().map(|e| e.code)).collect()
    }

    /// Returns the entities that match, with their quotas.
    fn described(
        w: &mut World,
        components: &[(&str, QuotaMatch)],
        is_strict: bool,
    ) -> Vec<(ClientQuotaEntity, String)> {
        let component = |(kind, expected): &(&str, QuotaMatch)| ((*kind).to_owned(), expected.clone());
        let call = DescribeClientQuotas {
            components: components.iter().map(component).collect(),
            is_strict,
        };
        let rows = w.ask(call).unwrap().into_iter();
        rows.map(|row| (row.entity, format!("{:?}", row.quotas))).collect()
    }

    const USER: &[(&str, Option<&str>)] = &[("user", Some("u"))];
    const DEFAULT_USER: &[(&str, Option<&str>)] = &[("user", None)];
    const BOTH: &[(&str, Option<&str>)] = &[("user", Some("u")), ("client-id", None)];

    fn world() -> World {
        let mut w = World::producer(&[], &[]);
        let changes = vec![
            change(
                USER,
                &[("producer_byte_rate", Some(1000.0)), ("request_percentage", Some(12.5))],
            ),
            change(DEFAULT_USER, &[("consumer_byte_rate", Some(5.0))]),
            change(BOTH, &[("consumer_byte_rate", Some(6.0))]),
            change(&[("ip", Some("10.0.0.1"))], &[("connection_creation_rate", Some(7.0))]),
        ];
        assert_eq!(codes(&w.ask(AlterClientQuotas(changes)).unwrap()), [None; 4]);
        w
    }

    #[test]
    fn quotas_are_described_as_they_were_set() {
        let mut w = world();
        assert_eq!(described(&mut w, &[], false).len(), 4);
        assert_eq!(described(&mut w, &[], true).len(), 0);
        let name = QuotaMatch::Name("u".into());
        let found = described(&mut w, &[("user", name.clone())], false);
        let entities: Vec<_> = found.into_iter().map(|(entity, _)| entity).collect();
        assert_eq!(entities, [entity(BOTH), entity(USER)]);
        let text = "{\"producer_byte_rate\": 1000.0, \"request_percentage\": 12.5}";
        assert_eq!(
            described(&mut w, &[("user", name)], true),
            [(entity(USER), text.to_owned())]
        );
        let found = described(&mut w, &[("user", QuotaMatch::Default)], false);
        assert_eq!(found[0].0, entity(DEFAULT_USER));
        assert_eq!(described(&mut w, &[("user", QuotaMatch::Any)], false).len(), 3);
        let found = described(&mut w, &[("ip", QuotaMatch::Any)], true);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_removed_quota_is_gone_and_a_validated_change_has_no_effect() {
        let mut w = world();
        let validate = Options {
            validate_only: true,
            ..Options::default()
        };
        let all = [("producer_byte_rate", None), ("request_percentage", None)];
        let remove = AlterClientQuotas(vec![change(USER, &all)]);
        assert_eq!(codes(&w.ask_with(remove.clone(), validate).unwrap()), [None]);
        assert_eq!(described(&mut w, &[], false).len(), 4);
        assert_eq!(codes(&w.ask(remove).unwrap()), [None]);
        assert_eq!(described(&mut w, &[], false).len(), 3);
    }

    #[test]
    fn each_entity_has_its_own_error() {
        let mut w = world();
        let changes = vec![
            change(USER, &[("no_such_rate", Some(1.0))]),
            change(&[("tenant", Some("x"))], &[("producer_byte_rate", Some(1.0))]),
            change(
                &[("ip", Some("not an address"))],
                &[("connection_creation_rate", Some(1.0))],
            ),
            change(DEFAULT_USER, &[("producer_byte_rate", Some(-1.0))]),
            change(BOTH, &[("producer_byte_rate", Some(2.5))]),
            change(&[("client-id", Some("c"))], &[("controller_mutation_rate", Some(2.5))]),
        ];
        let invalid = Some(ErrorCode::INVALID_REQUEST);
        let results = w.ask(AlterClientQuotas(changes)).unwrap();
        assert_eq!(codes(&results), [invalid, invalid, invalid, invalid, invalid, None]);
        let text = results[0].error.as_ref().map(|e| e.message.clone());
        assert_eq!(text.as_deref(), Some("Invalid configuration key no_such_rate"));
        w.fail_next(
            ApiKey::ALTER_CLIENT_QUOTAS,
            &[BrokerError::CLUSTER_AUTHORIZATION_FAILED],
        );
        let results = w.ask(AlterClientQuotas(vec![change(USER, &[("x", None)])])).unwrap();
        assert_eq!(codes(&results), [Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED)]);
    }

    #[test]
    fn a_description_with_an_unknown_type_fails_with_the_brokers_message() {
        let mut w = world();
        let call = DescribeClientQuotas {
            components: vec![("tenant".into(), QuotaMatch::Any)],
            is_strict: false,
        };
        let error = w.ask(call).unwrap_err();
        assert_eq!(error.code, ErrorCode::UNSUPPORTED_VERSION);
        assert!(error.message.contains("tenant"), "{error}");
    }

    #[test]
    fn calls_without_effect_and_duplicates_are_refused() {
        let mut w = world();
        let text =
            |w: &mut World, changes: Vec<ClientQuotaAlteration>| w.ask(AlterClientQuotas(changes)).unwrap_err().message;
        assert_eq!(text(&mut w, Vec::new()), "AlterClientQuotas names nothing");
        let set: &[(&str, Option<f64>)] = &[("producer_byte_rate", Some(1.0))];
        assert_eq!(text(&mut w, vec![change(&[], set)]), "An alteration has no entity");
        assert_eq!(text(&mut w, vec![change(USER, &[])]), "An alteration changes no quota");
        let twice = vec![change(USER, set), change(USER, set)];
        assert_eq!(text(&mut w, twice), "Duplicate entities not allowed");
        let nan = vec![change(USER, &[("producer_byte_rate", Some(f64::NAN))])];
        assert_eq!(text(&mut w, nan), "The value of a quota is not a finite number");
        let any = ("user".to_owned(), QuotaMatch::Any);
        let call = DescribeClientQuotas {
            components: vec![any.clone(), any],
            is_strict: false,
        };
        assert!(w.ask(call).is_err());
    }
}
