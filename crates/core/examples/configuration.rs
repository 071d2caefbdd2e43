//! Prints the manual of all properties: the text of `docs/CONFIGURATION.md`.

fn main() {
    print!("{}", ottla_core::config::manual());
}
