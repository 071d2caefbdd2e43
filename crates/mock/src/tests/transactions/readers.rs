//! Reads with the isolation level read committed.

use super::*;

#[test]
fn read_committed_hides_aborted_records() {
    for level in [1, 2] {
        let mut test = cluster(level);
        let mut producer = Producer::new(&mut test, "x");
        assert_eq!(producer.write(&mut test, 0, 2), ErrorCode::NONE);
        assert_eq!(producer.write(&mut test, 1, 1), ErrorCode::NONE);
        assert_eq!(producer.write(&mut test, 0, 2), ErrorCode::NONE);
        let open = fetch(&mut test, 0, 0, 1);
        assert_eq!((open.last_stable_offset, open.high_watermark), (0, 4));
        assert_eq!(open.records.as_ref().map(|r| r.len()), Some(0));
        assert_eq!(visible(&fetch(&mut test, 0, 0, 0)), [0, 1, 2, 3]);
        assert_eq!((latest(&mut test, 1), latest(&mut test, 0)), (0, 4));
        assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
        test.pass_ms(5);
        assert_eq!(committed(&mut test, 0), [0, 1, 2, 3]);
        assert_eq!(committed(&mut test, 1), [0]);
        assert_eq!((latest(&mut test, 1), latest(&mut test, 0)), (5, 5));

        producer.run(&mut test, 0, 2, false);
        producer.run(&mut test, 0, 1, true);
        let data = fetch(&mut test, 0, 0, 1);
        assert_eq!(visible(&data), [0, 1, 2, 3, 8]);
        let aborted = data.aborted_transactions.unwrap();
        assert_eq!((aborted.len(), aborted[0].first_offset), (1, 5));
        assert_eq!(fetch(&mut test, 0, 0, 0).aborted_transactions, None);
        // A fetch behind the transaction does not list it.
        assert_eq!(fetch(&mut test, 0, 8, 1).aborted_transactions.unwrap(), []);
        assert!(!test.cluster.has_open_transactions());
    }
}

#[test]
fn interleaved_transactions() {
    let mut test = cluster(2);
    let mut first = Producer::new(&mut test, "a");
    let mut second = Producer::new(&mut test, "b");
    assert_eq!(first.write(&mut test, 0, 1), ErrorCode::NONE);
    second.run(&mut test, 0, 1, false);
    second.run(&mut test, 0, 1, true);
    // Nothing behind the first one's beginning is stable yet.
    assert_eq!(committed(&mut test, 0), [] as [i64; 0]);
    let other = batch_with(NOW_MS, 1, |_| {});
    let leader = test.leader("t", 0);
    test.call(leader, &produce::request("t", 0, -1, other), 9);
    assert_eq!(first.write(&mut test, 0, 1), ErrorCode::NONE);
    assert_eq!(first.end(&mut test, true), ErrorCode::NONE);
    test.pass_ms(5);
    assert_eq!(committed(&mut test, 0), [0, 3, 5, 6]);
}

#[test]
fn marker_completes_read_committed_fetch() {
    let mut test = cluster(2);
    let mut producer = Producer::new(&mut test, "x");
    let leader = test.leader("t", 0);
    let waiting = test.send(leader, 7, &fetch_request(0, 0, 1, 5000), 12);
    assert!(waiting.is_later());
    assert_eq!(producer.write(&mut test, 0, 3), ErrorCode::NONE);
    assert_eq!(test.pass_ms(10).len(), 0);
    assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
    assert_eq!(test.pass_ms(10).len(), 1);
}
