//! Authenticates with GSSAPI at a broker's listener (SASL_PLAINTEXT), once for each line on standard input, all with the same
//! credentials. Prints one line for each: `accepted`, or `failed` with the error.
//!
//! ```sh
//! kerberos SERVICE KEYTAB PRINCIPAL    # `-` for a keytab or principal that is not set
//! HOST PORT [NAME]                     # a line: the broker, and the name for the service if it differs from the host
//! HOST PORT [NAME] unframed            # the same with SaslHandshake version 0, as brokers before 1.0 have it
//! ```
//!
//! The tests in `tests/real` run it against real brokers and a KDC.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, io};

use bytes::Bytes;
use ottla_core::sasl::{Credentials, GssapiCredentials, Step};
use ottla_core::sys::Rng;
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::api::sasl_authenticate::SaslAuthenticateRequest;
use ottla_protocol::api::sasl_handshake::SaslHandshakeRequest;
use ottla_protocol::{Request, decode_response, encode_request};

const TIMEOUT: Duration = Duration::from_secs(30);
const FRAME_MAX: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [service, keytab, principal] = &args[..] else {
        return Err("arguments: SERVICE KEYTAB PRINCIPAL".into());
    };
    let credentials = GssapiCredentials::new(service, set(principal), set(keytab))?;
    let credentials = Credentials::Gssapi(Arc::new(credentials));
    for line in io::stdin().lines() {
        let line = line?;
        let start = Instant::now();
        let result = authenticate(&credentials, &line);
        let ms = start.elapsed().as_millis();
        match result {
            Ok(()) => println!("accepted ({ms} ms)"),
            Err(e) => println!("failed ({ms} ms): {}", e.to_string().replace('\n', " ")),
        }
    }
    Ok(())
}

/// Returns an argument that is set.
fn set(argument: &str) -> Option<&str> {
    (argument != "-").then_some(argument)
}

/// Authenticates at the broker of that line.
fn authenticate(credentials: &Credentials, line: &str) -> Result<(), Box<dyn Error>> {
    let mut words = line.split_whitespace();
    let (Some(host), Some(port)) = (words.next(), words.next()) else {
        return Err("a line is HOST PORT [NAME] [unframed]".into());
    };
    let rest: Vec<&str> = words.collect();
    let unframed = rest.contains(&"unframed");
    let name = rest.iter().find(|word| **word != "unframed").unwrap_or(&host);
    let stream = TcpStream::connect((host, port.parse()?))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut exchange = credentials.mechanism(name, &mut Rng::from_entropy())?;
    let mut broker = Broker { stream, unframed };
    broker.handshake(credentials.mechanism_name())?;
    let mut token = exchange.start()?;
    loop {
        broker.send(token)?;
        if unframed && exchange.is_last_response() {
            return broker.check_open();
        }
        let challenge = broker
            .receive()
            .map_err(|e| format!("{e}: {}", exchange.refusal_advice().unwrap_or_default()))?;
        match exchange.step(&challenge)? {
            Step::Respond(next) => token = next,
            Step::Done => return Ok(()),
        }
    }
}

/// A connection to a broker.
struct Broker {
    stream: TcpStream,
    /// Tokens are sent with their length only.
    unframed: bool,
}

impl Broker {
    fn handshake(&mut self, mechanism: &str) -> Result<(), Box<dyn Error>> {
        let request = SaslHandshakeRequest {
            mechanism: mechanism.to_owned(),
            ..SaslHandshakeRequest::default()
        };
        let version = if self.unframed { 0 } else { 1 };
        self.request(&request, version)?;
        let response = self.response::<SaslHandshakeRequest>(version)?;
        match response.error_code {
            0 => Ok(()),
            code => Err(format!("SaslHandshake: error {code}, mechanisms {:?}", response.mechanisms).into()),
        }
    }

    fn send(&mut self, token: Vec<u8>) -> Result<(), Box<dyn Error>> {
        if self.unframed {
            self.stream.write_all(&u32::try_from(token.len())?.to_be_bytes())?;
            self.stream.write_all(&token)?;
            return Ok(());
        }
        let request = SaslAuthenticateRequest {
            auth_bytes: Bytes::from(token),
            ..SaslAuthenticateRequest::default()
        };
        self.request(&request, 1)
    }

    fn receive(&mut self) -> Result<Bytes, Box<dyn Error>> {
        if self.unframed {
            return self.frame();
        }
        let response = self.response::<SaslAuthenticateRequest>(1)?;
        match response.error_code {
            0 => Ok(response.auth_bytes),
            code => {
                let text = response.error_message.unwrap_or_default();
                Err(format!("SaslAuthenticate: error {code}: {text}").into())
            }
        }
    }

    /// Checks that the broker takes further requests: an unframed exchange ends without an answer.
    fn check_open(&mut self) -> Result<(), Box<dyn Error>> {
        let request = MetadataRequest::default();
        self.request(&request, 1)?;
        self.response::<MetadataRequest>(1)?;
        Ok(())
    }

    fn request<R: Request>(&mut self, request: &R, version: i16) -> Result<(), Box<dyn Error>> {
        let frame = encode_request(1, Some("kerberos"), request, version)?;
        self.stream.write_all(&frame.into_bytes())?;
        Ok(())
    }

    fn response<R: Request>(&mut self, version: i16) -> Result<R::Response, Box<dyn Error>> {
        Ok(decode_response::<R>(self.frame()?, version)?.1)
    }

    /// Returns a frame without its length.
    fn frame(&mut self) -> Result<Bytes, Box<dyn Error>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_be_bytes(length))?;
        if length > FRAME_MAX {
            return Err(format!("a frame of {length} bytes").into());
        }
        let mut frame = vec![0; length];
        self.stream.read_exact(&mut frame)?;
        Ok(frame.into())
    }
}
