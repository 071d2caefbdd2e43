//! Pauses that brokers request (KIP-13, KIP-219).

use super::*;

#[test]
fn a_throttled_connection_is_busy_until_the_pause_ends() {
    let mut w = World::new(config());
    w.up();
    w.connections.throttle(w.key, Duration::from_millis(300), w.now);
    assert!(matches!(w.ready(), Ready::Busy));
    w.advance(300);
    assert!(matches!(w.events()[..], [ConnectionEvent::SendReady { .. }]));
    assert!(matches!(w.ready(), Ready::Yes(_)));
}

#[test]
fn pauses_that_the_broker_has_not_kept_are_kept_and_all_are_reported() {
    for (api, version, kept) in [
        (ApiKey::PRODUCE, 5, false),
        (ApiKey::PRODUCE, 6, true),
        (ApiKey::FETCH, 7, false),
        (ApiKey::FETCH, 8, true),
        (ApiKey::LIST_OFFSETS, 2, false),
        (ApiKey::LIST_OFFSETS, 3, true),
    ] {
        let mut w = World::new(config());
        w.up();
        for throttle_ms in [0, 300, 0, 0, -5] {
            w.connections
                .on_throttle_time(w.key, (api, version), throttle_ms, w.now);
        }
        assert_eq!(matches!(w.ready(), Ready::Busy), kept, "{api:?} {version}");
        let reported: Vec<i32> = w
            .events()
            .iter()
            .filter_map(|e| match e {
                ConnectionEvent::Throttled { throttle_ms, .. } => Some(*throttle_ms),
                _ => None,
            })
            .collect();
        assert_eq!(reported, [300, 0]);
    }
}
