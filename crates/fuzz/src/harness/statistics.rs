//! Invariants of a client's statistics.

use ottla_core::stats::{Partition, Statistics, Summary};

/// Interval of the statistics, in milliseconds.
pub(crate) const INTERVAL_MS: &str = "4000";

/// Checks a document for consistency in itself and with the previous one.
pub(crate) fn check(before: Option<&Statistics>, now: &Statistics) -> Result<(), String> {
    if let Some((name, was, is)) = before.and_then(|before| now.gone_back_since(before)) {
        return Err(format!("{name} went from {was} to {is}"));
    }
    adds_up(now)?;
    for broker in now.brokers.values() {
        for window in [
            &broker.int_latency,
            &broker.outbuf_latency,
            &broker.rtt,
            &broker.throttle,
        ] {
            is_in_order(&broker.name, window)?;
        }
    }
    for topic in now.topics.values() {
        for window in [&topic.batchsize, &topic.batchcnt] {
            is_in_order(&topic.topic, window)?;
        }
    }
    ensure!(now.to_json().ends_with('}'), "a document that is not written out");
    Ok(())
}

fn partitions(document: &Statistics) -> impl Iterator<Item = (&str, &Partition)> {
    let topics = document.topics.values();
    topics.flat_map(|t| t.partitions.values().map(|p| (t.topic.as_str(), p)))
}

fn adds_up(now: &Statistics) -> Result<(), String> {
    let sum = |of: fn(&Partition) -> u64| -> u64 { partitions(now).map(|(_, p)| of(p)).sum() };
    for (name, of, all) in [
        ("txmsgs", (|p| p.txmsgs) as fn(&Partition) -> u64, now.txmsgs),
        ("txmsg_bytes", |p| p.txbytes, now.txmsg_bytes),
        ("rxmsgs", |p| p.rxmsgs, now.rxmsgs),
        ("rxmsg_bytes", |p| p.rxbytes, now.rxmsg_bytes),
    ] {
        let parts = sum(of);
        ensure!(parts == all, "{name} is {all}, that of partitions together {parts}");
    }
    let held = sum(|p| p.msgq_cnt + p.xmit_msgq_cnt + p.msgs_inflight);
    ensure!(
        held <= now.msg_cnt,
        "{held} messages wait or are in flight of {} that are held",
        now.msg_cnt
    );
    let bytes = sum(|p| p.msgq_bytes + p.xmit_msgq_bytes);
    ensure!(
        bytes <= now.msg_size,
        "{bytes} bytes wait of {} that are held",
        now.msg_size
    );
    let of_connections: u64 = now
        .brokers
        .values()
        .map(|b| b.outbuf_msg_cnt + b.waitresp_msg_cnt)
        .sum();
    let in_flight = sum(|p| p.msgs_inflight);
    ensure!(
        of_connections <= in_flight,
        "connections have {of_connections} messages in flight, partitions {in_flight}"
    );
    let sent: u64 = now.brokers.values().map(|b| b.tx).sum();
    ensure!(sent <= now.tx, "connections have sent {sent} requests of {}", now.tx);
    for (topic, p) in partitions(now) {
        let name = format!("{topic} [{}]", p.partition);
        ensure!(
            p.fetchq_cnt + p.rx_ver_drops <= p.rxmsgs,
            "{name} has got less than waits or was dropped"
        );
        ensure!(
            p.acked_msgid <= p.msgs,
            "{name}: message {} of {} was acknowledged",
            p.acked_msgid,
            p.msgs
        );
        ensure!(
            p.consumer_lag >= -1 && p.consumer_lag_stored >= -1,
            "{name} has a lag below none"
        );
    }
    Ok(())
}

fn is_in_order(of: &str, window: &Summary) -> Result<(), String> {
    let w = window;
    let ordered = [w.p50, w.p75, w.p90, w.p95, w.p99, w.p99_99, w.max];
    ensure!(ordered.is_sorted(), "{of}: percentiles {ordered:?}");
    ensure!(w.min <= w.avg && w.avg <= w.max && w.sum >= w.max, "{of}: {w:?}");
    ensure!(
        w.outofrange <= w.cnt,
        "{of}: {} of {} out of range",
        w.outofrange,
        w.cnt
    );
    Ok(())
}
