//! Share groups (KIP-932): settings, target assignments, members.

use std::ffi::{CString, c_char};

use ottla_core::error::ErrorCode;
use ottla_mock::{ShareGroupConfig, ShareOffsetReset};

use super::{consumer_groups, note};
use crate::abi::PartitionList;
use crate::ffi::{self, exports};
use crate::mock_cluster::MockCluster;

/// Stores a setting, which must be at least 1.
fn set(mcluster: &MockCluster, value: i32, store: impl FnOnce(&mut ShareGroupConfig, i32)) {
    note(match value {
        ..1 => Err(ErrorCode::L_INVALID_ARG),
        _ => mcluster.with(|cluster| cluster.configure_share_groups(|settings| store(settings, value))),
    });
}

/// Stores a choice between two values, 0 and 1.
fn choose(mcluster: &MockCluster, value: i32, store: impl FnOnce(&mut ShareGroupConfig, bool)) {
    note(match value {
        0 | 1 => mcluster.with(|cluster| cluster.configure_share_groups(|settings| store(settings, value == 1))),
        _ => Err(ErrorCode::L_INVALID_ARG),
    });
}

/// Returns the member ids of a share group.
///
/// # Errors
/// GROUP_ID_NOT_FOUND without such a group.
fn members(mcluster: &MockCluster, group: &str) -> Result<Vec<CString>, ErrorCode> {
    let view = mcluster.with(|cluster| cluster.group_view(group))?;
    let group = view
        .filter(|group| group.is_share)
        .ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
    let ids = group.members.into_iter().map(|member| {
        // A member chooses its id, which C cannot read beyond a NUL.
        let text: Vec<u8> = member.id.bytes().take_while(|&byte| byte != 0).collect();
        CString::new(text).unwrap_or_default()
    });
    Ok(ids.collect())
}

/// Copies texts to a malloc'ed array of malloc'ed texts. Returns NULL when there are none.
///
/// # Errors
/// _CRIT_SYS_RESOURCE without memory.
fn handed_over(texts: &[CString]) -> Result<*mut *mut c_char, ErrorCode> {
    if texts.is_empty() {
        return Ok(std::ptr::null_mut());
    }
    // SAFETY: calloc has no preconditions; the result is checked.
    let array: *mut *mut c_char = unsafe { libc::calloc(texts.len(), size_of::<*mut c_char>()) }.cast();
    if array.is_null() {
        return Err(ErrorCode::L_CRIT_SYS_RESOURCE);
    }
    for (index, text) in texts.iter().enumerate() {
        // SAFETY: the array has room for all texts, each of which ends with NUL.
        let copy = unsafe { libc::strdup(text.as_ptr()) };
        // SAFETY: as above.
        unsafe { array.add(index).write(copy) };
        if copy.is_null() {
            // SAFETY: the array and its texts are malloc'ed and were given to no other code; NULL is allowed.
            unsafe {
                for before in 0..index {
                    libc::free((*array.add(before)).cast());
                }
                libc::free(array.cast());
            }
            return Err(ErrorCode::L_CRIT_SYS_RESOURCE);
        }
    }
    Ok(array)
}

