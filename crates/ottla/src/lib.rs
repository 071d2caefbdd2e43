//! ottla
