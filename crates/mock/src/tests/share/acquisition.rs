//! The acquisition of records by fetches.

use super::*;
use crate::{ArchiveCause, ShareChange};

use DeliveryState::{Acquired as Locked, Archived, Available};

#[test]
fn records_are_acquired_once() {
    let mut share = Share::new();
    share.produce(&[3, 2]);
    assert_eq!(share.acquire("a", 0), [(0, 4, 1)]);
    assert_eq!(share.state(), (0, vec![(0, 4, Locked, 1)]));
    assert_eq!(share.acquire("b", 0), []);
    share.produce(&[1]);
    assert_eq!(share.acquire("b", 1), [(5, 5, 1)]);
    let view = share.test.cluster.share_partition_view("g", "t", 0).unwrap();
    let members: Vec<_> = view.records.iter().map(|r| r.member.clone().unwrap()).collect();
    assert_eq!((members, view.next_offset), (vec!["a".to_owned(), "b".to_owned()], 6));
}

#[test]
fn whole_batches_are_acquired_up_to_max_records() {
    let mut share = Share::new();
    share.produce(&[5, 5, 5]);
    share.fetch.max_records = 6;
    // The limit is within the second batch, which is acquired to its end.
    assert_eq!(share.acquire("a", 0), [(0, 9, 1)]);
    assert_eq!(share.acquire("a", 1), [(10, 14, 1)]);
}

#[test]
fn acquired_ranges_have_about_batch_size_records() {
    let mut share = Share::new();
    share.produce(&[5, 5, 5]);
    share.fetch.batch_size = 2;
    assert_eq!(share.acquire("a", 0), [(0, 4, 1), (5, 9, 1), (10, 14, 1)]);
    let mut share = Share::new();
    share.produce(&[1, 1, 1, 1, 1]);
    share.fetch.batch_size = 2;
    assert_eq!(share.acquire("a", 0), [(0, 1, 1), (2, 3, 1), (4, 4, 1)]);
}

#[test]
fn record_limit_acquires_no_record_more() {
    let mut share = Share::new();
    share.produce(&[5, 5, 5]);
    share.fetch.max_records = 6;
    share.fetch.batch_size = 2;
    share.fetch.share_acquire_mode = 1;
    let request = share.request("a", 0);
    let response = share.send(&request);
    let data = &response.responses[0].partitions[0];
    // One range, within two whole batches.
    assert_eq!((acquired(data), offsets(data)), (vec![(0, 5, 1)], (0, 9)));
    assert_eq!(share.state(), (0, vec![(0, 5, Locked, 1), (6, 9, Available, 0)]));
    assert_eq!(share.acquire("b", 0), [(6, 9, 1), (10, 11, 1)]);
    // Version 1 has no acquire mode.
    let mut share = Share::new();
    share.produce(&[5]);
    share.fetch.max_records = 2;
    let request = share.request("a", 0);
    let response = share.test.call(1, &request, 1);
    assert_eq!(acquired(&response.responses[0].partitions[0]), [(0, 4, 1)]);
    assert_eq!(response.acquisition_lock_timeout_ms, 30_000);
}

#[test]
fn size_limits_leave_at_least_one_batch() {
    let mut share = Share::new();
    share.produce(&[5, 5]);
    share.fetch.max_bytes = 1;
    assert_eq!(share.acquire("a", 0), [(0, 4, 1)]);
    share.fetch.max_bytes = 0;
    assert_eq!(share.acquire("a", 1), []);
    share.fetch.max_bytes = i32::MAX;
    share.fetch.max_records = 0;
    assert_eq!(share.acquire("a", 2), []);
}

#[test]
fn batch_with_an_absurd_number_of_offsets_is_not_delivered() {
    let mut share = Share::new();
    share.produce(&[1]);
    let records = batch_with(1_700_000_000_000, 1, |params| {
        params.last_offset_delta = (1 << 30) - 1;
        params.records_count = 1 << 30;
    });
    share.append(0, None, records);
    assert_eq!(share.acquire("a", 0), [(0, 0, 1)]);
    assert_eq!(share.acquire("a", 1), []);
}

