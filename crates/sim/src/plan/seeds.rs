//! Blocks of seeds.

/// The number of blocks of seeds. Some properties depend on the block of the seed: each block has worlds of every kind.
const BLOCKS: u64 = 8;
const SEEDS_A_BLOCK: u64 = 64;

/// Returns the block of a seed.
pub(crate) fn block_of(seed: u64) -> u64 {
    seed / SEEDS_A_BLOCK % BLOCKS
}
