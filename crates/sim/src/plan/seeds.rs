//! Blocks of seeds.

/// The number of blocks of seeds. Some properties depend on the block of the seed: each block has worlds of every kind.
const BLOCKS: u64 = 8;
const SEEDS_A_BLOCK: u64 = 64;
/// Among this many blocks in a row, those with TLS. The regression seeds from before it was drawn are in other blocks.
/// The number has no common factor with the other divisors of seeds, so there are worlds of every kind with TLS.
const TLS_CYCLE: u64 = 25;
const TLS_BLOCKS: [u64; 4] = [2, 15, 23, 24];

/// Likewise, those with SASL.
const SASL_CYCLE: u64 = 43;
const SASL_BLOCKS: [u64; 6] = [6, 10, 23, 28, 33, 38];

/// Likewise, those with admin calls.
const ADMIN_CYCLE: u64 = 53;
const ADMIN_BLOCKS: [u64; 8] = [5, 8, 15, 22, 26, 31, 39, 48];

/// Likewise, those with share groups.
const SHARE_CYCLE: u64 = 59;
const SHARE_BLOCKS: [u64; 6] = [9, 17, 26, 34, 41, 47];

/// Likewise, those with jobs.
const JOBS_CYCLE: u64 = 47;
const JOBS_BLOCKS: [u64; 8] = [5, 11, 14, 17, 20, 22, 23, 28];

/// Returns the block of a seed.
pub(crate) fn block_of(seed: u64) -> u64 {
    seed / SEEDS_A_BLOCK % BLOCKS
}

/// Returns true for seeds of worlds with TLS.
pub(crate) fn has_tls(seed: u64) -> bool {
    TLS_BLOCKS.contains(&(seed / SEEDS_A_BLOCK % TLS_CYCLE))
}

/// Returns true for seeds of worlds with SASL.
pub(crate) fn has_sasl(seed: u64) -> bool {
    SASL_BLOCKS.contains(&(seed / SEEDS_A_BLOCK % SASL_CYCLE))
}

/// Returns true for seeds of worlds with admin calls.
pub(crate) fn has_admin(seed: u64) -> bool {
    ADMIN_BLOCKS.contains(&(seed / SEEDS_A_BLOCK % ADMIN_CYCLE))
}

/// Returns true for seeds of worlds with share groups, unless the world has other groups or transactions.
pub(crate) fn has_share_groups(seed: u64) -> bool {
    SHARE_BLOCKS.contains(&(seed / SEEDS_A_BLOCK % SHARE_CYCLE))
}

/// Returns true for seeds of worlds in which clients hand out jobs.
pub(crate) fn has_jobs(seed: u64) -> bool {
    JOBS_BLOCKS.contains(&(seed / SEEDS_A_BLOCK % JOBS_CYCLE))
}
