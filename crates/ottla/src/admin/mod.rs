//! What is asked of the cluster apart from producing and consuming. Every client can ask.
//!
//! [`Admin`] is the manager that the core drives; a call that needs several brokers is a struct of its own:
//!
//! - `list_groups`: the groups of every broker, with their members.

mod list_groups;
mod manager;

pub use list_groups::{Group, GroupListing};
pub use manager::{Admin, Command};