exports! {
    /// Stores the session timeout.
    fn rd_kafka_mock_sharegroup_set_session_timeout(mcluster: &MockCluster, millis: i32) {
        set(mcluster, millis, |settings, millis| settings.session_timeout_ms = millis);
    }

    /// Stores the heartbeat interval.
    fn rd_kafka_mock_sharegroup_set_heartbeat_interval(mcluster: &MockCluster, millis: i32) {
        set(mcluster, millis, |settings, millis| settings.heartbeat_interval_ms = millis);
    }

    /// Stores the number of deliveries of a record.
    fn rd_kafka_mock_sharegroup_set_max_delivery_attempts(mcluster: &MockCluster, max_attempts: i32) {
        set(mcluster, max_attempts, |settings, count| settings.delivery_count_limit = count);
    }

    /// Stores the lock duration of a record.
    fn rd_kafka_mock_sharegroup_set_record_lock_duration(mcluster: &MockCluster, millis: i32) {
        set(mcluster, millis, |settings, millis| settings.record_lock_duration_ms = millis);
    }

    /// Stores the isolation level.
    fn rd_kafka_mock_sharegroup_set_isolation_level(mcluster: &MockCluster, level: i32) {
        choose(mcluster, level, |settings, committed| settings.read_committed = committed);
    }

    /// Stores the maximum number of members.
    fn rd_kafka_mock_sharegroup_set_max_size(mcluster: &MockCluster, max_size: i32) {
        set(mcluster, max_size, |settings, size| settings.max_size = usize::try_from(size).unwrap_or(1));
    }

    /// Stores the maximum number of share sessions.
    fn rd_kafka_mock_sharegroup_set_max_fetch_sessions(mcluster: &MockCluster, max_fetch_sessions: i32) {
        set(mcluster, max_fetch_sessions, |settings, count| {
            settings.max_share_sessions = usize::try_from(count).unwrap_or(1);
        });
    }

    /// Stores the maximum number of acquired records of a partition.
    fn rd_kafka_mock_sharegroup_set_max_record_locks(mcluster: &MockCluster, max_record_locks: i32) {
        set(mcluster, max_record_locks, |settings, count| settings.partition_max_record_locks = count);
    }

    /// Stores the first offset of a group.
    fn rd_kafka_mock_sharegroup_set_auto_offset_reset(mcluster: &MockCluster, auto_offset_reset: i32) {
        choose(mcluster, auto_offset_reset, |settings, earliest| {
            settings.offset_reset = match earliest {
                true => ShareOffsetReset::Earliest,
                false => ShareOffsetReset::Latest,
            };
        });
    }

    /// Sets the target assignment of a group, or without members returns to the assignor's.
    fn rd_kafka_mock_sharegroup_target_assignment(
        mcluster: &MockCluster,
        group_id: &str,
        member_ids: *const *const c_char,
        assignments: *const *const PartitionList,
        member_cnt: usize,
    ) {
        // SAFETY: the caller's arrays.
        note(match unsafe { consumer_groups::members(member_ids, assignments, member_cnt) } {
            None => Err(ErrorCode::L_INVALID_ARG),
            Some(members) => mcluster.with(|cluster| {
                cluster.set_target_assignment(group_id, (!members.is_empty()).then_some(members));
            }),
        });
    }

    /// Returns the members of a group, in an array that the caller frees.
    fn rd_kafka_mock_sharegroup_get_member_ids(
        mcluster: &MockCluster,
        group_id: &str,
        member_ids: *mut *mut *mut c_char,
        member_cnt: *mut usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        // SAFETY: the caller's out-parameters.
        unsafe {
            ffi::put(member_ids, std::ptr::null_mut());
            ffi::put(member_cnt, 0);
        }
        if member_ids.is_null() || member_cnt.is_null() {
            return ErrorCode::L_INVALID_ARG;
        }
        let found = members(mcluster, group_id).and_then(|ids| Ok((ids.len(), handed_over(&ids)?)));
        match found {
            Ok((count, array)) => {
                // SAFETY: as above.
                unsafe {
                    ffi::put(member_ids, array);
                    ffi::put(member_cnt, count);
                }
                ErrorCode::NO_ERROR
            }
            Err(code) => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use ottla_mock::{BrokerId, ClusterConfig, ConnectionId, CoordinatorKind, EmbeddedCluster, Reply};
    use ottla_protocol::api::share_group_heartbeat::ShareGroupHeartbeatRequest;
    use ottla_protocol::{decode_response, encode_request};

    use super::*;
    use crate::topic_partition_list::{
        rd_kafka_topic_partition_list_add, rd_kafka_topic_partition_list_destroy, rd_kafka_topic_partition_list_new,
    };

    const VERSION: i16 = 1;

    fn started() -> MockCluster {
        let embedded = EmbeddedCluster::start(ClusterConfig::default()).unwrap();
        let owner: Weak<()> = Weak::new();
        MockCluster::own(embedded, owner)
    }

    /// Sends the heartbeat of a member of group "g", and returns the numbers of its partitions if they have changed.
    fn heartbeat(cluster: &MockCluster, member: &str, epoch: i32) -> (i32, Option<Vec<i32>>) {
        let request = ShareGroupHeartbeatRequest {
            group_id: "g".into(),
            member_id: member.into(),
            member_epoch: epoch,
            subscribed_topic_names: Some(vec!["t".into()]),
            ..Default::default()
        };
        let frame = encode_request(1, Some("test"), &request, VERSION).unwrap();
        let frame = frame.into_bytes().slice(4..);
        let reply = cluster
            .with(|c| c.handle(BrokerId(1), ConnectionId(9), frame, c.now()))
            .unwrap();
        let Reply::Now(response) = reply else {
            panic!("{reply:?}");
        };
        let response = response.into_bytes().slice(4..);
        let (_, response) = decode_response::<ShareGroupHeartbeatRequest>(response, VERSION).unwrap();
        assert_eq!(response.error_code, 0);
        let partitions = response.assignment.map(|assignment| {
            let topics = assignment.topic_partitions.into_iter();
            topics.flat_map(|topic| topic.partitions).collect()
        });
        (response.member_epoch, partitions)
    }

    fn member_ids(cluster: &MockCluster) -> (ErrorCode, Vec<String>) {
        let (mut ids, mut count) = (std::ptr::null_mut(), 7);
        // SAFETY: the cluster is live; the results are the function's, each malloc'ed.
        unsafe {
            let code = rd_kafka_mock_sharegroup_get_member_ids(
                std::ptr::from_ref(cluster),
                c"g".as_ptr(),
                &raw mut ids,
                &raw mut count,
            );
            let texts = (0..count).map(|index| {
                let text = *ids.add(index);
                let copy = std::ffi::CStr::from_ptr(text).to_str().unwrap().to_owned();
                libc::free(text.cast());
                copy
            });
            let texts = texts.collect();
            libc::free(ids.cast());
            (ErrorCode(code), texts)
        }
    }

    #[test]
    fn settings_are_stored_and_refused_values_are_not() {
        let cluster = started();
        let set = |values: [i32; 9]| {
            let [
                session,
                heartbeat,
                attempts,
                lock,
                isolation,
                size,
                sessions,
                locks,
                reset,
            ] = values;
            // SAFETY: the cluster lives until the end of the test.
            unsafe {
                rd_kafka_mock_sharegroup_set_session_timeout(&raw const cluster, session);
                rd_kafka_mock_sharegroup_set_heartbeat_interval(&raw const cluster, heartbeat);
                rd_kafka_mock_sharegroup_set_max_delivery_attempts(&raw const cluster, attempts);
                rd_kafka_mock_sharegroup_set_record_lock_duration(&raw const cluster, lock);
                rd_kafka_mock_sharegroup_set_isolation_level(&raw const cluster, isolation);
                rd_kafka_mock_sharegroup_set_max_size(&raw const cluster, size);
                rd_kafka_mock_sharegroup_set_max_fetch_sessions(&raw const cluster, sessions);
                rd_kafka_mock_sharegroup_set_max_record_locks(&raw const cluster, locks);
                rd_kafka_mock_sharegroup_set_auto_offset_reset(&raw const cluster, reset);
            }
            cluster.with(|c| c.config().share_groups.clone()).unwrap()
        };
        assert_eq!(set([0, 0, 0, -1, 2, 0, 0, 0, -1]), ShareGroupConfig::default());
        let expected = ShareGroupConfig {
            session_timeout_ms: 1,
            heartbeat_interval_ms: 2,
            delivery_count_limit: 3,
            record_lock_duration_ms: 4,
            read_committed: true,
            max_size: 6,
            max_share_sessions: 7,
            partition_max_record_locks: 8,
            offset_reset: ShareOffsetReset::Earliest,
            ..ShareGroupConfig::default()
        };
        assert_eq!(set([1, 2, 3, 4, 1, 6, 7, 8, 1]), expected);
    }

    #[test]
    fn members_are_returned_and_receive_the_target_assignment() {
        let cluster = started();
        let prepared = cluster.with(|c| {
            c.set_coordinator(CoordinatorKind::Group, "g", BrokerId(1));
            c.create_topic("t", 4, None).map(drop)
        });
        prepared.unwrap().unwrap();
        assert_eq!(member_ids(&cluster), (ErrorCode::GROUP_ID_NOT_FOUND, Vec::new()));
        heartbeat(&cluster, "a", 0);
        let (epoch, _) = heartbeat(&cluster, "b", 0);
        assert_eq!(
            member_ids(&cluster),
            (ErrorCode::NO_ERROR, vec!["a".into(), "b".into()])
        );

        let ids = [c"a".as_ptr(), c"b".as_ptr()];
        // SAFETY: the lists and arrays live until the end of the block.
        unsafe {
            let (of_a, of_b) = (
                rd_kafka_topic_partition_list_new(1),
                rd_kafka_topic_partition_list_new(1),
            );
            rd_kafka_topic_partition_list_add(of_b, c"t".as_ptr(), 3);
            let lists = [of_a.cast_const(), of_b.cast_const()];
            rd_kafka_mock_sharegroup_target_assignment(
                &raw const cluster,
                c"g".as_ptr(),
                ids.as_ptr(),
                lists.as_ptr(),
                2,
            );
            rd_kafka_topic_partition_list_destroy(of_a);
            rd_kafka_topic_partition_list_destroy(of_b);
        }
        let (epoch, assigned) = heartbeat(&cluster, "b", epoch);
        assert_eq!(assigned, Some(vec![3]));

        // SAFETY: arrays without elements may be NULL.
        unsafe {
            let (ids, lists) = (std::ptr::null(), std::ptr::null());
            rd_kafka_mock_sharegroup_target_assignment(&raw const cluster, c"g".as_ptr(), ids, lists, 0);
        }
        let (returned, _) = heartbeat(&cluster, "b", epoch);
        assert!(returned > epoch, "the assignor computes another assignment");
    }
}
