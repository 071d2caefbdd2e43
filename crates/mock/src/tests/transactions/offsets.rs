//! Offsets of groups in transactions.

use super::*;

#[test]
fn txn_offsets_take_effect_on_commit() {
    for level in [1, 2] {
        let mut test = cluster(level);
        let mut producer = Producer::new(&mut test, "x");
        let version = if level == 2 { 5 } else { 3 };
        if level == 1 {
            assert_eq!(producer.send_offsets(&mut test, 5, 3), ErrorCode::INVALID_TXN_STATE);
            assert_eq!(producer.send_offsets(&mut test, 5, 4), ErrorCode::TRANSACTION_ABORTABLE);
            assert_eq!(producer.add_offsets(&mut test), ErrorCode::NONE);
        }
        assert_eq!(producer.send_offsets(&mut test, 5, version), ErrorCode::NONE);
        assert_eq!(group_offset(&mut test, false), (-1, ErrorCode::NONE));
        assert_eq!(group_offset(&mut test, true), (-1, ErrorCode::UNSTABLE_OFFSET_COMMIT));
        test.cluster.log_commits();
        assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
        assert_eq!(group_offset(&mut test, true).1, ErrorCode::UNSTABLE_OFFSET_COMMIT);
        let id = producer.id;
        test.pass_ms(5);
        assert_eq!(group_offset(&mut test, true), (5, ErrorCode::NONE));
        let commits = test.cluster.take_commits();
        assert_eq!((commits.len(), commits[0].producer_id), (1, Some(id)));

        if level == 1 {
            assert_eq!(producer.add_offsets(&mut test), ErrorCode::NONE);
        }
        assert_eq!(producer.send_offsets(&mut test, 9, version), ErrorCode::NONE);
        let zombie = producer.clone();
        assert_eq!(producer.end(&mut test, false), ErrorCode::NONE);
        test.pass_ms(5);
        assert_eq!(group_offset(&mut test, true), (5, ErrorCode::NONE));
        if level == 2 {
            let fenced = ErrorCode::INVALID_PRODUCER_EPOCH;
            assert_eq!(zombie.send_offsets(&mut test, 9, version), fenced);
        }
    }
}

#[test]
fn txn_offset_commit_checks_the_member() {
    let mut test = cluster(2);
    let producer = Producer::new(&mut test, "x");
    let mut request = producer.offsets_request(5);
    request.generation_id = 1;
    assert_eq!(commit_offsets(&mut test, &request, 5), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(producer.send_offsets(&mut test, 5, 5), ErrorCode::NONE);
    assert_eq!(commit_offsets(&mut test, &request, 5), ErrorCode::UNKNOWN_MEMBER_ID);
    request.generation_id = -1;
    request.member_id = "m".into();
    // An empty group accepts a commit without a generation.
    assert_eq!(commit_offsets(&mut test, &request, 5), ErrorCode::NONE);
    request.topics[0].name = "none".into();
    assert_eq!(
        commit_offsets(&mut test, &request, 5),
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    );
}
