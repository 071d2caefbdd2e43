//! Reads the records of one topic, derives one output record from each, and writes it to a second topic. Each input record
//! has its effect on the output exactly once.
//!
//! ```text
//! exactly_once APPLICATION INPUT OUTPUT PROPERTY=VALUE...
//! ```
//!
//! The output has the key of the input, its value with a `+` appended, and the same partition number, so the output
//! topic needs at least as many partitions. The program runs until its standard input ends (Ctrl-D). The properties are
//! those of `ottla_processor::ProcessorConf`; `bootstrap.servers` is required.

use std::io::Read;

use ottla_core::producer::{Payload, Record};
use ottla_processor::{Input, Output, ProcessError, Processor, ProcessorConf};

fn add_plus(output_topic: &str, input: &Input<'_>, output: &mut Output) -> Result<(), ProcessError> {
    let mut value = input.record.value.unwrap_or_default().to_vec();
    value.push(b'+');
    let record = Record {
        key: input.record.key,
        value: Payload::Copy(&value),
        ..Record::default()
    };
    output.send_to(output_topic, input.partition, record)?;
    Ok(())
}

fn main() -> Result<(), ProcessError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [application, input, output, properties @ ..] = args.as_slice() else {
        return Err("usage: exactly_once APPLICATION INPUT OUTPUT PROPERTY=VALUE...".into());
    };
    let mut conf = ProcessorConf::new(application, &[input]);
    conf.set("processing.guarantee", "exactly_once")?;
    for property in properties {
        let (name, value) = property.split_once('=').ok_or("not PROPERTY=VALUE")?;
        conf.set(name, value)?;
    }
    let topic = output.clone();
    let mut processor = Processor::new(conf, move |input: &Input<'_>, output: &mut Output| {
        add_plus(&topic, input, output)
    })?;
    let stopper = processor.stopper();
    std::thread::spawn(move || {
        // The end of standard input, or an error, stops the loop.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stopper.stop();
    });
    processor.run()
}
