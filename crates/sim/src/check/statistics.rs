//! Statistics: each document agrees with itself, with the document before, and with the events of its application.

use std::collections::BTreeMap;

use ottla_core::stats::{Broker, Partition, Statistics, Summary};

/// Counters of the application's messages, with which statistics are compared.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct AppCounters {
    /// Messages that the client accepted.
    pub(crate) accepted: u64,
    /// Messages that were reported as delivered.
    pub(crate) delivered: u64,
    /// Records that the application received.
    pub(crate) taken: u64,
    /// Offsets that a member of a share group acquired: some of its records are released without the application.
    pub(crate) acquired: u64,
}

/// The last document of a client, and the application's counters when it received it.
#[derive(Debug)]
struct Last {
    document: Statistics,
    counters: AppCounters,
    taken_at_us: u64,
}

/// The documents of all clients.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    last: BTreeMap<usize, Last>,
}

fn partitions(document: &Statistics) -> impl Iterator<Item = &Partition> {
    document.topics.values().flat_map(|topic| topic.partitions.values())
}

fn sum_of(document: &Statistics, of: impl Fn(&Partition) -> u64) -> u64 {
    partitions(document).map(of).sum()
}

impl Reports {
    /// Checks a document that the application received at `now_us` with the counters `counters`.
    pub(crate) fn on_document(
        &mut self,
        client: usize,
        document: Statistics,
        counters: AppCounters,
        now_us: u64,
    ) -> Result<(), String> {
        let before = self.last.get(&client);
        let result = of_itself(&document, now_us)
            .and_then(|()| before.map_or(Ok(()), |last| since(last, &document)))
            .and_then(|()| as_seen(&document, before, counters));
        let last = Last {
            document,
            counters,
            taken_at_us: now_us,
        };
        self.last.insert(client, last);
        result.map_err(|what| format!("client {client}: statistics: {what}"))
    }
}

/// Checks a document by itself.
fn of_itself(document: &Statistics, now_us: u64) -> Result<(), String> {
    if document.ts_us > now_us {
        return Err(format!("made at {}, taken at {now_us}", document.ts_us));
    }
    let brokers = |of: fn(&Broker) -> u64| document.brokers.values().map(of).sum::<u64>();
    // Totals include removed brokers.
    let wrong_order = [
        ("requests of brokers", brokers(|b| b.tx), document.tx),
        ("responses of brokers", brokers(|b| b.rx), document.rx),
        ("bytes to brokers", brokers(|b| b.txbytes), document.tx_bytes),
        ("bytes from brokers", brokers(|b| b.rxbytes), document.rx_bytes),
        ("disconnects", brokers(|b| b.disconnects), brokers(|b| b.connects)),
    ];
    let wrong_order = wrong_order.iter().find(|(_, part, whole)| part > whole);
    if let Some((what, part, whole)) = wrong_order {
        return Err(format!("{what}: {part} of {whole}"));
    }
    // Totals also include responses without a request of removed brokers, whose number is not reported.
    let too_many = |b: &&Broker| b.rx > b.tx + b.rxcorriderrs;
    if let Some(b) = document.brokers.values().find(too_many) {
        return Err(format!(
            "{}: {} responses to {} requests, {} of them to none",
            b.name, b.rx, b.tx, b.rxcorriderrs
        ));
    }
    for (what, parts, whole) in [
        ("txmsgs", sum_of(document, |p| p.txmsgs), document.txmsgs),
        ("txmsg_bytes", sum_of(document, |p| p.txbytes), document.txmsg_bytes),
        ("rxmsgs", sum_of(document, |p| p.rxmsgs), document.rxmsgs),
        ("rxmsg_bytes", sum_of(document, |p| p.rxbytes), document.rxmsg_bytes),
    ] {
        if parts != whole {
            return Err(format!("{what} is {whole}, that of partitions {parts}"));
        }
    }
    let windows = document.brokers.values().flat_map(|b| {
        [
            ("int_latency", &b.int_latency),
            ("outbuf_latency", &b.outbuf_latency),
            ("rtt", &b.rtt),
            ("throttle", &b.throttle),
        ]
    });
    let windows = windows.chain(
        document
            .topics
            .values()
            .flat_map(|t| [("batchsize", &t.batchsize), ("batchcnt", &t.batchcnt)]),
    );
    match windows.into_iter().find(|(_, window)| !is_sound(window)) {
        Some((what, window)) => Err(format!("{what}: {window:?}")),
        None => Ok(()),
    }
}

