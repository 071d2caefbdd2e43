//! One partition's part of a Fetch response: errors, end offsets, preferred replicas, record data.

use ottla_protocol::Records;
use ottla_protocol::api::fetch::{NodeEndpoint, PartitionData};
use ottla_protocol::record::BatchIter;

use super::partitions::ConsumedPartitions;
use super::pending_data::PendingData;
use super::positions::{FetchState, Next, Position};
use super::session::Session;
use crate::cluster::{Cluster, NodeInfo};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::types::NodeId;

/// Handles a partition's part of a response; returns true if it contains record data to be delivered.
///
/// Data for partitions that are not in flight any more is stale: a seek, pause, stop or new leader has moved them.
pub(super) fn on_partition(
    consumed: &mut ConsumedPartitions,
    ctx: &mut Ctx<'_>,
    cluster: &mut Cluster,
    session: Option<&mut Session>,
    (node, id): (NodeId, u32),
    data: PartitionData,
    endpoints: &[NodeEndpoint],
) -> bool {
    let last_stable = (data.last_stable_offset >= 0).then_some(data.last_stable_offset);
    let end = match last_stable.filter(|_| consumed.settings().read_committed) {
        Some(end) => end,
        None => data.high_watermark,
    };
    if data.error_code == 0
        && let Some(session) = session
    {
        session.note_end(id, end);
    }
    let position = consumed.get(id);
    if position.is_none_or(|p| p.fetch_state() != FetchState::InFlight(node)) {
        return false;
    }
    let code: ErrorCode = data.error_code.into();
    if !code.is_ok() {
        if !update_leader(consumed, ctx, cluster, id, &data, endpoints) {
            on_partition_error(consumed, ctx, cluster, id, code);
        }
        return false;
    }
    let diverging = &data.diverging_epoch;
    if diverging.epoch >= 0 || diverging.end_offset >= 0 {
        let log_end = (diverging.epoch, diverging.end_offset);
        consumed.on_truncated(ctx, cluster, id, log_end);
        return false;
    }
    let preferred_for = consumed.settings().preferred_for;
    let Some(p) = consumed.get_mut(id) else {
        return false;
    };
    let low = (data.log_start_offset >= 0).then_some(data.log_start_offset);
    p.state.set_watermarks(low, Some(data.high_watermark));
    p.last_stable = last_stable.unwrap_or(p.last_stable);
    let replica = NodeId(data.preferred_read_replica);
    if data.preferred_read_replica >= 0 && replica != node && cluster.node(replica).is_some() {
        let until = ctx.now + preferred_for;
        log_preferred_replica(ctx, p, replica);
        p.preferred = Some((replica, until));
        p.reported = ErrorCode::NO_ERROR;
        consumed.update_fetch_state(ctx, cluster, id);
        consumed.leaders().add_lease(replica, until);
        return false;
    }
    let Next::At(at) = p.next else { return false };
    let epoch = p.epoch;
    let fits_len = data.records.as_ref().map_or(0, Records::len) as u64;
    let records = data.records.map(|r| r.into_bytes()).unwrap_or_default();
    log_fetched(ctx, p, records.len(), at, data.high_watermark);
    if records.is_empty() {
        consumed.on_progress(id, end);
        return false;
    }
    if !consumed.budget().fits(fits_len) {
        // A batch of unknown size arrived that is larger than its reservation, while others are held. It is requested
        // again with its size.
        let batches = BatchIter::new(records);
        if let Some(p) = consumed.get_mut(id) {
            p.next_batch = batches.needed_bytes().map_or(0, |n| n as u64);
            ctx.log.debug(DebugContexts::FETCH, "FETCH", || {
                format!("{}: no budget for {} bytes", p.state.tp(), batches.remaining())
            });
        }
        consumed.update_fetch_state(ctx, cluster, id);
        return false;
    }
    let aborted = data
        .aborted_transactions
        .filter(|_| consumed.settings().read_committed)
        .unwrap_or_default();
    consumed.set_pending(id, PendingData::new(records, (at, epoch), end, node.0, &aborted));
    true
}

/// Stores the present leader that an error response names (KIP-951); returns true if that was new.
fn update_leader(
    consumed: &mut ConsumedPartitions,
    ctx: &mut Ctx<'_>,
    cluster: &mut Cluster,
    id: u32,
    data: &PartitionData,
    endpoints: &[NodeEndpoint],
) -> bool {
    let leader = data.current_leader.leader_id;
    let Some(p) = consumed.get(id).filter(|_| leader >= 0) else {
        return false;
    };
    let (name, index) = (p.name.clone(), p.state.partition());
    let address = endpoints.iter().find(|e| e.node_id == leader).and_then(|e| {
        Some(NodeInfo {
            host: e.host.clone(),
            port: u16::try_from(e.port).ok()?,
            rack: e.rack.clone(),
        })
    });
    let epoch = data.current_leader.leader_epoch;
    let is_new = cluster.update_leader(ctx, &name, index, NodeId(leader), epoch, address);
    if is_new {
        consumed.update_fetch_state(ctx, cluster, id);
    }
    is_new
}

/// Handles an error of a partition, or of a response as a whole.
pub(super) fn on_partition_error(
    consumed: &mut ConsumedPartitions,
    ctx: &mut Ctx<'_>,
    cluster: &mut Cluster,
    id: u32,
    code: ErrorCode,
) {
    let Some(p) = consumed.get_mut(id) else { return };
    let name = p.name.clone();
    let at_follower = p.preferred.take().is_some();
    let tp = p.state.tp();
    ctx.log.debug(DebugContexts::FETCH, "FETCHERR", || {
        format!("{tp}: {}", code.description())
    });
    if code == ErrorCode::OFFSET_OUT_OF_RANGE {
        if at_follower {
            // A follower may lag behind: the leader's response counts.
            return consumed.update_fetch_state(ctx, cluster, id);
        }
        let text = format!("{tp}: fetch failed: {}", code.description());
        return consumed.on_out_of_range(ctx, cluster, id, &Error::new(code, text));
    }
    if code.action().refreshes_metadata() || code == ErrorCode::UNKNOWN_LEADER_EPOCH {
        cluster.request_refresh(&name, ctx.now);
    }
    if !code.action().is_retriable() {
        let text = format!("Fetch from {tp} failed: {}", code.description());
        consumed.report_error(id, Error::new(code, text));
    }
    let backoff = consumed.settings().error_backoff;
    consumed.set_fetch_state(id, FetchState::Backoff(ctx.now + backoff));
}

fn log_fetched(ctx: &Ctx<'_>, p: &Position, bytes: usize, at: i64, end_of_log: i64) {
    ctx.log.debug(DebugContexts::FETCH, "FETCHED", || {
        format!(
            "{}: {bytes} bytes from offset {at}, the log ends at {end_of_log}",
            p.state.tp()
        )
    });
}

fn log_preferred_replica(ctx: &Ctx<'_>, p: &Position, replica: NodeId) {
    ctx.log.debug(DebugContexts::FETCH, "FOLLOWER", || {
        format!("{}: the leader prefers reads from broker {replica}", p.state.tp())
    });
}
