//! Tests that need more of the crate than the module that they test.

mod schema;
