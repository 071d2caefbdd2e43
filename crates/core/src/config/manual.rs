//! The property table as Markdown: `rd_kafka_conf_properties_show()` and `docs/CONFIGURATION.md`.

use std::fmt::Write as _;
use std::io;

use super::property::{Applies, Importance, Kind, Property};
use super::rules_share;
use super::tables::{GLOBAL, NOT_PROPERTIES, TOPIC};
use super::unavailable::{MISSING, Missing, WITHOUT_EFFECT};
use super::value::Value;

const INTRODUCTION: &str = "\
# Configuration

<!-- Generated from the property table by `cargo xtask gen-config`: change the table in crates/core/src/config. -->

Properties are set by name with `rd_kafka_conf_set()` (of the client) and `rd_kafka_topic_conf_set()` (of a topic). A
property of topics may also be set on the client, as the default for its topics; `topic.` before its name is allowed.

- Booleans are `true`, `t`, `1`, `false`, `f`, `0`, in letters of any case.
- Integers are decimal, hexadecimal (`0x`) or octal (`0`), and must lie in the range.
- Names of choices and flags are case-insensitive. Flags are lists separated by commas that add to the present value;
  `-name` removes one.
- An empty text resets a string to its default. The other types refuse it.
- A property that is not set may follow others that are; its description says so. A value that is set and conflicts with
  others is refused when the client or topic is created, with a message that names the property, the value and the
  allowed values.

C/P: P is for producers, C for consumers, * for both.
";

const NOT_YET: &str = "\
## Not available yet

This version accepts these settings of topics when they are set, and refuses them when the client or topic is created,
since it does not have the feature (`RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE`; `rd_kafka_new()` returns NULL and a text that
names it). Consumers ignore properties of producers, and producers those of consumers.

| Property | Values | Missing |
|---|---|---|
";

const NO_EFFECT: &str = "\
## Without effect

These settings are accepted for compatibility with existing configurations. Setting one logs a warning.

| Property | Reason |
|---|---|
";

const NOT_SHARE: &str = "\
## Refused by share consumers

`rd_kafka_share_consumer_new()` returns NULL if one of these is set, also to its default. Share consumers have other defaults:
`connections.max.idle.ms` 540000, `reconnect.backoff.ms` 50, `reconnect.backoff.max.ms` 1000, `receive.message.max.bytes`
2147483647.

| Property | Reason |
|---|---|
";

const NOT_HERE: &str = "\
## Properties of other clients

These names are refused, with an error that names the alternative.

| Property | Instead |
|---|---|
";

const TITLE_GLOBAL: &str = "## Global configuration properties";
const TITLE_TOPIC: &str = "## Topic configuration properties";

/// One line of a table: a property under one of its names.
struct Line {
    name: &'static str,
    applies: &'static str,
    range: String,
    default: String,
    importance: &'static str,
    description: String,
}

/// Escapes characters of a text that would end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn default_text(property: &Property) -> String {
    let value = Value::default_of(&property.kind);
    cell(&value.print(&property.kind).unwrap_or_default())
}

fn importance(property: &Property) -> &'static str {
    match property.importance {
        Importance::High => "high",
        Importance::Medium => "medium",
        Importance::Low => "low",
    }
}

fn lines(table: &'static [Property]) -> impl Iterator<Item = Line> {
    table.iter().filter(|p| !p.hidden).flat_map(|property| {
        let names = std::iter::once(&property.name).chain(property.aliases);
        names.map(move |name| Line {
            name,
            applies: match property.applies {
                Applies::Both => "*",
                Applies::Producer => "P",
                Applies::Consumer => "C",
            },
            range: cell(&property.range()),
            default: default_text(property),
            importance: importance(property),
            description: describe(property, name),
        })
    })
}

fn describe(property: &Property, name: &str) -> String {
    let mut text = String::new();
    if property.deprecated {
        text.push_str("**Deprecated.** ");
    }
    if property.experimental {
        text.push_str("**Experimental.** ");
    }
    if name == property.name {
        text.push_str(&cell(property.description));
    } else {
        let _ = write!(text, "Alias of `{}`.", property.name);
    }
    let unit = match property.unit {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    let kind = match property.kind {
        Kind::Pointer { set_by } if !set_by.is_empty() => format!("set by `{set_by}()`"),
        _ => property.type_name().to_owned(),
    };
    let _ = write!(text, " <br>*Type: {kind}{unit}*");
    text
}

/// Writes the table of properties of clients and of topics, aligned, in Markdown.
///
/// # Errors
/// Those of the writer.
pub fn properties_show(out: &mut dyn io::Write) -> io::Result<()> {
    for (title, table) in [(TITLE_GLOBAL, GLOBAL), (TITLE_TOPIC, TOPIC)] {
        writeln!(out, "{title}\n")?;
        writeln!(
            out,
            "{:<40} | C/P | {:<15} | {:>13} | {:<10} | Description",
            "Property", "Range", "Default", "Importance"
        )?;
        writeln!(
            out,
            "{:-<41}|-----|{:-<17}|{:->14}:|{:-<12}|{:-<26}",
            "", "", "", "", ""
        )?;
        for line in lines(table) {
            writeln!(
                out,
                "{:<40} |  {}  | {:<15} | {:>13} | {:<10} | {}",
                line.name, line.applies, line.range, line.default, line.importance, line.description
            )?;
        }
        writeln!(out)?;
    }
    writeln!(out, "### C/P legend: C = Consumer, P = Producer, * = both")
}

fn missing_row(row: &Missing) -> String {
    format!("| `{}` | {} | {} |\n", row.property, row.values(), row.feature)
}

fn manual_table(out: &mut String, title: &str, table: &'static [Property], missing: &[Missing]) {
    let _ = write!(
        out,
        "\n{title}\n\n| Property | C/P | Range | Default | Importance | Description |\n|---|---|---|---|---|---|\n"
    );
    for line in lines(table) {
        let mut description = line.description;
        let canonical = table.iter().find(|p| p.name == line.name).map(|p| p.name);
        if let Some(row) = canonical.and_then(|name| missing.iter().find(|row| row.property == name)) {
            let _ = write!(description, " <br>*Not available yet: {}*", row.values());
        }
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            line.name, line.applies, line.range, line.default, line.importance, description
        );
    }
}

/// Returns the text of `docs/CONFIGURATION.md`.
pub fn manual() -> String {
    let mut out = INTRODUCTION.to_owned();
    manual_table(&mut out, TITLE_GLOBAL, GLOBAL, &[]);
    manual_table(&mut out, TITLE_TOPIC, TOPIC, MISSING);
    let _ = write!(out, "\n{NOT_YET}");
    for row in MISSING {
        out.push_str(&missing_row(row));
    }
    let _ = write!(out, "\n{NO_EFFECT}");
    for (name, why) in WITHOUT_EFFECT {
        let _ = writeln!(out, "| `{name}` | {why} |");
    }
    let _ = write!(out, "\n{NOT_SHARE}");
    for (name, reason) in rules_share::refused() {
        let _ = writeln!(out, "| `{name}` | {reason} |");
    }
    let _ = write!(out, "\n{NOT_HERE}");
    for (name, instead) in NOT_PROPERTIES {
        let _ = writeln!(out, "| `{name}` | {instead} |");
    }
    out
}
