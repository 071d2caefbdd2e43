//! The requests and responses of share sessions: a client acknowledges what it holds, once.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::Uuid;

use super::{FAST_US, ShareGroups};

/// A range of offsets of a partition with the types of its acknowledgements: one for all, or one for each.
#[derive(Debug)]
pub(crate) struct WireAck {
    pub(crate) topic: Uuid,
    pub(crate) partition: i32,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) types: Vec<i8>,
}

/// A range of records that a client receives.
#[derive(Debug)]
pub(crate) struct WireAcquired {
    pub(crate) topic: Uuid,
    pub(crate) partition: i32,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) delivery_count: i32,
}

/// The numbers of types.
const RELEASE: i8 = 2;
const RENEW: i8 = 4;

/// The records that a client has received and not acknowledged, by broker.
#[derive(Debug, Default)]
pub(super) struct HeldRecords(BTreeMap<i32, BTreeSet<(Uuid, i32, i64)>>);

impl ShareGroups {
    /// Notes the member id in a request of a client.
    pub(crate) fn on_member_id(&mut self, client: usize, member_id: &str) -> Result<(), String> {
        match self.by_member_id.insert(member_id.to_owned(), client) {
            Some(other) if other != client => Err(format!(
                "clients {other} and {client} have the same member id {member_id}"
            )),
            _ => Ok(()),
        }
    }

    /// Checks the acknowledgements in a request to a broker.
    pub(crate) fn on_request(
        &mut self,
        (client, group, broker): (usize, &str, i32),
        epoch: i32,
        acks: &[WireAck],
        now_us: u64,
    ) -> Result<(), String> {
        let lock_us = self.lock_us;
        let member = self.members.entry(client).or_default();
        let held = member.held.0.entry(broker).or_default();
        if epoch == 0 {
            held.clear();
        }
        let lost_us = member.lost_us.get(&broker).copied().unwrap_or(0);
        for ack in acks {
            for (index, offset) in (ack.first..=ack.last).enumerate() {
                let ty = ack.types.get(index).or(ack.types.first()).copied().unwrap_or(-1);
                let id = (ack.topic, ack.partition, offset);
                let holds = match ty {
                    RENEW => held.contains(&id),
                    _ => held.remove(&id),
                };
                let partition = (group.to_owned(), ack.topic, ack.partition);
                let record = self.partitions.get(&partition).and_then(|p| p.get(&offset));
                // An acknowledgement that waits while the lock runs out may meet the next acquisition.
                if !holds && !record.is_some_and(|record| record.was_received_again(client)) {
                    return Err(format!(
                        "client {client} acknowledges offset {offset} with type {ty}, and does not hold it: {ack:?}"
                    ));
                }
                let unseen = record.and_then(|r| r.last_of(client)).filter(|a| !a.is_seen);
                let received_us = unseen.and_then(|a| a.received).map_or(now_us, |(_, at)| at);
                let is_undisturbed = member.is_fast && member.disturbed_us < received_us && lost_us < received_us;
                if ty == RELEASE && is_undisturbed && now_us > received_us + FAST_US.max(lock_us / 4) {
                    return Err(format!(
                        "client {client}, whose application is fast, releases offset {offset} of {received_us} unseen: {ack:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Records the records in a response that reaches the client.
    pub(crate) fn on_received(
        &mut self,
        (client, group, broker): (usize, &str, i32),
        all: &[WireAcquired],
        now_us: u64,
    ) {
        for acquired in all {
            for offset in acquired.first..=acquired.last {
                let id = (acquired.topic, acquired.partition, offset);
                self.member(client).held.0.entry(broker).or_default().insert(id);
                let partition = (group.to_owned(), acquired.topic, acquired.partition);
                let record = self.partitions.get_mut(&partition).and_then(|p| p.get_mut(&offset));
                if let Some(record) = record {
                    record.receive(client, acquired.delivery_count, broker, now_us);
                }
            }
        }
    }

    /// Notes that a client has lost its session with a broker, by the end of its connection or by an error.
    pub(crate) fn on_session_lost(&mut self, client: usize, broker: i32, now_us: u64) {
        self.member(client).lost_us.insert(broker, now_us);
    }

    /// Returns the last time at which a client has lost its session with a broker.
    pub(crate) fn lost_us(&self, client: usize, broker: i32) -> u64 {
        let member = self.members.get(&client);
        member.and_then(|m| m.lost_us.get(&broker).copied()).unwrap_or(0)
    }
}
