//! The consumer driven by hand: real connections, a real cluster manager, brokers that the test plays.

mod asked;
mod auto_commits;
mod builders;
mod consumer_protocol;
mod cooperative;
mod fetching;
mod groups;
mod harness;
mod missing;
mod offset_files;
mod offsets;
mod patterns;
mod sessions;
mod validation;
