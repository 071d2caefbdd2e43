//! The public structs and constants of `rdkafka.h`. `testdata/layout.txt` holds the recorded sizes and offsets.

use std::ffi::{c_char, c_int, c_void};

use crate::headers::Headers;

/// Declares types of which C sees pointers only.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub struct $name {
            _opaque: [u8; 0],
        }
    )*};
}

opaque! {
    /// `rd_kafka_t` as callbacks receive it. Points to a `Handle`.
    RdKafka;
    /// `rd_kafka_conf_t` as callbacks receive it. Points to a `ConfHandle`.
    RdKafkaConf;
    /// `rd_kafka_topic_t` as callbacks and message fields hold it. Points to a `TopicHandle`.
    RdKafkaTopic;
    /// `rd_kafka_event_t` as callbacks receive it. Points to an `EventHandle`.
    RdKafkaEvent;
}

/// `rd_kafka_err_desc`
#[repr(C)]
pub struct ErrDesc {
    /// The code.
    pub code: c_int,
    /// Its name, or NULL.
    pub name: *const c_char,
    /// Its description, or NULL.
    pub desc: *const c_char,
}

/// `rd_kafka_topic_partition_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PartitionRow {
    /// malloc'ed.
    pub topic: *mut c_char,
    /// Partition number.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// malloc'ed commit metadata.
    pub metadata: *mut c_void,
    /// Its size.
    pub metadata_size: usize,
    /// The application's pointer.
    pub opaque: *mut c_void,
    /// The row's own error.
    pub err: c_int,
    /// malloc'ed [`crate::topic_partition_list::RowPrivate`], or NULL.
    pub private: *mut c_void,
}

/// `rd_kafka_topic_partition_list_t`
#[repr(C)]
pub struct PartitionList {
    /// Rows in use.
    pub cnt: c_int,
    /// Rows allocated.
    pub size: c_int,
    /// malloc'ed rows.
    pub elems: *mut PartitionRow,
}

/// `rd_kafka_message_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MessageFields {
    /// Error code; the payload is then an error text (consumer) or the message (producer).
    pub err: c_int,
    /// Topic.
    pub rkt: *mut RdKafkaTopic,
    /// Partition.
    pub partition: i32,
    /// Value.
    pub payload: *mut c_void,
    /// Its length.
    pub len: usize,
    /// Key.
    pub key: *mut c_void,
    /// Its length.
    pub key_len: usize,
    /// Offset.
    pub offset: i64,
    /// Delivery reports: the application's per-message pointer. Else private.
    pub private: *mut c_void,
}

/// `rd_kafka_vu_t`: one argument of `rd_kafka_produceva()`.
#[repr(C)]
pub struct Vu {
    /// Which.
    pub vtype: c_int,
    /// The value.
    pub u: VuValue,
}

/// The value of a [`Vu`].
#[repr(C)]
pub union VuValue {
    /// `RD_KAFKA_VTYPE_TOPIC`
    pub cstr: *const c_char,
    /// `RD_KAFKA_VTYPE_RKT`
    pub rkt: *mut RdKafkaTopic,
    /// `RD_KAFKA_VTYPE_MSGFLAGS`
    pub i: c_int,
    /// `RD_KAFKA_VTYPE_PARTITION`
    pub i32: i32,
    /// `RD_KAFKA_VTYPE_TIMESTAMP`
    pub i64: i64,
    /// `RD_KAFKA_VTYPE_VALUE`, `RD_KAFKA_VTYPE_KEY`
    pub mem: VuMem,
    /// `RD_KAFKA_VTYPE_HEADER`
    pub header: VuHeader,
    /// `RD_KAFKA_VTYPE_HEADERS`
    pub headers: *mut Headers,
    /// `RD_KAFKA_VTYPE_OPAQUE`
    pub ptr: *mut c_void,
    /// Room for more.
    pub pad: [c_char; 64],
}

/// Pointer and size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct VuMem {
    /// Start.
    pub ptr: *mut c_void,
    /// Bytes.
    pub size: usize,
}

/// A header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct VuHeader {
    /// Name.
    pub name: *const c_char,
    /// Value, or NULL.
    pub val: *const c_void,
    /// The value's size, -1 for a NUL-terminated string.
    pub size: isize,
}

