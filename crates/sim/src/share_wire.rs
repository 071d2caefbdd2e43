//! Share groups on the wire and at their leaders: requests and responses of share sessions, the changes that leaders
//! report, and the progress of groups.

use bytes::Bytes;
use ottla_core::connection::ConnId;
use ottla_mock::{DeliveryState, SharePartitionView};
use ottla_protocol::api::share_acknowledge::ShareAcknowledgeRequest;
use ottla_protocol::api::share_fetch::ShareFetchRequest;
use ottla_protocol::api::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ottla_protocol::{ApiKey, decode_response, peek_correlation_id};

use crate::check::{WireAck, WireAcquired};
use crate::plan::SHARE_TOPIC;
use crate::share_members::PendingShareRequest;
use crate::trace::trace;
use crate::wire::{api_of, decode};
use crate::world::World;

/// Returns the acknowledgements of a request: ShareFetch and ShareAcknowledge have types of their own with the same fields.
macro_rules! acks_of {
    ($request:expr) => {{
        let topics = $request.topics.iter();
        let partitions = topics.flat_map(|t| t.partitions.iter().map(move |p| (t.topic_id, p)));
        let acks = partitions.flat_map(|(topic, p)| {
            p.acknowledgement_batches.iter().map(move |batch| WireAck {
                topic,
                partition: p.partition_index,
                first: batch.first_offset,
                last: batch.last_offset,
                types: batch.acknowledge_types.clone(),
            })
        });
        acks.collect::<Vec<WireAck>>()
    }};
}

/// Observes a request of a member as it is sent, with its length prefix.
pub(crate) fn observe_share_request(world: &mut World, client: usize, conn: ConnId, frame: &Bytes) {
    if !world.share_members.exist() {
        return;
    }
    let Some((api, version, correlation)) = api_of(frame.get(4..).unwrap_or_default()) else {
        return;
    };
    let (is_fetch, group, member, epoch, acks) = match api {
        ApiKey::SHARE_GROUP_HEARTBEAT => {
            if let Some((_, beat)) = decode::<ShareGroupHeartbeatRequest>(frame) {
                let result = world.check.share.on_member_id(client, &beat.member_id);
                world.check.expect(result);
            }
            return;
        }
        ApiKey::SHARE_FETCH => match decode::<ShareFetchRequest>(frame) {
            Some((_, r)) => (
                true,
                r.group_id.clone(),
                r.member_id.clone(),
                r.share_session_epoch,
                acks_of!(r),
            ),
            None => return,
        },
        ApiKey::SHARE_ACKNOWLEDGE => match decode::<ShareAcknowledgeRequest>(frame) {
            Some((_, r)) => {
                let acks = acks_of!(r);
                (false, r.group_id, r.member_id, r.share_session_epoch, acks)
            }
            None => return,
        },
        _ => return,
    };
    let (group, member) = (group.unwrap_or_default(), member.unwrap_or_default());
    trace!(
        world.trace,
        "c{client}   share session epoch {epoch}, acknowledgements {acks:?}"
    );
    world.coverage.count("requests of share sessions", 1);
    world
        .coverage
        .count("requests with acknowledgements", u64::from(!acks.is_empty()));
    let Some(broker) = world.net.number(client, conn).and_then(|number| world.net.conn(number)) else {
        return;
    };
    let broker = broker.broker().0;
    let pending = PendingShareRequest {
        version,
        broker,
        is_fetch,
        group: group.clone(),
    };
    world.share_members.await_response((client, conn, correlation), pending);
    let result = world.check.share.on_member_id(client, &member);
    world.check.expect(result);
    let now_us = world.now_us();
    let result = world
        .check
        .share
        .on_request((client, &group, broker), epoch, &acks, now_us);
    world.check.expect(result);
}

/// Observes a response, without its length prefix, as it reaches the client.
pub(crate) fn observe_share_response(world: &mut World, client: usize, conn: ConnId, body: &Bytes) {
    if !world.share_members.exist() {
        return;
    }
    let Ok(correlation) = peek_correlation_id(body) else {
        return;
    };
    let Some(pending) = world.share_members.take_response((client, conn, correlation)) else {
        return;
    };
    let now_us = world.now_us();
    let error = if pending.is_fetch {
        let Ok((_, response)) = decode_response::<ShareFetchRequest>(body.clone(), pending.version) else {
            return;
        };
        let partitions = response
            .responses
            .iter()
            .flat_map(|t| t.partitions.iter().map(move |p| (t.topic_id, p)));
        let acquired = partitions.flat_map(|(topic, p)| {
            p.acquired_records.iter().map(move |range| WireAcquired {
                topic,
                partition: p.partition_index,
                first: range.first_offset,
                last: range.last_offset,
                delivery_count: range.delivery_count.into(),
            })
        });
        let acquired: Vec<WireAcquired> = acquired.collect();
        trace!(
            world.trace,
            "c{client} receives ShareFetch error {} {acquired:?}", response.error_code
        );
        let offsets = acquired
            .iter()
            .map(|range| (range.last - range.first + 1).unsigned_abs());
        world.counters(client).acquired += offsets.sum::<u64>();
        let member = (client, pending.group.as_str(), pending.broker);
        world.check.share.on_received(member, &acquired, now_us);
        response.error_code
    } else {
        match decode_response::<ShareAcknowledgeRequest>(body.clone(), pending.version) {
            Ok((_, response)) => response.error_code,
            Err(_) => return,
        }
    };
    if error != 0 {
        world.check.share.on_session_lost(client, pending.broker, now_us);
    }
}

