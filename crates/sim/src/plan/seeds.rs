//! Blocks of seeds.

/// What only some worlds have goes by blocks of seeds, of which there are so many in turn: in each are worlds of every kind.
const BLOCKS: u64 = 8;
const SEEDS_A_BLOCK: u64 = 64;

/// The block of a seed.
pub(crate) fn block_of(seed: u64) -> u64 {
    seed / SEEDS_A_BLOCK % BLOCKS
}
