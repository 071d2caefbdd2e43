//! Acknowledgements, in ShareAcknowledge and in ShareFetch.

use super::*;
use crate::ShareChange;

use DeliveryState::{Acknowledged, Acquired as Locked, Archived, Available};

#[test]
fn accepted_and_rejected_records_are_not_delivered_again() {
    let mut share = Share::new();
    share.produce(&[6]);
    assert_eq!(share.acquire("a", 0), [(0, 5, 1)]);
    let types = &[ACCEPT, REJECT, 0, RELEASE, ACCEPT];
    assert_eq!(share.acknowledge("a", 1, &[(0, 4, types)]), ErrorCode::NONE);
    let expected = vec![(3, 3, Available, 1), (4, 4, Acknowledged, 1), (5, 5, Locked, 1)];
    assert_eq!(share.state(), (3, expected));
    assert_eq!(share.acquire("b", 0), [(3, 3, 2)]);
    let events = share.test.cluster.take_share_events();
    let changes: Vec<_> = events
        .into_iter()
        .map(|e| (e.first_offset, e.last_offset, e.change))
        .collect();
    let member = || "a".to_owned();
    let expected = [
        (0, -1, ShareChange::Loaded),
        (
            0,
            5,
            ShareChange::Acquired {
                member: member(),
                delivery_count: 1,
            },
        ),
        (0, 0, ShareChange::Accepted { member: member() }),
        (1, 1, ShareChange::Rejected { member: member() }),
        (2, 2, ShareChange::Gap { member: member() }),
        (3, 3, ShareChange::Released { member: member() }),
        (4, 4, ShareChange::Accepted { member: member() }),
        (
            3,
            3,
            ShareChange::Acquired {
                member: "b".to_owned(),
                delivery_count: 2,
            },
        ),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn start_offset_moves_when_all_before_it_are_done() {
    let mut share = Share::new();
    share.produce(&[3, 3]);
    share.fetch.max_records = 3;
    assert_eq!(share.acquire("a", 0), [(0, 2, 1)]);
    assert_eq!(share.acquire("b", 0), [(3, 5, 1)]);
    assert_eq!(share.acknowledge("b", 1, &[(3, 5, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.state(), (0, vec![(0, 2, Locked, 1), (3, 5, Acknowledged, 1)]));
    assert_eq!(share.acknowledge("a", 1, &[(0, 1, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.state(), (2, vec![(2, 2, Locked, 1), (3, 5, Acknowledged, 1)]));
    assert_eq!(share.acknowledge("a", 2, &[(2, 2, &[REJECT])]), ErrorCode::NONE);
    assert_eq!(share.state(), (6, vec![]));
    // An acknowledgement of records before the start offset has no effect.
    assert_eq!(share.acknowledge("a", 3, &[(0, 2, &[RELEASE])]), ErrorCode::NONE);
    assert_eq!(share.state(), (6, vec![]));
}

#[test]
fn one_invalid_record_refuses_all() {
    let mut share = Share::new();
    share.produce(&[4]);
    assert_eq!(share.acquire("a", 0), [(0, 3, 1)]);
    assert_eq!(share.acknowledge("a", 1, &[(1, 1, &[ACCEPT])]), ErrorCode::NONE);
    let before = share.state();
    let invalid = ErrorCode::INVALID_RECORD_STATE;
    assert_eq!(
        share.acknowledge("a", 2, &[(0, 0, &[ACCEPT]), (1, 3, &[ACCEPT])]),
        invalid
    );
    assert_eq!(share.state(), before);
    // Another member has not acquired them.
    assert_eq!(share.acquire("b", 0), []);
    assert_eq!(share.acknowledge("b", 1, &[(0, 0, &[ACCEPT])]), invalid);
    assert_eq!(
        share.acknowledge("a", 3, &[(2, 9, &[ACCEPT])]),
        ErrorCode::INVALID_REQUEST
    );
    assert_eq!(
        share.acknowledge("a", 4, &[(4, 4, &[ACCEPT])]),
        ErrorCode::INVALID_REQUEST
    );
    assert_eq!(share.state(), before);
}

#[test]
fn malformed_batches_are_refused() {
    let mut share = Share::new();
    share.produce(&[4]);
    share.acquire("a", 0);
    let malformed: [Acks<'_>; 6] = [
        &[(2, 1, &[ACCEPT])],
        &[(0, 1, &[])],
        &[(0, 2, &[ACCEPT, ACCEPT])],
        &[(0, 0, &[5])],
        &[(0, 0, &[-1])],
        &[(2, 3, &[ACCEPT]), (0, 1, &[ACCEPT])],
    ];
    for (epoch, acks) in (1..).zip(malformed) {
        assert_eq!(
            share.acknowledge("a", epoch, acks),
            ErrorCode::INVALID_REQUEST,
            "{acks:?}"
        );
    }
    assert_eq!(share.state(), (0, vec![(0, 3, Locked, 1)]));
    // Version 1 does not know renewals, and a request without the flag has none.
    let mut renewal = share.acknowledgement("a", 7, &[(0, 0, &[RENEW])]);
    let response = share.test.call(1, &renewal, 1);
    assert_eq!(
        response.responses[0].partitions[0].error_code,
        ErrorCode::INVALID_REQUEST.0
    );
    renewal.share_session_epoch = 8;
    renewal.is_renew_ack = false;
    let response = share.test.call(1, &renewal, 2);
    assert_eq!(
        response.responses[0].partitions[0].error_code,
        ErrorCode::INVALID_REQUEST.0
    );
}

#[test]
fn unknown_partitions_are_refused() {
    let mut share = Share::new();
    share.produce(&[1]);
    share.acquire("a", 0);
    let mut request = share.acknowledgement("a", 1, &[(0, 0, &[ACCEPT])]);
    request.topics[0].partitions[0].partition_index = 9;
    let mut other = request.topics[0].clone();
    other.topic_id = Uuid([9; 16]);
    request.topics.push(other);
    let response = share.test.call(1, &request, 2);
    let errors: Vec<_> = response
        .responses
        .iter()
        .map(|t| ErrorCode(t.partitions[0].error_code))
        .collect();
    assert_eq!(
        errors,
        [ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::UNKNOWN_TOPIC_ID]
    );
    assert_eq!(response.acquisition_lock_timeout_ms, 30_000);
}

#[test]
fn partition_without_acknowledgements_is_answered_beside_others_only() {
    let mut share = Share::with(1, 2, |_| {});
    share.produce(&[1]);
    share.acquire("a", 0);
    let answered = |share: &mut Share, epoch, acks: Acks<'_>| -> Vec<(i32, i16)> {
        let mut request = share.acknowledgement("a", epoch, acks);
        request.topics[0].partitions.push(AcknowledgePartition {
            partition_index: 1,
            ..Default::default()
        });
        let partitions = share
            .test
            .call(1, &request, 2)
            .responses
            .into_iter()
            .flat_map(|t| t.partitions);
        partitions.map(|p| (p.partition_index, p.error_code)).collect()
    };
    assert_eq!(answered(&mut share, 1, &[]), []);
    let invalid = ErrorCode::INVALID_REQUEST.0;
    assert_eq!(answered(&mut share, 2, &[(1, 0, &[ACCEPT])]), [(0, invalid)]);
    assert_eq!(answered(&mut share, 3, &[(0, 0, &[ACCEPT])]), [(0, 0), (1, 0)]);
}

#[test]
fn fetch_applies_acknowledgements_before_it_reads() {
    let mut share = Share::new();
    share.produce(&[2]);
    assert_eq!(share.acquire("a", 0), [(0, 1, 1)]);
    let request = share.request("a", 1);
    let request = share.with_acks(request, &[(0, 1, &[ACCEPT, RELEASE])]);
    let response = share.send(&request);
    let data = &response.responses[0].partitions[0];
    assert_eq!((data.acknowledge_error_code, acquired(data)), (0, vec![(1, 1, 2)]));
    let request = share.request("a", 2);
    let request = share.with_acks(request, &[(0, 0, &[ACCEPT]), (1, 1, &[ACCEPT])]);
    // The first one is done already, and has no effect.
    let data = share.send(&request).responses[0].partitions[0].clone();
    assert_eq!((data.acknowledge_error_code, data.error_code), (0, 0));
    share.produce(&[1]);
    assert_eq!(share.acquire("a", 3), [(2, 2, 1)]);
    let request = share.request("a", 4);
    let request = share.with_acks(request, &[(2, 3, &[ACCEPT])]);
    let data = share.send(&request).responses[0].partitions[0].clone();
    let error = ErrorCode(data.acknowledge_error_code);
    assert_eq!((error, data.error_code), (ErrorCode::INVALID_REQUEST, 0));
}

#[test]
fn renewal_extends_the_lock() {
    let mut share = Share::new();
    share.produce(&[2]);
    assert_eq!(share.acquire("a", 0), [(0, 1, 1)]);
    share.test.pass_ms(20_000);
    assert_eq!(share.acknowledge("a", 1, &[(1, 1, &[RENEW])]), ErrorCode::NONE);
    share.test.pass_ms(10_000);
    assert_eq!(share.state(), (0, vec![(0, 0, Available, 1), (1, 1, Locked, 1)]));
    share.test.pass_ms(20_000);
    assert_eq!(share.state(), (0, vec![(0, 1, Available, 1)]));
    // A fetch that renews does not fetch, and must not ask for records.
    let mut request = share.request("a", 2);
    request.is_renew_ack = true;
    assert_eq!(error_of(&share.send(&request)), ErrorCode::INVALID_REQUEST);
    assert_eq!(share.acquire("a", 2), [(0, 1, 2)]);
    let mut request = share.request("a", 3);
    request.is_renew_ack = true;
    (request.max_bytes, request.max_records) = (0, 0);
    let request = share.with_acks(request, &[(0, 1, &[RENEW, ACCEPT])]);
    share.test.pass_ms(20_000);
    let data = share.send(&request).responses[0].partitions[0].clone();
    assert_eq!((data.acknowledge_error_code, acquired(&data)), (0, vec![]));
    share.test.pass_ms(20_000);
    assert_eq!(share.state(), (0, vec![(0, 0, Locked, 2), (1, 1, Acknowledged, 2)]));
}

#[test]
fn renewal_can_be_forbidden() {
    let mut share = Share::with(1, 1, |c| c.renew_acknowledge = false);
    share.produce(&[1]);
    share.acquire("a", 0);
    assert_eq!(
        share.acknowledge("a", 1, &[(0, 0, &[RENEW])]),
        ErrorCode::INVALID_RECORD_STATE
    );
}

#[test]
fn acknowledgement_without_a_durable_state_changes_nothing() {
    let mut share = Share::new();
    share.produce(&[2]);
    share.acquire("a", 0);
    let unavailable = ErrorCode::COORDINATOR_NOT_AVAILABLE;
    share.test.cluster.set_share_state_error("g", Some(unavailable));
    assert_eq!(share.acknowledge("a", 1, &[(0, 1, &[ACCEPT])]), unavailable);
    assert_eq!(share.state(), (0, vec![(0, 1, Locked, 1)]));
    share.test.cluster.set_share_state_error("g", None);
    assert_eq!(share.acknowledge("a", 2, &[(0, 1, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.state(), (2, vec![]));
}

#[test]
fn aborted_transactions_are_archived_when_only_committed_records_are_read() {
    for (read_committed, expected) in [(false, vec![(0, 5, 1)]), (true, vec![(0, 1, 1), (4, 5, 1)])] {
        let mut share = Share::with(1, 1, |c| c.read_committed = read_committed);
        share.produce(&[2]);
        let mut transaction = Transaction::begin(&mut share);
        transaction.append(&mut share, 2);
        // Records of an open transaction are not read.
        let open = share.acquire("a", 0);
        assert_eq!(
            open,
            if read_committed {
                vec![(0, 1, 1)]
            } else {
                vec![(0, 3, 1)]
            }
        );
        transaction.end(&mut share, false);
        share.produce(&[1]);
        // Another group reads all at once: the marker is part of what is acquired.
        share.fetch.group_id = Some("h".into());
        assert_eq!(share.acquire("b", 0), expected);
        let view = share.test.cluster.share_partition_view("h", "t", 0).unwrap();
        let archived = view.records.iter().filter(|r| r.state == Archived);
        let archived: Vec<_> = archived.map(|r| (r.first_offset, r.last_offset)).collect();
        assert_eq!(archived, if read_committed { vec![(2, 3)] } else { vec![] });
    }
}

#[test]
fn as_many_aborted_records_as_allowed_in_flight_do_not_hold_up_others() {
    let mut share = Share::with(1, 1, |c| {
        (c.read_committed, c.partition_max_record_locks) = (true, 4);
    });
    let mut transaction = Transaction::begin(&mut share);
    transaction.append(&mut share, 5);
    transaction.end(&mut share, false);
    share.produce(&[1]);
    assert_eq!(share.acquire("a", 0), []);
    // The marker is at offset 5.
    assert_eq!(share.acquire("a", 1), [(5, 6, 1)]);
}

#[test]
fn commit_completes_a_fetch_of_committed_records() {
    let mut share = Share::with(1, 1, |c| c.read_committed = true);
    share.fetch.max_wait_ms = 5000;
    share.fetch.min_bytes = 1;
    let mut transaction = Transaction::begin(&mut share);
    transaction.append(&mut share, 2);
    let request = share.request("a", 0);
    share.wait(7, &request);
    // Records behind those of an open transaction wait, too.
    share.produce(&[1]);
    assert!(share.test.cluster.poll(share.test.now).is_empty());
    let out = transaction.end(&mut share, true);
    let response = delayed(out);
    // The first batch of the log is enough; the fetch takes all that is readable.
    assert_eq!(acquired(&response.responses[0].partitions[0]), [(0, 3, 1)]);
}

/// A transaction of a producer in partition 0.
struct Transaction {
    producer_id: i64,
    epoch: i16,
    sequence: i32,
}

impl Transaction {
    fn begin(share: &mut Share) -> Self {
        use ottla_protocol::api::init_producer_id::InitProducerIdRequest;
        let request = InitProducerIdRequest {
            transactional_id: Some("x".into()),
            transaction_timeout_ms: 60_000,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        let response = share.test.call(1, &request, 4);
        assert_eq!(response.error_code, 0);
        Self {
            producer_id: response.producer_id,
            epoch: response.producer_epoch,
            sequence: 0,
        }
    }

    fn append(&mut self, share: &mut Share, count: i32) {
        use ottla_protocol::api::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: "x".into(),
            v3_and_below_producer_id: self.producer_id,
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![AddPartitionsToTxnTopic {
                name: "t".into(),
                partitions: vec![0],
                ..Default::default()
            }],
            ..Default::default()
        };
        share.test.call(1, &request, 3);
        let records = batch_with(1_700_000_000_000, count, |params| {
            params.producer_id = self.producer_id;
            params.producer_epoch = self.epoch;
            params.base_sequence = self.sequence;
            params.is_transactional = true;
        });
        self.sequence += count;
        share.append(0, Some("x"), records);
    }

    fn end(&mut self, share: &mut Share, committed: bool) -> Vec<crate::Outgoing> {
        use ottla_protocol::api::end_txn::EndTxnRequest;
        let request = EndTxnRequest {
            transactional_id: "x".into(),
            producer_id: self.producer_id,
            producer_epoch: self.epoch,
            committed,
            ..Default::default()
        };
        share.test.call(1, &request, 3);
        share.test.pass_ms(10)
    }
}