#[test]
fn fetch_waits_for_min_bytes_of_all_partitions() {
    let mut share = Share::with(1, 2, |_| {});
    let size = batch_with(0, 1, |_| {}).len();
    share.fetch.max_wait_ms = 500;
    share.fetch.min_bytes = i32::try_from(2 * size).unwrap();
    let mut request = share.request("a", 0);
    request.topics = vec![share.partitions(&[0, 1])];
    share.wait(7, &request);
    share.produce_to(0, &[1]);
    assert!(share.test.cluster.poll(share.test.now).is_empty());
    share.produce_to(1, &[1]);
    let response = delayed(share.test.cluster.poll(share.test.now));
    let partitions = response.responses[0].partitions.iter();
    let found: Vec<_> = partitions.map(|p| (p.partition_index, acquired(p))).collect();
    assert_eq!(found, [(0, vec![(0, 0, 1)]), (1, vec![(0, 0, 1)])]);
}

#[test]
fn partitions_share_the_size_and_take_turns() {
    let mut share = Share::with(1, 2, |_| {});
    share.produce_to(0, &[10, 10]);
    share.produce_to(1, &[10, 10]);
    share.fetch.max_records = 1;
    let mut request = share.request("a", 0);
    request.topics = vec![share.partitions(&[0, 1])];
    let first = share.send(&request);
    let numbers = |r: &ShareFetchResponse| -> Vec<(i32, usize)> {
        let partitions = r.responses.iter().flat_map(|t| &t.partitions);
        partitions
            .map(|p| (p.partition_index, p.acquired_records.len()))
            .collect()
    };
    assert_eq!(numbers(&first), [(0, 1), (1, 0)]);
    // The second partition is first now.
    let request = share.request("a", 1);
    assert_eq!(numbers(&share.send(&request)), [(1, 1)]);
}

#[test]
fn lock_expiry_makes_records_available_again() {
    let mut share = Share::new();
    share.produce(&[4]);
    assert_eq!(share.acquire("a", 0), [(0, 3, 1)]);
    assert_eq!(share.acknowledge("a", 1, &[(1, 1, &[ACCEPT])]), ErrorCode::NONE);
    share.test.pass_ms(29_999);
    assert_eq!(share.acquire("b", 0), []);
    share.test.pass_ms(1);
    assert_eq!(share.test.cluster.timer_count(), 0);
    let expected = vec![
        (0, 0, Available, 1),
        (1, 1, DeliveryState::Acknowledged, 1),
        (2, 3, Available, 1),
    ];
    assert_eq!(share.state(), (0, expected));
    assert_eq!(
        share.acknowledge("a", 2, &[(0, 0, &[ACCEPT])]),
        ErrorCode::INVALID_RECORD_STATE
    );
    assert_eq!(share.acquire("b", 1), [(0, 0, 2), (2, 3, 2)]);
    let events = share.test.cluster.take_share_events();
    let expired = events
        .iter()
        .filter(|e| matches!(&e.change, ShareChange::LockExpired { member } if member == "a"));
    let expired: Vec<_> = expired.map(|e| (e.first_offset, e.last_offset)).collect();
    assert_eq!(expired, [(0, 0), (2, 3)]);
}

#[test]
fn record_is_archived_after_the_last_delivery() {
    let mut share = Share::with(1, 1, |c| c.delivery_count_limit = 2);
    share.produce(&[2, 1]);
    assert_eq!(share.acquire("a", 0), [(0, 2, 1)]);
    assert_eq!(share.acknowledge("a", 1, &[(2, 2, &[ACCEPT]),]), ErrorCode::NONE);
    assert_eq!(share.acknowledge("a", 2, &[(0, 1, &[RELEASE])]), ErrorCode::NONE);
    assert_eq!(share.acquire("a", 3), [(0, 1, 2)]);
    share.test.cluster.take_share_events();
    assert_eq!(share.acknowledge("a", 4, &[(0, 1, &[RELEASE])]), ErrorCode::NONE);
    // Nothing is left, so that the start offset is behind all of them.
    assert_eq!(share.state(), (3, vec![]));
    assert_eq!(share.acquire("a", 5), []);
    let events = share.test.cluster.take_share_events();
    let archived = ShareChange::Archived(ArchiveCause::DeliveryCountLimit);
    assert_eq!(events.iter().filter(|e| e.change == archived).count(), 2);
}

