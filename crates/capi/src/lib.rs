//! The C face of Ottla: `librdkafka.so.1`, one file for each area of `include/rdkafka.h`.
//!
//! The header is the manual; here each exported function has a one-line comment. This crate converts arguments and
//! results; settings, clients, queues and events are those of the crate `ottla`. [`ffi`] checks arguments, catches
//! panics and manages the ownership of handles.
//!
//! Every `unsafe` block relies on the header's contract with the application, or on an invariant that its comment
//! names.

pub mod abi;
pub mod admin;
mod admin_op;
pub mod arena;
pub mod background;
pub mod background_thread;
pub mod callbacks;
pub mod cancel_guard;
pub mod certificates;
pub mod client;
pub mod conf;
pub mod conf_result;
pub mod consumer;
pub mod core_interceptor;
pub mod errors;
pub mod event;
pub mod ffi;
pub mod fork_guard;
pub mod group_metadata;
pub mod groups;
pub mod handle;
pub mod headers;
pub mod interceptor_methods;
pub mod interceptors;
pub mod live_clients;
pub mod log;
pub mod log_state;
pub mod message;
pub mod metadata;
pub mod misc;
pub mod mock;
pub mod mock_cluster;
pub mod oauthbearer;
pub mod offsets;
pub mod os_callbacks;
pub mod partitioners;
pub mod plugins;
pub mod produce;
pub mod queue;
pub mod sasl;
pub mod self_check;
pub mod serve;
pub mod settings;
pub mod share;
pub mod simple_consumer;
pub mod topic;
pub mod topic_conf;
pub mod topic_partition_list;
pub mod transactions;
pub mod uuid;
