//! Settings. An input is lines of `name=value`, as configuration files have them; addresses are one line.

use ottla_core::cluster::parse_endpoints;
use ottla_core::config::{Conf, TopicConf};
use ottla_core::types::ClientKind;

use crate::memory::within;
use crate::{Seen, Verdict};

/// More lines show nothing new.
const LINES_MAX: usize = 20;
/// A pattern in a list of topics is compiled; the regex library lets it come to 10 MiB.
const MEMORY_BASE: usize = 16 << 20;

pub(super) fn settings(data: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(data);
    let (mut conf, mut seen) = (Conf::new(), Seen::Refused);
    for line in text.lines().take(LINES_MAX) {
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (line, None),
        };
        if one_setting(&mut conf, name, value)? {
            seen = Seen::Accepted;
        }
    }
    all_settings(&conf)?;
    Ok(seen)
}

/// Checks that an accepted value reads back as an accepted value that reads the same, and that a refused one changes
/// nothing.
fn one_setting(conf: &mut Conf, name: &str, value: Option<&str>) -> Result<bool, String> {
    let before = conf.clone();
    let setting = format!("{name}={value:?}");
    let limit = MEMORY_BASE + 64 * setting.len();
    if let Err(error) = within(limit, || conf.set(name, value))? {
        ensure!(*conf == before, "{setting} was refused and changed something: {error}");
        ensure!(!error.message.is_empty(), "{setting} was refused without a message");
        return Ok(false);
    }
    // As in librdkafka, flags that were all taken out read as an empty text, which cannot be set.
    if let Some(text) = conf.get(name).ok().filter(|text| !text.is_empty()) {
        let mut again = Conf::new();
        let set = again.set(name, text.as_str());
        ensure!(set.is_ok(), "{setting} reads as {text:?}, which is refused: {set:?}");
        let read = again.get(name);
        ensure!(
            read.as_ref() == Ok(&text),
            "{setting} reads as {text:?}, and then as {read:?}"
        );
        // Again in the same object.
        let set = conf.set(name, text.as_str());
        ensure!(
            set.is_ok() && conf.get(name) == Ok(text),
            "{setting}: it does not keep its value"
        );
    }
    Ok(true)
}

/// Checks that the printed values set the same settings again, and that a client can be created from them or is
/// refused.
fn all_settings(conf: &Conf) -> Result<(), String> {
    let mut copy = Conf::new();
    for (name, value) in conf.dump() {
        if conf.is_modified(&name) && !value.is_empty() {
            let set = copy.set(&name, value.as_str());
            ensure!(set.is_ok(), "{name}={value} was dumped and is refused: {set:?}");
        }
    }
    if let Some(topic) = conf.topic_defaults() {
        for (name, value) in topic.dump() {
            if topic.is_modified(&name) && !value.is_empty() {
                let set = copy.topic_defaults_mut().set(&name, value.as_str());
                ensure!(set.is_ok(), "topic's {name}={value} was dumped and is refused: {set:?}");
            }
        }
    }
    let topic = |conf: &Conf| conf.topic_defaults().map(TopicConf::dump).unwrap_or_default();
    // Missing topic defaults equal unchanged ones.
    let touched = conf.topic_defaults().is_some_and(|topic| *topic != TopicConf::new());
    ensure!(
        !touched || topic(&copy) == topic(conf),
        "a dump makes other settings of topics"
    );
    ensure!(copy.dump() == conf.dump(), "a dump makes other settings");
    ensure!(conf.dup_filter(&[]).dump() == conf.dump(), "a copy has other settings");
    for kind in [ClientKind::Producer, ClientKind::Consumer, ClientKind::ShareConsumer] {
        if let Err(problem) = conf.clone().finalize(kind) {
            ensure!(!format!("{problem:?}").is_empty(), "refused without a word");
        }
    }
    Ok(())
}

fn names() -> Vec<String> {
    let rows = Conf::new().dump().into_iter().chain(TopicConf::new().dump());
    rows.map(|(name, _)| name).collect()
}

pub(super) fn words() -> Vec<String> {
    let mut words = names();
    for word in [
        "true",
        "false",
        "0x",
        "-1",
        "all",
        "none",
        "topic.",
        "read_committed",
        "gzip",
        "broker,topic,-msg",
    ] {
        words.push(word.to_owned());
    }
    words
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let rows = Conf::new().dump().into_iter().chain(TopicConf::new().dump());
    // Values that a property has, but that cannot be set here, such as what needs Windows, are no seeds.
    let taken = rows.filter(|(name, value)| Conf::new().set(name, value.as_str()).is_ok());
    let mut seeds: Vec<Vec<u8>> = taken
        .map(|(name, value)| format!("{name}={value}").into_bytes())
        .collect();
    for text in [
        "debug=broker,topic\ndebug=-topic\nbootstrap.servers=a:1,b:2",
        "linger.ms=0.5\nbatch.size=0x1000\nacks=all",
        "group.id=g\nisolation.level=read_uncommitted\nauto.offset.reset=earliest",
        "security.protocol=plaintext\ncompression.codec=zstd\ntopic.compression.level=3",
        "topic.blacklist=^a.*,b\nstatistics.interval.ms=010",
    ] {
        seeds.push(text.as_bytes().to_vec());
    }
    seeds
}

/// Addresses that are understood are understood again from what is printed of them.
pub(super) fn endpoints(data: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(data);
    let limit = 64 * 1024 + 200 * text.len();
    let (good, bad) = within(limit, || parse_endpoints(&text))?;
    let entries = text.split(',').count();
    ensure!(
        good.len() + bad.len() <= entries,
        "{} of {entries} entries",
        good.len() + bad.len()
    );
    for endpoint in &good {
        let printed = endpoint.to_string();
        let (again, _) = parse_endpoints(&printed);
        ensure!(
            again.as_slice() == [endpoint.clone()],
            "{endpoint:?}, printed {printed}, became {again:?}"
        );
    }
    match good.is_empty() {
        true => Ok(Seen::Refused),
        false => Ok(Seen::Accepted),
    }
}

pub(super) fn endpoint_seeds() -> Vec<Vec<u8>> {
    [
        "localhost",
        "a:9092,b:9093",
        "PLAINTEXT://broker.example:1",
        "[::1]:9092,::1",
        " spaced : 80 , x",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
