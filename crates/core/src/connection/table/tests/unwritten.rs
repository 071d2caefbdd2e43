//! Requests that the kernel has not taken.

use super::*;

#[test]
fn a_response_before_its_request_is_written_ends_the_connection() {
    let mut w = World::new(config());
    let conn = w.up();
    w.send(1, 1000).unwrap();
    let (correlation, _, version) = w.sent();
    let tag = Tag {
        owner: Owner::Cluster,
        id: 1,
    };
    w.written(conn, 2, 1);
    assert!(w.connections.is_unwritten(w.key, tag), "only a part is written");
    w.respond_early(conn, correlation, &MetadataResponse::default(), version);
    let events = w.events();
    let Some(ConnectionEvent::Outcome {
        outcome: Outcome::Failed(failure),
        ..
    }) = events.first()
    else {
        panic!("{events:?}")
    };
    assert!(failure.error.message.contains("before it was written"), "{failure:?}");
    assert!(!w.connections.is_unwritten(w.key, tag));
    assert!(matches!(w.actions()[..], [NetAction::Close { .. }]));
}

#[test]
fn fail_drops_frames_that_the_network_has_not_received() {
    let mut w = World::new(config());
    w.up();
    w.send(1, 1000).unwrap();
    w.connections.fail(w.key, Error::from(ErrorCode::L_TRANSPORT), w.now);
    assert!(
        matches!(w.actions()[..], [NetAction::Close { .. }]),
        "and nothing is sent"
    );
}
