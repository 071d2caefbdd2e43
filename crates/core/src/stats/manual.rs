//! The manual of the table: `docs/STATISTICS.md`.

use std::fmt::Write as _;

use super::histogram;
use super::requests::{REQUESTS, Shown};
use super::table::{Field, Kind, SECTIONS};

const INTRODUCTION: &str = "\
# Statistics

<!-- Generated from the table of fields by `cargo xtask gen-stats`: change the table in crates/core/src/stats. -->

With `statistics.interval.ms` a client reports its statistics at that interval, in one line of JSON. The application
receives it

- in C by the callback of `rd_kafka_conf_set_stats_cb()`, which `rd_kafka_poll()` calls, or as `RD_KAFKA_EVENT_STATS`, when
  enabled by `rd_kafka_conf_set_events()`;
- in C++ as `EVENT_STATS` by `event_cb`;
- in Rust as `Event::Stats`, with typed fields, when enabled by `ClientHooks::stats_event`.

Nothing is measured while the interval is 0 or the application has registered no receiver. The client creates no further
document while ten wait for the application; the next one covers the whole time.

Counters start at 0 and only increase. Windows hold the measurements since the last document. The column *Kind* shows the
difference. A field is omitted where the table says so, never set to null. Programs must ignore unknown fields.

`examples/c/stats_view.c` shows them live in the terminal: rates, latencies, and the lag of each partition.
";

fn kind(field: &Field) -> &'static str {
    match field.shape.kind {
        Kind::Gauge => "gauge",
        Kind::Counter => "counter",
        Kind::Value => "",
    }
}

fn row(name: &str, field: &Field, meaning: &str) -> String {
    format!(
        "| `{name}` | {} | {} | {} | {meaning} |\n",
        field.type_name,
        kind(field),
        field.shape.unit,
    )
}

/// Returns the text of `docs/STATISTICS.md`.
pub fn manual() -> String {
    let mut out = INTRODUCTION.to_owned();
    for section in SECTIONS {
        let places: Vec<String> = section.places.iter().map(|p| format!("`{p}`")).collect();
        let place = match section.places {
            [""] => String::new(),
            _ => format!(" In {}.", places.join(", ")),
        };
        let _ = write!(
            out,
            "\n## {}\n\n{}{place}\n\n| Field | Type | Kind | Unit | Meaning |\n|---|---|---|---|---|\n",
            section.title, section.about
        );
        for field in section.fields {
            out.push_str(&row(field.name, field, field.meaning));
            for also in field.also {
                out.push_str(&row(also, field, &format!("As `{}`.", field.name)));
            }
        }
    }
    out.push_str("\n## Ranges of windows\n\nLarger values are counted in `outofrange`.\n\n| Window | Up to | Unit |\n|---|---|---|\n");
    for (name, up_to, unit) in histogram::ranges() {
        let _ = writeln!(out, "| `{name}` | {up_to} | {unit} |");
    }
    out.push_str(
        "\n## Requests\n\n`req` counts requests by these names; others appear under Kafka's name of the API.\n\n",
    );
    out.push_str("| API key | Name | Present |\n|---|---|---|\n");
    for (key, name, shown) in REQUESTS {
        let when = match shown {
            Shown::Always => "always",
            Shown::ByProducers => "in producers, or once one was sent",
            Shown::ByConsumers => "in consumers, or once one was sent",
            Shown::WhenUsed => "once one was sent",
        };
        let _ = writeln!(out, "| {} | `{name}` | {when} |", key.0);
    }
    out
}
