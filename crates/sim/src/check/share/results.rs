//! Acknowledgements of applications, and their results.

use ottla_core::error::ErrorCode;
use ottla_core::event::OffsetRange;
use ottla_core::share::{AcknowledgeType, CommitResults, PartitionAcknowledgements};
use ottla_core::types::TopicPartition;

use super::{ShareAck, ShareGroups, SharePartitionId};

/// Acknowledgements whose result was not told.
#[derive(Debug)]
pub(super) struct Outstanding {
    tp: TopicPartition,
    partition: SharePartitionId,
    /// As in the result: neighbours are one range.
    offsets: Vec<OffsetRange>,
    acks: Vec<(i64, ShareAck)>,
    at_us: u64,
    /// The synchronous commit that they belong to.
    call: Option<u64>,
}

/// A result of a synchronous commit's partition that was told as an event.
pub(super) type Told = (TopicPartition, ErrorCode);

/// Errors of requests that were sent and not answered, or whose answer was not understood: the broker may have the
/// acknowledgements.
fn is_unknown(code: ErrorCode) -> bool {
    code.0 < 0
        || [
            ErrorCode::REQUEST_TIMED_OUT,
            ErrorCode::INVALID_MSG,
            ErrorCode::SASL_AUTHENTICATION_FAILED,
        ]
        .contains(&code)
}

fn joined(acknowledgements: &PartitionAcknowledgements) -> Vec<OffsetRange> {
    let mut all: Vec<OffsetRange> = Vec::new();
    for range in &acknowledgements.ranges {
        match all.last_mut() {
            Some(last) if last.last + 1 == range.offsets.first => last.last = range.offsets.last,
            _ => all.push(range.offsets),
        }
    }
    all
}

fn ack_of(ty: AcknowledgeType) -> ShareAck {
    match ty {
        AcknowledgeType::Accept => ShareAck::Accept,
        AcknowledgeType::Release => ShareAck::Release,
        AcknowledgeType::Reject => ShareAck::Reject,
        AcknowledgeType::Renew => ShareAck::Renew,
    }
}

impl ShareGroups {
    /// Records acknowledgements that an application passes to its client. `call`: the number of a synchronous commit.
    pub(crate) fn on_acknowledged(
        &mut self,
        (client, group): (usize, &str),
        all: &[PartitionAcknowledgements],
        call: Option<u64>,
        at_us: u64,
    ) -> Result<(), String> {
        for acknowledgements in all {
            let partition = (
                group.to_owned(),
                acknowledgements.topic_id,
                acknowledgements.tp.partition,
            );
            let ranges = acknowledgements.ranges.iter();
            let acks = ranges.flat_map(|r| (r.offsets.first..=r.offsets.last).map(|offset| (offset, ack_of(r.ty))));
            let acks: Vec<_> = acks.collect();
            let records = self.partitions.entry(partition.clone()).or_default();
            for (offset, ack) in &acks {
                let submitted = records.entry(*offset).or_default().submit(client, *ack);
                submitted.map_err(|what| {
                    format!(
                        "client {client} acknowledges {} @ {offset}: {what}",
                        acknowledgements.tp
                    )
                })?;
            }
            self.member(client).outstanding.push(Outstanding {
                tp: acknowledgements.tp.clone(),
                partition,
                offsets: joined(acknowledgements),
                acks,
                at_us,
                call,
            });
        }
        Ok(())
    }

    /// Returns the acknowledgements that a result is for. Of several for the same offsets, those in the state that the result
    /// tells: results of acknowledgements that are not sent overtake those of others.
    fn answered(&self, client: usize, tp: &TopicPartition, offsets: &[OffsetRange], code: ErrorCode) -> Option<usize> {
        let all = &self.members.get(&client)?.outstanding;
        let is_it = |o: &Outstanding| o.tp == *tp && o.offsets == offsets;
        let agrees = |o: &Outstanding| {
            let records = self.partitions.get(&o.partition);
            let is_applied = o.acks.iter().any(|(offset, ack)| {
                let record = records.and_then(|records| records.get(offset));
                record.is_some_and(|record| record.is_applied(client, *ack, o.at_us))
            });
            is_applied == code.is_ok()
        };
        let agreeing = match code.is_ok() {
            // An acknowledgement without an answer may be followed by another one for the next acquisition.
            true => all.iter().rposition(|o| is_it(o) && agrees(o)),
            false => all.iter().position(|o| is_it(o) && agrees(o)),
        };
        agreeing.or_else(|| all.iter().position(is_it))
    }

