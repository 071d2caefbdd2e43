//! The limits on what a client holds in memory: produced records, fetched records.

mod buffer_memory;
mod fetch_budget;

pub use buffer_memory::{BufferMemory, EmptyListener};
pub use fetch_budget::FetchBudget;