/// Notes that a client has learned of the end of a connection.
pub(crate) fn on_share_connection_lost(world: &mut World, client: usize, conn: ConnId) {
    if let Some(broker) = world.share_members.take_session(client, conn) {
        let now_us = world.now_us();
        world.check.share.on_session_lost(client, broker, now_us);
    }
}

/// Checks the changes that leaders have reported since the last call.
pub(crate) fn check_share_events(world: &mut World) {
    if !world.share_members.exist() {
        return;
    }
    for event in world.cluster.take_share_events() {
        trace!(world.trace, "share {event:?}");
        let result = world.check.share.on_event(&event);
        world.check.expect(result);
    }
}

/// Counts what has happened to records.
pub(crate) fn count_share_events(world: &mut World) {
    if !world.share_members.exist() {
        return;
    }
    let counts = world.check.share.take_counts();
    for (name, count) in [
        ("records acquired again", counts.redelivered),
        ("records accepted", counts.accepted),
        ("records released", counts.released),
        ("records rejected", counts.rejected),
        ("locks renewed", counts.renewed),
        ("offsets without a record", counts.gaps),
        ("locks expired", counts.expired),
        ("locks ended with sessions", counts.sessions_ended),
        ("records archived by the delivery limit", counts.archived_by_limit),
        ("locks expired in queues of clients", counts.unseen_expired),
        ("records released unseen", counts.unseen_released),
        ("acknowledgements with a lost answer", counts.answers_lost),
        ("failed acknowledgements", counts.failed_results),
    ] {
        world.coverage.count(name, count);
    }
}

/// Returns the reason why a share group has not processed all records; `None` when all have.
pub(crate) fn share_groups_wait_for(world: &mut World) -> Option<String> {
    if !world.share_members.exist() {
        return None;
    }
    if let Some(slot) = world.share_members.empty_slot() {
        return Some(format!("slot {slot} of the share groups has no client"));
    }
    for group in world.share_members.groups() {
        let clients = world.share_members.clients_of(&group);
        let members = world.cluster.group_members(&group);
        let known = world.check.share.clients_of(&members);
        if known != clients || members.len() != clients.len() {
            return Some(format!(
                "{group} has members {members:?} of clients {known:?}, and {clients:?} live"
            ));
        }
        if let Some(what) = unprocessed(world, &group) {
            return Some(what);
        }
    }
    None
}

/// Returns a partition that a group has not processed to its end.
fn unprocessed(world: &World, group: &str) -> Option<String> {
    let topics = world.plan.topics.iter().map(|topic| topic.name.as_str());
    let writes = world.share_members.plan().is_some_and(|plan| plan.writer.is_some());
    let topics = topics.chain(writes.then_some(SHARE_TOPIC));
    for topic in topics {
        let count = world.cluster.partition_count(topic).unwrap_or(0);
        for partition in 0..i32::try_from(count).unwrap_or(0) {
            let end = world
                .cluster
                .watermarks(topic, partition)
                .map_or(0, |m| m.high_watermark);
            let view = world.cluster.share_partition_view(group, topic, partition);
            if view.as_ref().is_none_or(|view| !is_processed(view, end)) {
                return Some(format!("{group}: {topic} [{partition}] ends at {end} and is {view:?}"));
            }
        }
    }
    None
}

/// Returns true when no record up to `end` is delivered again. The start offset follows with the next change.
fn is_processed(view: &SharePartitionView, end: i64) -> bool {
    let mut next = view.start_offset;
    for records in &view.records {
        let is_terminal = matches!(records.state, DeliveryState::Acknowledged | DeliveryState::Archived);
        if !is_terminal || records.first_offset > next {
            break;
        }
        next = next.max(records.last_offset + 1);
    }
    view.start_offset >= 0 && next >= end
}
