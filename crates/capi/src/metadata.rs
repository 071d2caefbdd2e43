//! Metadata, as nested structs in one piece of malloc'ed memory.

use std::ffi::{c_char, c_void};

use ottla_core::cluster::{MetadataReply, MetadataScope};
use ottla_core::error::{Error, ErrorCode};

use crate::abi::{Metadata, MetadataBroker, MetadataPartition, MetadataTopic};
use crate::arena::{Arena, count, in_one_piece};
use crate::ffi::{self, Timeout, exports};
use crate::handle::{Handle, TopicHandle};

/// Returns the reply in C's form; NULL when there is no memory.
fn to_c(reply: &MetadataReply) -> *mut Metadata {
    in_one_piece(|arena| lay_out(reply, arena))
}

fn lay_out(reply: &MetadataReply, arena: &mut Arena) -> Metadata {
    let response = &reply.response;
    let brokers = response.brokers.iter().map(|b| MetadataBroker {
        id: b.node_id,
        host: arena.text(&b.host),
        port: b.port,
    });
    let brokers: Vec<_> = brokers.collect();
    let topics: Vec<_> = response
        .topics
        .iter()
        .map(|t| {
            let partitions: Vec<_> = t
                .partitions
                .iter()
                .map(|p| MetadataPartition {
                    id: p.partition_index,
                    err: p.error_code.into(),
                    leader: p.leader_id,
                    replica_cnt: count(p.replica_nodes.len()),
                    replicas: arena.values(p.replica_nodes.iter().copied()),
                    isr_cnt: count(p.isr_nodes.len()),
                    isrs: arena.values(p.isr_nodes.iter().copied()),
                })
                .collect();
            MetadataTopic {
                topic: arena.text(t.name.as_deref().unwrap_or_default()),
                partition_cnt: count(partitions.len()),
                partitions: arena.values(partitions.into_iter()),
                err: t.error_code.into(),
            }
        })
        .collect();
    Metadata {
        broker_cnt: count(brokers.len()),
        brokers: arena.values(brokers.into_iter()),
        topic_cnt: count(topics.len()),
        topics: arena.values(topics.into_iter()),
        orig_broker_id: reply.orig_node,
        orig_broker_name: arena.text(&reply.orig_name),
    }
}

fn metadata(rk: &Handle, scope: MetadataScope, timeout: Timeout) -> Result<*mut Metadata, Error> {
    let reply = rk.need_client()?.metadata(scope, timeout.0)?;
    let metadata = to_c(&reply);
    if metadata.is_null() {
        return Err(Error::new(ErrorCode::L_CRIT_SYS_RESOURCE, "out of memory"));
    }
    Ok(metadata)
}

/// Returns the brokers that metadata named so far.
fn known_brokers(rk: &Handle) -> Vec<i32> {
    rk.need_client().map(|c| c.shared().known_brokers()).unwrap_or_default()
}

exports! {
    /// Asks a broker for metadata.
    fn rd_kafka_metadata(
        rk: &Handle, all_topics: i32, only: Option<&TopicHandle>, to: *mut *const Metadata, timeout: Timeout,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let scope = match (all_topics, only) {
            (0, None) => MetadataScope::KnownTopics,
            (0, Some(rkt)) => MetadataScope::Topics(vec![rkt.topic().name().to_owned()]),
            _ => MetadataScope::AllTopics,
        };
        match metadata(rk, scope, timeout) {
            Ok(metadata) => {
                // SAFETY: the caller's out-parameter.
                unsafe { ffi::put(to, metadata.cast_const()) };
                ErrorCode::NO_ERROR
            }
            Err(error) => ffi::public_code(&error),
        }
    }

    /// Frees metadata.
    fn rd_kafka_metadata_destroy(metadata: *const Metadata) {
        // SAFETY: NULL or one piece of malloc'ed memory.
        unsafe { libc::free(metadata.cast_mut().cast::<c_void>()) };
    }

    /// Returns the cluster's id, malloc'ed; NULL when it is not known in time.
    fn rd_kafka_clusterid(rk: &Handle, timeout: Timeout) -> *mut c_char, or std::ptr::null_mut(); {
        let id = rk.client().and_then(|c| c.cluster_id(timeout.0));
        id.map_or(std::ptr::null_mut(), |id| ffi::malloc_text(&id))
    }

    /// Returns the controller's id, -1 when it is not known in time.
    fn rd_kafka_controllerid(rk: &Handle, timeout: Timeout) -> i32, or -1; {
        rk.client().and_then(|c| c.controller_id(timeout.0)).unwrap_or(-1)
    }

    /// Returns the ids of the brokers known from metadata, malloc'ed; NULL when there are none.
    fn rd_kafka_brokers_learned_ids(rk: &Handle, count: *mut usize) -> *mut i32, or std::ptr::null_mut(); {
        let ids = known_brokers(rk);
        // SAFETY: the caller's out-parameter; the memory for the ids is allocated and checked.
        unsafe {
            let to: *mut i32 = match ids.len() {
                0 => std::ptr::null_mut(),
                n => libc::malloc(n * size_of::<i32>()).cast(),
            };
            if !to.is_null() {
                to.copy_from_nonoverlapping(ids.as_ptr(), ids.len());
            }
            ffi::put(count, if to.is_null() { 0 } else { ids.len() });
            to
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use ottla_protocol::api::metadata::{
        MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
    };

    use super::*;

    #[test]
    fn everything_lies_in_one_block() {
        let partition = |i, replicas: &[i32]| MetadataResponsePartition {
            partition_index: i,
            leader_id: 1,
            replica_nodes: replicas.to_vec(),
            isr_nodes: vec![1],
            ..Default::default()
        };
        let response = MetadataResponse {
            brokers: vec![MetadataResponseBroker {
                node_id: 1,
                host: "host-1".into(),
                port: 9092,
                ..Default::default()
            }],
            topics: vec![MetadataResponseTopic {
                name: Some("topic".into()),
                error_code: 5,
                partitions: vec![partition(0, &[1, 2, 3]), partition(1, &[])],
                ..Default::default()
            }],
            ..Default::default()
        };
        let m = to_c(&MetadataReply {
            response,
            orig_node: 1,
            orig_name: "host-1:9092/1".into(),
        });
        // SAFETY: just made.
        unsafe {
            assert_eq!(((*m).broker_cnt, (*m).topic_cnt, (*m).orig_broker_id), (1, 1, 1));
            assert_eq!(CStr::from_ptr((*(*m).brokers).host), c"host-1");
            assert_eq!(CStr::from_ptr((*m).orig_broker_name), c"host-1:9092/1");
            let topic = &*(*m).topics;
            assert_eq!(
                (CStr::from_ptr(topic.topic), topic.err, topic.partition_cnt),
                (c"topic", 5, 2)
            );
            let first = &*topic.partitions;
            assert_eq!(std::slice::from_raw_parts(first.replicas, 3), [1, 2, 3]);
            let second = &*topic.partitions.add(1);
            assert_eq!((second.id, second.replica_cnt, *second.isrs), (1, 0, 1));
            rd_kafka_metadata_destroy(m);
        }
    }
}
