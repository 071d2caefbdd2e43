//! The targets, one file for each subject.

mod brokers;
mod canary;
mod certificates;
mod codecs;
mod config;
mod consumer;
mod consumer_protocol;
mod frame_reader;
mod framing;
mod messages;
mod producer;
mod records;
mod scram;
mod tls;
mod tokens;

use crate::Verdict;

/// Something that takes any bytes.
pub struct Target {
    /// Names its corpus folder.
    pub name: &'static str,
    /// A description of the checked properties.
    pub what: &'static str,
    /// Checks it with one input.
    pub run: fn(&[u8]) -> Verdict,
    /// Inputs to start from; each of them is accepted.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words for its inputs, besides arbitrary bytes.
    pub words: fn() -> Vec<String>,
    /// Mutations in an ordinary test: fewer where one costs more.
    pub mutations: usize,
    /// Inputs need not be longer than this.
    pub len_max: usize,
}

fn no_words() -> Vec<String> {
    Vec::new()
}

/// Returns a row of the table, for targets without words.
const fn target(
    name: &'static str,
    what: &'static str,
    run: fn(&[u8]) -> Verdict,
    seeds: fn() -> Vec<Vec<u8>>,
) -> Target {
    Target {
        name,
        what,
        run,
        seeds,
        words: no_words,
        mutations: 4000,
        len_max: 4096,
    }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    target(
        "requests",
        "every API's request in every version: what is decoded can be encoded and stays the same",
        messages::requests,
        messages::request_seeds,
    ),
    target(
        "responses",
        "every API's response in every version: what is decoded can be encoded and stays the same",
        messages::responses,
        messages::response_seeds,
    ),
    target(
        "request_frames",
        "request headers before bodies, as a broker meets them",
        framing::requests,
        framing::request_seeds,
    ),
    target(
        "response_frames",
        "response headers before bodies, as a client meets them",
        framing::responses,
        framing::response_seeds,
    ),
    target(
        "records",
        "record batches and message sets: bounds, iterators that end, records that can be written again",
        records::read,
        records::read_seeds,
    ),
    Target {
        mutations: 1000,
        ..target(
            "record_writers",
            "records written in every format and codec are read back",
            records::write,
            records::write_seeds,
        )
    },
    target(
        "decompress",
        "compressed data in every codec: limits and memory",
        codecs::decompress,
        codecs::decompress_seeds,
    ),
    Target {
        mutations: 1000,
        ..target(
            "compress",
            "what is compressed in any codec and level comes back",
            codecs::compress,
            codecs::compress_seeds,
        )
    },
    target(
        "frame_reader",
        "a byte stream gives the same frames however it is split",
        frame_reader::run,
        frame_reader::seeds,
    ),
    Target {
        words: config::words,
        mutations: 1000,
        ..target(
            "config",
            "settings: what is accepted can be read and set again",
            config::settings,
            config::seeds,
        )
    },
    target(
        "endpoints",
        "lists of broker addresses: what is understood is understood again",
        config::endpoints,
        config::endpoint_seeds,
    ),
    target(
        "consumer_protocol",
        "subscriptions and assignments of classic groups",
        consumer_protocol::run,
        consumer_protocol::seeds,
    ),
    target(
        "brokers",
        "any requests to the mock cluster: answers that can be read, and nothing left of a connection",
        brokers::run,
        brokers::seeds,
    ),
    Target {
        words: tls::pem_words,
        ..target(
            "pem",
            "certificates, revocation lists and keys as text: results are read again from their own encoding",
            tls::pem,
            tls::pem_seeds,
        )
    },
    Target {
        mutations: 1000,
        ..target(
            "private_keys",
            "encrypted private keys: a decrypted key is a plain key, costs are bounded",
            tls::private_keys,
            tls::private_key_seeds,
        )
    },
    Target {
        mutations: 1000,
        ..target(
            "keystores",
            "PKCS#12: certificates that can be read, the key fits the first, none is lost or doubled",
            tls::keystores,
            tls::keystore_seeds,
        )
    },
    Target {
        words: tls::name_words,
        ..target(
            "tls_names",
            "lists of cipher suites, curves and signature algorithms: a choice, spelled out, is chosen again",
            tls::names,
            tls::name_seeds,
        )
    },
    Target {
        mutations: 1000,
        ..target(
            "certificates",
            "chains of brokers: only known leaves are accepted, texts and memory are bounded, callbacks decide",
            certificates::chains,
            certificates::chain_seeds,
        )
    },
    Target {
        mutations: 1000,
        ..target(
            "revocation_lists",
            "revocation lists: only signed ones count, memory is bounded",
            certificates::lists,
            certificates::list_seeds,
        )
    },
    Target {
        words: tokens::answer_words,
        ..target(
            "token_answers",
            "answers with tokens or AWS credentials: a token can be sent and has an end, texts and memory are bounded",
            tokens::answers,
            tokens::answer_seeds,
        )
    },
    Target {
        words: tokens::settings_words,
        ..target(
            "token_settings",
            "settings of token providers, and templates: texts and memory are bounded",
            tokens::settings,
            tokens::settings_seeds,
        )
    },
    Target {
        words: scram::words,
        mutations: 400,
        ..target(
            "scram",
            "messages of a SCRAM server: only one that knows the password is accepted",
            scram::server_messages,
            scram::seeds,
        )
    },
    Target {
        mutations: 400,
        len_max: 600,
        ..target(
            "producer",
            "operations of a producer among brokers that fail and lie: one report for each message, in time",
            producer::run,
            producer::seeds,
        )
    },
    Target {
        mutations: 400,
        len_max: 600,
        ..target(
            "transactions",
            "operations of a transactional producer likewise: every call is answered in time as well",
            producer::transactions,
            producer::transaction_seeds,
        )
    },
    Target {
        mutations: 400,
        len_max: 600,
        ..target(
            "consumer",
            "operations of a consumer among brokers that fail and lie: every call is answered, close ends",
            consumer::run,
            consumer::seeds,
        )
    },
];

/// Targets with a bug, one for each way in which a run can notice one.
pub const CANARIES: &[Target] = &[
    target(
        "canary_panic",
        "a decoder that believes a length: found by mutations",
        canary::panic,
        canary::seeds,
    ),
    target(
        "canary_memory",
        "a decoder that reserves what a length claims: found by mutations",
        canary::memory,
        canary::seeds,
    ),
    target(
        "canary_coverage",
        "a bug behind four bytes in a row: found with coverage only",
        canary::coverage,
        canary::seeds,
    ),
    Target {
        len_max: 600,
        ..target(
            "canary_producer",
            "an application that loses reports of failure: found by mutations",
            producer::canary,
            producer::canary_seeds,
        )
    },
    Target {
        len_max: 600,
        ..target(
            "canary_consumer",
            "an application that loses answers that are errors: found by mutations",
            consumer::canary,
            consumer::canary_seeds,
        )
    },
];