/// `rd_kafka_vtype_t`
#[allow(missing_docs)]
pub mod vtype {
    pub const END: i32 = 0;
    pub const TOPIC: i32 = 1;
    pub const RKT: i32 = 2;
    pub const PARTITION: i32 = 3;
    pub const VALUE: i32 = 4;
    pub const KEY: i32 = 5;
    pub const OPAQUE: i32 = 6;
    pub const MSGFLAGS: i32 = 7;
    pub const TIMESTAMP: i32 = 8;
    pub const HEADER: i32 = 9;
    pub const HEADERS: i32 = 10;
}

/// `RD_KAFKA_MSG_F_*`
#[allow(missing_docs)]
pub mod msg_flag {
    pub const FREE: i32 = 0x1;
    pub const COPY: i32 = 0x2;
    pub const BLOCK: i32 = 0x4;
    pub const PARTITION: i32 = 0x8;
}

/// `RD_KAFKA_PURGE_F_*`
#[allow(missing_docs)]
pub mod purge_flag {
    pub const QUEUE: i32 = 0x1;
    pub const INFLIGHT: i32 = 0x2;
    pub const NON_BLOCKING: i32 = 0x4;
}

/// `RD_KAFKA_EVENT_*`
#[allow(missing_docs)]
pub mod event_type {
    pub const NONE: i32 = 0x0;
    pub const DR: i32 = 0x1;
    pub const FETCH: i32 = 0x2;
    pub const LOG: i32 = 0x4;
    pub const ERROR: i32 = 0x8;
    pub const REBALANCE: i32 = 0x10;
    pub const OFFSET_COMMIT: i32 = 0x20;
    pub const STATS: i32 = 0x40;
    pub const OAUTHBEARER_TOKEN_REFRESH: i32 = 0x100;
    pub const BACKGROUND: i32 = 0x200;
}

/// `RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE`
pub const DESTROY_NO_CONSUMER_CLOSE: i32 = 0x8;

/// `rd_kafka_metadata_broker_t`
#[repr(C)]
pub struct MetadataBroker {
    /// Broker id.
    pub id: i32,
    /// Host name.
    pub host: *mut c_char,
    /// Port.
    pub port: c_int,
}

/// `rd_kafka_metadata_partition_t`
#[repr(C)]
pub struct MetadataPartition {
    /// Partition number.
    pub id: i32,
    /// Its error.
    pub err: c_int,
    /// Leader's broker id.
    pub leader: i32,
    /// Number of replicas.
    pub replica_cnt: c_int,
    /// Replicas.
    pub replicas: *mut i32,
    /// Number of in-sync replicas.
    pub isr_cnt: c_int,
    /// In-sync replicas.
    pub isrs: *mut i32,
}

/// `rd_kafka_metadata_topic_t`
#[repr(C)]
pub struct MetadataTopic {
    /// Name.
    pub topic: *mut c_char,
    /// Number of partitions.
    pub partition_cnt: c_int,
    /// Partitions.
    pub partitions: *mut MetadataPartition,
    /// Its error.
    pub err: c_int,
}

/// `rd_kafka_metadata_t`
#[repr(C)]
pub struct Metadata {
    /// Number of brokers.
    pub broker_cnt: c_int,
    /// Brokers.
    pub brokers: *mut MetadataBroker,
    /// Number of topics.
    pub topic_cnt: c_int,
    /// Topics.
    pub topics: *mut MetadataTopic,
    /// The broker that answered.
    pub orig_broker_id: i32,
    /// Its name.
    pub orig_broker_name: *mut c_char,
}

/// `struct rd_kafka_group_member_info`
#[repr(C)]
pub struct GroupMemberInfo {
    /// The id that the coordinator gave.
    pub member_id: *mut c_char,
    /// `client.id`.
    pub client_id: *mut c_char,
    /// Where it connects from.
    pub client_host: *mut c_char,
    /// Its subscription, in the protocol's form.
    pub member_metadata: *mut c_void,
    /// Bytes of that.
    pub member_metadata_size: c_int,
    /// Its assignment, in the protocol's form.
    pub member_assignment: *mut c_void,
    /// Bytes of that.
    pub member_assignment_size: c_int,
}

/// `struct rd_kafka_group_info`
#[repr(C)]
pub struct GroupInfo {
    /// The broker that described it.
    pub broker: MetadataBroker,
    /// The group's id.
    pub group: *mut c_char,
    /// Its error.
    pub err: c_int,
    /// Its state.
    pub state: *mut c_char,
    /// Protocol type.
    pub protocol_type: *mut c_char,
    /// Assignor.
    pub protocol: *mut c_char,
    /// Members.
    pub members: *mut GroupMemberInfo,
    /// Number of members.
    pub member_cnt: c_int,
}

