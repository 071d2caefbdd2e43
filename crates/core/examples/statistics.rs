//! Prints the manual of the statistics: the text of `docs/STATISTICS.md`.

fn main() {
    print!("{}", ottla_core::stats::manual());
}
