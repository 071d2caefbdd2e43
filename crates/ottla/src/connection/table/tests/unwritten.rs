//! Requests that the kernel has not taken yet.

use super::*;

#[test]
fn an_answer_to_a_request_that_is_not_written_breaks_the_protocol() {
    let mut w = World::new(config());
    let conn = w.up();
    w.send(1, 1000).unwrap();
    let (correlation, _, version) = w.sent();
    let tag = Tag {
        owner: Owner::Cluster,
        id: 1,
    };
    w.written(conn, 2, 1);
    assert!(w.connections.is_unwritten(w.key, tag), "a part of it is under way");
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
fn what_was_not_handed_to_the_network_is_taken_back_with_the_connection() {
    let mut w = World::new(config());
    w.up();
    w.send(1, 1000).unwrap();
    w.connections.fail(w.key, Error::from(ErrorCode::L_TRANSPORT), w.now);
    assert!(
        matches!(w.actions()[..], [NetAction::Close { .. }]),
        "and nothing is sent"
    );
}
