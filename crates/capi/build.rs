//! Compiles the C shims of the functions with variable arguments.

fn main() {
    println!("cargo:rerun-if-changed=shim");
    // C callers on whatever compiler they use: no compiler extension is asked for beyond GNU attributes.
    cc::Build::new()
        .file("shim/variadic.c")
        .file("shim/mock.c")
        .std("c11")
        .warnings(true)
        .extra_warnings(true)
        .compile("ottla_shim");
}