    /// Checks a result that an application is told. `log_start` returns the start of a log, `None` for a topic that is gone.
    pub(crate) fn on_result(
        &mut self,
        client: usize,
        (tp, offsets, code): (&TopicPartition, &[OffsetRange], ErrorCode),
        log_start: impl Fn(&SharePartitionId) -> Option<i64>,
    ) -> Result<(), String> {
        let Some(at) = self.answered(client, tp, offsets, code) else {
            return Err(format!(
                "client {client} tells a result without an acknowledgement: {tp} {offsets:?}: {code:?}"
            ));
        };
        let member = self.member(client);
        let found = member.outstanding.remove(at);
        if let Some(call) = found.call {
            member.told.entry(call).or_default().push((tp.clone(), code));
        }
        let is_unknown = is_unknown(code);
        self.counts.failed_results += u64::from(!code.is_ok());
        let start = log_start(&found.partition);
        for (offset, ack) in found.acks {
            let records = self.partitions.get_mut(&found.partition);
            let Some(record) = records.and_then(|records| records.get_mut(&offset)) else {
                continue;
            };
            let is_applied = record.is_applied(client, ack, found.at_us);
            let context = || {
                format!(
                    "client {client} tells {code:?} for {ack:?} of {tp} @ {offset} of {}",
                    found.at_us
                )
            };
            if code.is_ok() || is_unknown {
                record.take_applied(client, ack, found.at_us);
            }
            match code.is_ok() {
                true => {
                    // Brokers accept acknowledgements of records that have left the share partition.
                    let has_left = record.is_done || start.is_none_or(|start| offset < start);
                    if !is_applied && !has_left {
                        return Err(format!("{}, and the leader does not have it: {record:?}", context()));
                    }
                    record.is_told_done |= matches!(ack, ShareAck::Accept | ShareAck::Reject);
                }
                false if is_applied && is_unknown => self.counts.answers_lost += 1,
                // Renewals before a failed acknowledgement stay.
                false if is_applied && ack != ShareAck::Renew => {
                    return Err(format!("{}, and the leader has it: {record:?}", context()));
                }
                false => {}
            }
        }
        Ok(())
    }

    /// Checks the results of a synchronous commit of these partitions. `is_late`: its deadline has passed.
    pub(crate) fn on_commit_results(
        &mut self,
        client: usize,
        call: u64,
        results: &CommitResults,
        is_late: bool,
    ) -> Result<(), String> {
        let member = self.member(client);
        let told = member.told.remove(&call).unwrap_or_default();
        let open: Vec<TopicPartition> = member
            .outstanding
            .iter()
            .filter(|o| o.call == Some(call))
            .map(|o| o.tp.clone())
            .collect();
        for (index, (tp, code)) in results.iter().enumerate() {
            if results.iter().take(index).any(|(other, _)| other == tp) {
                return Err(format!("client {client}: {tp} has two results in {results:?}"));
            }
            let codes: Vec<ErrorCode> = told.iter().filter(|(of, _)| of == tp).map(|(_, code)| *code).collect();
            let timed_out = *code == ErrorCode::REQUEST_TIMED_OUT && is_late;
            let expected = codes.iter().find(|code| !code.is_ok()).or(codes.first());
            if expected != Some(code) && !timed_out {
                return Err(format!(
                    "client {client}: the commit's result for {tp} is {code:?}, told before: {codes:?}"
                ));
            }
        }
        let mut expected = told.iter().map(|(tp, _)| tp).chain(&open);
        match expected.find(|tp| !results.iter().any(|(of, _)| of == *tp)) {
            Some(missing) => Err(format!("client {client}: {missing} has no result in {results:?}")),
            None => Ok(()),
        }
    }

    /// Returns an acknowledgement of a client whose result was not told.
    pub(crate) fn waiting_for(&self, client: usize) -> Option<String> {
        let first = self.members.get(&client)?.outstanding.first()?;
        Some(format!("{} {:?} of {}", first.tp, first.offsets, first.at_us))
    }
}
