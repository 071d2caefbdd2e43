//! Errors of requests: stacks for the whole cluster, for one broker and for one partition, first in first out.

use std::ffi::c_int;

use ottla_core::error::ErrorCode;
use ottla_mock::{ApiKey, BrokerId, Cluster, ErrorCode as BrokerError, Fault, FaultAction};

use super::topics::ensure_partition;
use super::{code, elements, note};
use crate::ffi::{self, exports};
use crate::mock_cluster::MockCluster;

/// Maximum number of errors of one call.
const ERRORS_MAX: usize = 1 << 20;

/// An error and a delay, as `rd_kafka_mock_broker_push_request_error_rtts()` has them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ErrorRtt {
    error: c_int,
    rtt_ms: c_int,
}

/// Returns the error as brokers send it. A local error, which no broker sends, and a number that does not fit are
/// UNKNOWN_SERVER_ERROR.
fn broker_error(error: c_int) -> BrokerError {
    let known = i16::try_from(error).ok().filter(|code| *code >= -1);
    known.map_or(BrokerError::UNKNOWN_SERVER_ERROR, BrokerError)
}

fn fault(api: ApiKey, error: c_int, rtt_ms: c_int) -> Fault {
    let action = match ErrorCode(error) {
        ErrorCode::NO_ERROR => FaultAction::Serve,
        ErrorCode::L_TRANSPORT => FaultAction::DisconnectBefore,
        // The records are in the log of the leader when it answers this.
        ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND if api == ApiKey::PRODUCE => {
            FaultAction::ErrorAfter(broker_error(error))
        }
        _ => FaultAction::Error(broker_error(error)),
    };
    let delay_us = u64::try_from(rtt_ms).unwrap_or(0).saturating_mul(1000);
    Fault { action, delay_us }
}

fn push(cluster: &mut Cluster, broker: Option<BrokerId>, api: ApiKey, errors: &[ErrorRtt]) {
    for entry in errors {
        cluster.push_fault(broker, api, fault(api, entry.error, entry.rtt_ms));
    }
}

/// Copies the errors of a call.
///
/// # Safety
/// `errors` is NULL or valid for reads of `count` elements.
unsafe fn copied<T: Copy>(errors: *const T, count: usize) -> Result<Vec<T>, ErrorCode> {
    if count > ERRORS_MAX {
        return Err(ErrorCode::L_INVALID_ARG);
    }
    // SAFETY: as for this function.
    unsafe { elements(errors, count) }.ok_or(ErrorCode::L_INVALID_ARG)
}

/// Checks that the broker exists.
pub(super) fn check_broker(cluster: &Cluster, id: BrokerId, missing: ErrorCode) -> Result<(), ErrorCode> {
    match cluster.broker_ids().any(|known| known == id) {
        true => Ok(()),
        false => Err(missing),
    }
}

fn push_to_broker(
    mcluster: &MockCluster,
    broker: i32,
    api: ApiKey,
    errors: Result<Vec<ErrorRtt>, ErrorCode>,
) -> Result<(), ErrorCode> {
    let errors = errors?;
    mcluster.with(|cluster| {
        check_broker(cluster, BrokerId(broker), ErrorCode::L_UNKNOWN_BROKER)?;
        push(cluster, Some(BrokerId(broker)), api, &errors);
        Ok(())
    })?
}

/// The APIs whose responses have errors of partitions that the cluster can set.
const PARTITION_APIS: [ApiKey; 7] = [
    ApiKey::PRODUCE,
    ApiKey::FETCH,
    ApiKey::LIST_OFFSETS,
    ApiKey::METADATA,
    ApiKey::OFFSET_COMMIT,
    ApiKey::OFFSET_FETCH,
    ApiKey::TXN_OFFSET_COMMIT,
];

fn push_to_partition(
    mcluster: &MockCluster,
    topic: &str,
    partition: i32,
    api: ApiKey,
    errors: Result<Vec<c_int>, ErrorCode>,
) -> ErrorCode {
    let errors = match errors {
        Ok(errors) if !errors.contains(&ErrorCode::L_TRANSPORT.0) => errors,
        _ => return ErrorCode::L_INVALID_ARG,
    };
    if !PARTITION_APIS.contains(&api) {
        return ErrorCode::L_NOT_IMPLEMENTED;
    }
    let errors: Vec<_> = errors.into_iter().map(broker_error).collect();
    code(mcluster.with(|cluster| {
        ensure_partition(cluster, topic, partition)?;
        cluster.push_partition_errors(api, topic, partition, &errors);
        Ok(())
    }))
}

exports! {
    /// Removes the errors of an API from the cluster's stack.
    fn rd_kafka_mock_clear_request_errors(mcluster: &MockCluster, api: i16) {
        note(mcluster.with(|cluster| cluster.clear_queued_faults(None, ApiKey(api))));
    }

    /// Pushes errors on the cluster's stack.
    fn rd_kafka_mock_push_request_errors_array(
        mcluster: &MockCluster,
        api: i16,
        count: usize,
        errors: *const c_int,
    ) {
        // SAFETY: the caller's array.
        let errors = unsafe { copied(errors, count) };
        note(errors.and_then(|errors| {
            let entries: Vec<_> = errors.into_iter().map(|error| ErrorRtt { error, rtt_ms: 0 }).collect();
            mcluster.with(|cluster| push(cluster, None, ApiKey(api), &entries))
        }));
    }

    /// Pushes errors with delays on a broker's stack. `shim/mock.c` collects them.
    fn ottla_mock_broker_push_error_rtts(
        mcluster: &MockCluster,
        broker_id: i32,
        api: i16,
        count: usize,
        errors: *const ErrorRtt,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        // SAFETY: the shim's array.
        let errors = unsafe { copied(errors, count) };
        let pushed = push_to_broker(mcluster, broker_id, ApiKey(api), errors);
        pushed.err().unwrap_or(ErrorCode::NO_ERROR)
    }

    /// Counts the errors of an API on a broker's stack.
    fn rd_kafka_mock_broker_error_stack_cnt(mcluster: &MockCluster, broker_id: i32, api: i16, cntp: *mut usize)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        if cntp.is_null() {
            return ErrorCode::L_INVALID_ARG;
        }
        let counted = mcluster.with(|cluster| {
            check_broker(cluster, BrokerId(broker_id), ErrorCode::L_UNKNOWN_BROKER)?;
            Ok(cluster.queued_faults_of(Some(BrokerId(broker_id)), ApiKey(api)))
        });
        match counted {
            Ok(Ok(count)) => {
                // SAFETY: the caller's out-parameter.
                unsafe { ffi::put(cntp, count) };
                ErrorCode::NO_ERROR
            }
            Ok(Err(error)) | Err(error) => error,
        }
    }

    /// Pushes errors on a partition's stack. `shim/mock.c` collects them.
    fn ottla_mock_partition_push_errors(
        mcluster: &MockCluster,
        topic: &str,
        partition: i32,
        api: i16,
        count: usize,
        errors: *const c_int,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        // SAFETY: the shim's array.
        let errors = unsafe { copied(errors, count) };
        push_to_partition(mcluster, topic, partition, ApiKey(api), errors)
    }
}