/// `struct rd_kafka_group_list`
#[repr(C)]
pub struct GroupList {
    /// Groups.
    pub groups: *mut GroupInfo,
    /// Number of groups.
    pub group_cnt: c_int,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::mem::{offset_of, size_of};

    macro_rules! layout {
        ($map:ident, $c:literal, $t:ty, $($c_field:literal = $($field:ident).+),*) => {
            $map.insert(concat!($c, " size").to_string(), size_of::<$t>());
            $($map.insert(concat!($c, ".", $c_field).to_string(), offset_of!($t, $($field).+));)*
        };
    }

    fn ours() -> BTreeMap<String, usize> {
        let mut m = BTreeMap::new();
        layout! {
            m, "rd_kafka_err_desc", ErrDesc, "code" = code, "name" = name, "desc" = desc
        }
        layout! {
            m, "rd_kafka_topic_partition_s", PartitionRow, "topic" = topic, "partition" = partition, "offset" =
            offset, "metadata" = metadata, "metadata_size" = metadata_size, "opaque" = opaque, "err" = err,
            "_private" = private
        }
        layout! {
            m, "rd_kafka_topic_partition_list_s", PartitionList, "cnt" = cnt, "size" = size, "elems" = elems
        }
        layout! {
            m, "rd_kafka_message_s", MessageFields, "err" = err, "rkt" = rkt, "partition" = partition, "payload"
            = payload, "len" = len, "key" = key, "key_len" = key_len, "offset" = offset, "_private" = private
        }
        layout! {
            m, "rd_kafka_vu_s", Vu, "vtype" = vtype, "u" = u, "u.cstr" = u.cstr, "u.rkt" = u.rkt, "u.i" = u.i,
            "u.i32" = u.i32, "u.i64" = u.i64, "u.mem.ptr" = u.mem.ptr, "u.mem.size" = u.mem.size,
            "u.header.name" = u.header.name, "u.header.val" = u.header.val, "u.header.size" = u.header.size,
            "u.headers" = u.headers, "u.ptr" = u.ptr, "u._pad" = u.pad
        }
        layout! {
            m, "rd_kafka_metadata_broker", MetadataBroker, "id" = id, "host" = host, "port" = port
        }
        layout! {
            m, "rd_kafka_metadata_partition", MetadataPartition, "id" = id, "err" = err, "leader" = leader,
            "replica_cnt" = replica_cnt, "replicas" = replicas, "isr_cnt" = isr_cnt, "isrs" = isrs
        }
        layout! {
            m, "rd_kafka_metadata_topic", MetadataTopic, "topic" = topic, "partition_cnt" = partition_cnt,
            "partitions" = partitions, "err" = err
        }
        layout! {
            m, "rd_kafka_metadata", Metadata, "broker_cnt" = broker_cnt, "brokers" = brokers, "topic_cnt" =
            topic_cnt, "topics" = topics, "orig_broker_id" = orig_broker_id, "orig_broker_name" =
            orig_broker_name
        }
        layout! {
            m, "rd_kafka_group_member_info", GroupMemberInfo, "member_id" = member_id, "client_id" = client_id,
            "client_host" = client_host, "member_metadata" = member_metadata, "member_metadata_size" =
            member_metadata_size, "member_assignment" = member_assignment, "member_assignment_size" =
            member_assignment_size
        }
        layout! {
            m, "rd_kafka_group_info", GroupInfo, "broker" = broker, "group" = group, "err" = err, "state" = state,
            "protocol_type" = protocol_type, "protocol" = protocol, "members" = members, "member_cnt" = member_cnt
        }
        layout! {
            m, "rd_kafka_group_list", GroupList, "groups" = groups, "group_cnt" = group_cnt
        }
        m
    }

    #[test]
    fn layouts_are_the_recorded_ones() {
        let recorded: BTreeMap<String, usize> = include_str!("../testdata/layout.txt")
            .lines()
            .filter(|l| !l.starts_with('#'))
            .map(|l| {
                let (name, value) = l.rsplit_once(' ').expect("name and number");
                (name.to_string(), value.parse().expect("a number"))
            })
            .collect();
        assert_eq!(ours(), recorded);
    }
}