fn is_sound(window: &Summary) -> bool {
    let percentiles = [
        window.p50,
        window.p75,
        window.p90,
        window.p95,
        window.p99,
        window.p99_99,
    ];
    let empty = window.cnt == 0 && window.sum == 0 && window.max == 0;
    let filled = window.cnt > 0 && (window.min..=window.max).contains(&window.avg) && window.sum >= window.max;
    window.min >= 0 && percentiles.is_sorted() && percentiles[0] >= 0 && (empty || filled)
}

/// Checks a document against the one before: counters do not decrease.
fn since(last: &Last, document: &Statistics) -> Result<(), String> {
    if document.ts_us <= last.document.ts_us {
        return Err(format!("made at {} after {}", document.ts_us, last.document.ts_us));
    }
    match document.gone_back_since(&last.document) {
        Some((what, before, now)) => Err(format!("{what} goes back from {before} to {now}")),
        None => Ok(()),
    }
}

/// Compares a document with the application's counters. A document may have waited in the queue: the counters at the
/// document before are a lower bound where the document was made later, the present counters an upper bound.
fn as_seen(document: &Statistics, last: Option<&Last>, counters: AppCounters) -> Result<(), String> {
    let then = last
        .filter(|last| last.taken_at_us < document.ts_us)
        .map_or(AppCounters::default(), |last| last.counters);
    let waiting = sum_of(document, |p| p.fetchq_cnt);
    let dropped = sum_of(document, |p| p.rx_ver_drops);
    for (what, reported, least, most) in [
        ("msg_cnt", document.msg_cnt, 0, counters.accepted),
        (
            "msgs",
            sum_of(document, |p| p.msgs),
            0,
            counters.accepted.max(document.rxmsgs),
        ),
        ("txmsgs", document.txmsgs, then.delivered, u64::MAX),
        (
            "rxmsgs",
            document.rxmsgs,
            then.taken + dropped,
            (counters.taken + waiting + dropped).max(counters.acquired),
        ),
    ] {
        if reported < least || reported > most {
            return Err(format!("{what} is {reported}, where {least} to {most} were seen"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_core::stats::Topic;

    fn document(ts_us: u64, rxmsgs: u64, waiting: u64) -> Statistics {
        let partition = Partition {
            rxmsgs,
            msgs: rxmsgs,
            fetchq_cnt: waiting,
            ..Partition::default()
        };
        let topic = Topic {
            partitions: BTreeMap::from([(0, partition)]),
            ..Topic::default()
        };
        Statistics {
            ts_us,
            rxmsgs,
            topics: BTreeMap::from([("t".to_owned(), topic)]),
            ..Statistics::default()
        }
    }

    fn taken(taken: u64) -> AppCounters {
        AppCounters {
            taken,
            ..AppCounters::default()
        }
    }

    #[test]
    fn records_taken_bound_the_received_counter() {
        let mut reports = Reports::default();
        assert_eq!(reports.on_document(0, document(10, 5, 2), taken(3), 20), Ok(()));
        assert_eq!(reports.on_document(0, document(30, 5, 0), taken(5), 40), Ok(()));
        assert!(reports.on_document(0, document(50, 7, 1), taken(5), 60).is_err());
        let mut reports = Reports::default();
        assert_eq!(reports.on_document(0, document(10, 5, 2), taken(6), 20), Ok(()));
        assert!(reports.on_document(0, document(30, 5, 0), taken(6), 40).is_err());
    }

    #[test]
    fn a_broker_answers_no_more_than_it_was_asked() {
        let reported = |rx, rxcorriderrs| {
            let broker = Broker {
                tx: 3,
                rx,
                rxcorriderrs,
                ..Broker::default()
            };
            let brokers = BTreeMap::from([("b".to_owned(), broker)]);
            let (tx, rx) = (3, rx);
            of_itself(
                &Statistics {
                    brokers,
                    tx,
                    rx,
                    ..document(10, 0, 0)
                },
                20,
            )
        };
        assert_eq!((reported(3, 0), reported(4, 1)), (Ok(()), Ok(())));
        assert!(reported(4, 0).is_err());
    }

    #[test]
    fn counters_go_forward_and_agree_with_their_parts() {
        let mut reports = Reports::default();
        assert_eq!(reports.on_document(0, document(10, 5, 0), taken(5), 20), Ok(()));
        assert!(reports.on_document(0, document(10, 5, 0), taken(5), 20).is_err());
        assert!(reports.on_document(0, document(30, 4, 0), taken(5), 40).is_err());
        let mut recreated = document(50, 5, 0);
        recreated.rxmsgs = 6;
        assert!(reports.on_document(0, recreated, taken(6), 60).is_err());
        assert!(
            reports.on_document(0, document(80, 5, 0), taken(5), 70).is_err(),
            "taken before it was made"
        );
    }
}
