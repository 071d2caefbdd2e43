//! Answers to Produce requests as they reach clients: what brokers said of each message, for the checkers.

use bytes::Bytes;
use ottla::connection::ConnId;
use ottla::error::ErrorCode;
use ottla_protocol::api::produce::{PartitionProduceResponse, ProduceRequest};
use ottla_protocol::{Uuid, decode_response, peek_correlation_id};

use crate::check::Answer;
use crate::message::MessageId;
use crate::world::World;

/// A Produce request that waits for its answer.
#[derive(Debug)]
pub(crate) struct PendingProduce {
    pub(crate) version: i16,
    pub(crate) at_us: u64,
    pub(crate) rows: Vec<PendingPartition>,
}

/// What the request has for a partition.
#[derive(Debug)]
pub(crate) struct PendingPartition {
    /// By name and by id; one of them is empty.
    pub(crate) topic: (String, Uuid),
    pub(crate) partition: i32,
    pub(crate) messages: Vec<MessageId>,
}

/// No client gives a request up before this time has passed, however little time its records have left
/// (`message.timeout.ms`).
const REQUEST_LIFETIME_MIN_US: u64 = 100_000;

impl World {
    /// Looks at a response, without its length prefix, as it reaches the client.
    pub(crate) fn observe_produce_response(&mut self, client: usize, conn: ConnId, body: &Bytes, corrupted: bool) {
        if self.produce_acks.is_empty() {
            return;
        }
        let Ok(correlation) = peek_correlation_id(body) else {
            return;
        };
        let Some(pending) = self.produce_acks.remove(&(client, conn, correlation)) else {
            return;
        };
        let Ok((_, response)) = decode_response::<ProduceRequest>(body.clone(), pending.version) else {
            return;
        };
        let in_time = !corrupted && self.now_us < pending.at_us + REQUEST_LIFETIME_MIN_US;
        for topic in &response.responses {
            for part in &topic.partition_responses {
                let of_topic = |row: &&PendingPartition| row.topic.0 == topic.name && row.topic.1 == topic.topic_id;
                let mut rows = pending.rows.iter().filter(of_topic);
                if let Some(row) = rows.find(|row| row.partition == part.index) {
                    self.on_answered(row, part, in_time);
                }
            }
        }
    }

    /// A client has no more requests under way on a connection than `max.in.flight.requests.per.connection`.
    pub(crate) fn check_in_flight(&mut self, client: usize, conn: ConnId) {
        let since = self.now_us.saturating_sub(REQUEST_LIFETIME_MIN_US);
        let of_conn = self
            .produce_acks
            .range((client, conn, i32::MIN)..=(client, conn, i32::MAX));
        let under_way = of_conn.filter(|(_, pending)| pending.at_us > since).count();
        let most = self.clients[client].limits.in_flight;
        if under_way > most {
            self.check.violate(format!(
                "client {client} has {under_way} requests under way on connection {}, {most} are allowed",
                conn.0
            ));
        }
    }

    /// A Produce request is handed to the network, where `unwritten` wait already.
    pub(crate) fn check_backpressure(&mut self, client: usize, unwritten: usize) {
        let most = self.clients[client].limits.unwritten;
        if unwritten >= most {
            self.check.violate(format!(
                "client {client} sends a Produce request while {unwritten} requests wait to be written"
            ));
        }
    }

    fn on_answered(&mut self, row: &PendingPartition, part: &PartitionProduceResponse, in_time: bool) {
        let code = ErrorCode::from(part.error_code);
        self.coverage.count("batches answered", 1);
        self.coverage
            .count("batches too large", u64::from(code == ErrorCode::MSG_SIZE_TOO_LARGE));
        let hinted = part.current_leader.leader_id >= 0;
        self.coverage.count("leader hints", u64::from(hinted));
        let blames = !code.is_ok() && !part.record_errors.is_empty();
        for (at, id) in row.messages.iter().enumerate() {
            let at = i32::try_from(at).unwrap_or(i32::MAX);
            let innocent = blames && !part.record_errors.iter().any(|e| e.batch_index == at);
            let answer = Answer {
                code: if innocent {
                    ErrorCode::L_INVALID_DIFFERENT_RECORD
                } else {
                    code
                },
                offset: match part.base_offset {
                    base if base >= 0 => base + i64::from(at),
                    base => base,
                },
                in_time,
            };
            let result = self.check.produced.on_answer(*id, answer, self.now_us);
            self.check.expect(result);
        }
    }
}
