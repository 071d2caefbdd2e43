//! Reads a topic, derives one record from each, and writes these to a second topic, so that each input record has its effect
//! there exactly once.
//!
//! ```text
//! exactly_once APPLICATION INPUT OUTPUT PROPERTY=VALUE...
//! ```
//!
//! The output is the input value with a `+` appended, in the partition of the same number. The program runs until its standard
//! input ends (Ctrl-D). `bootstrap.servers` must be among the properties, which are those of `ottla_processor::ProcessorConf`.

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
        // The end of the input, or an error, stops the loop.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stopper.stop();
    });
    processor.run()
}
