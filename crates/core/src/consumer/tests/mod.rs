//! The consumer driven step by step: real connections, a real cluster manager, brokers that the test implements.

mod asked;
mod auto_commits;
mod builders;
mod consumer_protocol;
mod cooperative;
mod fetching;
mod files;
mod groups;
mod harness;
mod missing;
mod offsets;
mod patterns;
mod sessions;
mod validation;