#[test]
fn suspected_records_are_isolated_before_the_last_delivery() {
    let mut share = Share::new();
    share.produce(&[8]);
    let mut epoch = 0;
    let mut deliver = |share: &mut Share| {
        let acquired = share.acquire("a", epoch);
        epoch += 1;
        for (first, last, _) in &acquired {
            assert_eq!(
                share.acknowledge("a", epoch, &[(*first, *last, &[RELEASE])]),
                ErrorCode::NONE
            );
            epoch += 1;
        }
        acquired
    };
    for count in 1..=3 {
        assert_eq!(deliver(&mut share), [(0, 7, count)]);
    }
    // From half of the limit of 5 on: half of the batch, then the last delivery of each record alone.
    assert_eq!(deliver(&mut share), [(0, 3, 4)]);
    for offset in 0..4 {
        assert_eq!(deliver(&mut share), [(offset, offset, 5)]);
    }
    assert_eq!(share.state().0, 4);
    assert_eq!(deliver(&mut share), [(4, 7, 4)]);
}

#[test]
fn maximum_of_record_locks_is_kept() {
    let mut share = Share::with(1, 1, |c| c.partition_max_record_locks = 7);
    share.produce(&[5, 5, 5]);
    // The limit is soft by the rest of a batch.
    assert_eq!(share.acquire("a", 0), [(0, 9, 1)]);
    assert_eq!(share.acquire("b", 0), []);
    // Records that are released among them can be acquired, others only when the start offset has moved.
    assert_eq!(share.acknowledge("a", 1, &[(3, 3, &[RELEASE])]), ErrorCode::NONE);
    assert_eq!(share.acquire("b", 1), [(3, 3, 2)]);
    assert_eq!(share.acknowledge("a", 2, &[(4, 9, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.acquire("b", 2), []);
    assert_eq!(share.acknowledge("a", 3, &[(0, 2, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.acknowledge("b", 3, &[(3, 3, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.acquire("b", 4), [(10, 14, 1)]);
}

#[test]
fn offset_reset_chooses_the_start() {
    let start = |reset: ShareOffsetReset| {
        let mut share = Share::with(1, 1, |c| c.offset_reset = reset);
        share.produce(&[2, 2]);
        let request = share.request("a", 0);
        let response = share.send(&request);
        let data = &response.responses[0].partitions[0];
        let view = share.test.cluster.share_partition_view("g", "t", 0);
        (acquired(data), ErrorCode(data.error_code), view.map(|v| v.start_offset))
    };
    let none = ErrorCode::NONE;
    assert_eq!(start(ShareOffsetReset::Latest), (vec![], none, Some(4)));
    assert_eq!(start(ShareOffsetReset::Earliest), (vec![(0, 3, 1)], none, Some(0)));
    // The records of each batch have the times 0 and 1 ms after the cluster's start.
    assert_eq!(start(ShareOffsetReset::ByDuration(0)), (vec![(0, 3, 1)], none, Some(0)));
    let mut late = Share::with(1, 1, |c| c.offset_reset = ShareOffsetReset::ByDuration(500));
    late.produce(&[2]);
    late.test.pass_ms(1000);
    let request = late.request("a", 0);
    let response = late.send(&request);
    let error = ErrorCode(response.responses[0].partitions[0].error_code);
    assert_eq!(error, ErrorCode::OFFSET_NOT_AVAILABLE);
}

#[test]
fn deleted_records_are_skipped() {
    let mut share = Share::new();
    share.produce(&[5, 5]);
    share.fetch.max_records = 5;
    assert_eq!(share.acquire("a", 0), [(0, 4, 1)]);
    assert_eq!(
        share.acknowledge("a", 1, &[(0, 4, &[RELEASE, RELEASE, RELEASE, ACCEPT, RELEASE])]),
        ErrorCode::NONE
    );
    delete_before(&mut share, 2);
    // The fetch that notices returns nothing.
    assert_eq!(share.acquire("a", 2), []);
    assert_eq!(share.state().0, 2);
    assert_eq!(share.acquire("a", 3), [(2, 2, 2), (4, 4, 2), (5, 9, 1)]);
    // Locks before the start of the log end by acknowledgement or expiry, without another delivery.
    delete_before(&mut share, 7);
    share.test.cluster.take_share_events();
    assert_eq!(share.acknowledge("a", 4, &[(5, 9, &[RELEASE])]), ErrorCode::NONE);
    assert_eq!(share.acquire("a", 5), []);
    assert_eq!(share.acquire("a", 6), [(7, 9, 2)]);
    share.test.pass_ms(30_000);
    let events = share.test.cluster.take_share_events();
    let archived = ShareChange::Archived(ArchiveCause::LogStart);
    let archived: Vec<_> = events.iter().filter(|e| e.change == archived).collect();
    let ranges: Vec<_> = archived.iter().map(|e| (e.first_offset, e.last_offset)).collect();
    assert_eq!(ranges, [(5, 6), (2, 2), (4, 4)]);
    assert_eq!(share.state(), (7, vec![(7, 9, Available, 2)]));
    assert!(!share.state().1.iter().any(|r| r.2 == Archived));
}

fn delete_before(share: &mut Share, offset: i64) {
    use ottla_protocol::api::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};
    let request = DeleteRecordsRequest {
        topics: vec![DeleteRecordsTopic {
            name: "t".into(),
            partitions: vec![DeleteRecordsPartition {
                offset,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let response = share.test.call(1, &request, 2);
    assert_eq!(response.topics[0].partitions[0].error_code, 0);
}

#[test]
fn fetch_waits_for_records_to_arrive_or_to_be_released() {
    let mut share = Share::new();
    share.fetch.max_wait_ms = 500;
    share.fetch.min_bytes = 1;
    let request = share.request("a", 0);
    share.wait(7, &request);
    share.produce(&[2]);
    let response = delayed(share.test.cluster.poll(share.test.now));
    assert_eq!(acquired(&response.responses[0].partitions[0]), [(0, 1, 1)]);
    let request = share.request("b", 0);
    share.wait(8, &request);
    assert_eq!(share.acknowledge("a", 1, &[(1, 1, &[RELEASE])]), ErrorCode::NONE);
    let response = delayed(share.test.cluster.poll(share.test.now));
    assert_eq!(acquired(&response.responses[0].partitions[0]), [(1, 1, 2)]);
    // The end of a lock completes a fetch, too.
    share.fetch.max_wait_ms = 40_000;
    let request = share.request("c", 0);
    share.wait(9, &request);
    let response = delayed(share.test.pass_ms(30_000));
    assert_eq!(acquired(&response.responses[0].partitions[0]), [(0, 0, 2), (1, 1, 3)]);
    assert_eq!(share.test.cluster.purgatory_size(), 0);
}

#[test]
fn fetch_without_records_ends_at_its_deadline() {
    let mut share = Share::new();
    share.fetch.max_wait_ms = 500;
    share.fetch.min_bytes = 1;
    let request = share.request("a", 0);
    share.wait(7, &request);
    assert!(share.test.pass_ms(499).is_empty());
    let response = delayed(share.test.pass_ms(1));
    let data = &response.responses[0].partitions[0];
    assert_eq!((data.error_code, acquired(data)), (0, vec![]));
    // Of a partition without news the next responses say nothing.
    let request = share.request("a", 1);
    share.wait(7, &request);
    assert!(delayed(share.test.pass_ms(500)).responses.is_empty());
    share
        .test
        .cluster
        .disconnected(crate::BrokerId(1), crate::ConnectionId(7));
    assert_eq!(
        (share.test.cluster.purgatory_size(), share.test.cluster.timer_count()),
        (0, 0)
    );
}
