//! An HTTP server for tests, which answers requests by a script and keeps them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The answer to one request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A complete answer with status, content type and body.
    Full(u16, &'static str, String),
    /// These bytes, and the end of the connection.
    Raw(Vec<u8>),
    /// One byte of an endless body in each interval.
    Drip(Duration),
    /// No answer until the client closes the connection.
    Silence,
    /// A tunnel to this address, after the answer 200 to CONNECT.
    Tunnel(String),
}

impl Answer {
    pub(crate) fn json(body: impl Into<String>) -> Self {
        Answer::Full(200, "application/json", body.into())
    }

    pub(crate) fn error(status: u16, body: &str) -> Self {
        Answer::Full(status, "application/json", body.to_owned())
    }
}

/// A request as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Method, path and version.
    pub(crate) line: String,
    /// Header fields with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the decoded fields of the form.
    pub(crate) fn form(&self) -> Vec<(String, String)> {
        assert_eq!(self.header("content-type"), Some("application/x-www-form-urlencoded"));
        let pairs = self.body.split('&').map(|pair| pair.split_once('=').unwrap());
        pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
    }
}

/// Decodes a text of a form, independently of the encoder under test.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
                rest = &after[2..];
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// The certificates of HTTPS servers: a CA, and a leaf for `localhost`.
pub(crate) struct Pki {
    pub(crate) ca_pem: String,
    config: Arc<ServerConfig>,
}

impl Pki {
    pub(crate) fn new(name: &str) -> Self {
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.distinguished_name.push(rcgen::DnType::CommonName, "Test CA");
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &ca).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        Pki {
            ca_pem: ca.pem(),
            config: Arc::new(config),
        }
    }
}

/// A server. It ends with the test.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) requests: Receiver<Received>,
    scheme: &'static str,
}

impl Server {
    /// Starts a server with the answers to its requests; the last one is repeated.
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        Server::with_tls(answers, None)
    }

    pub(crate) fn with_tls(answers: Vec<Answer>, pki: Option<&Pki>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = mpsc::channel();
        let config = pki.map(|pki| pki.config.clone());
        let scheme = if pki.is_some() { "https" } else { "http" };
        let answers = Arc::new(Mutex::new(answers));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (sender, config, answers) = (sender.clone(), config.clone(), answers.clone());
                thread::spawn(move || {
                    let socket = stream.unwrap();
                    let tcp = socket.try_clone().unwrap();
                    let mut stream: Box<dyn Stream> = match config {
                        None => Box::new(socket),
                        Some(config) => Box::new(StreamOwned::new(ServerConnection::new(config).unwrap(), socket)),
                    };
                    // A client that refuses the certificate sends no request.
                    let Some(request) = receive(&mut *stream) else { return };
                    // The test may have ended.
                    let _ = sender.send(request);
                    let answer = {
                        let mut answers = answers.lock().unwrap();
                        if answers.len() > 1 {
                            answers.remove(0)
                        } else {
                            answers[0].clone()
                        }
                    };
                    respond(stream, &tcp, answer);
                });
            }
        });
        Server { port, requests, scheme }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://localhost:{}{path}", self.scheme, self.port)
    }

    /// Returns the next request.
    pub(crate) fn request(&self) -> Received {
        self.requests.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    /// Returns the number of further requests.
    pub(crate) fn further(&self) -> usize {
        self.requests.try_iter().count()
    }
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

fn receive(stream: &mut dyn Stream) -> Option<Received> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let len = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; len.map_or(0, |(_, len)| len.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    Some(Received {
        line,
        headers,
        body: String::from_utf8(body).unwrap(),
    })
}

fn respond(mut stream: Box<dyn Stream>, tcp: &TcpStream, answer: Answer) {
    match answer {
        Answer::Full(status, content_type, body) => {
            let head = format!(
                "HTTP/1.1 {status} Whatever\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            // The client may refuse the answer before its end.
            let _ = stream.write_all((head + &body).as_bytes());
            let _ = stream.flush();
        }
        Answer::Raw(bytes) => {
            let _ = stream.write_all(&bytes);
            let _ = stream.flush();
            let _ = tcp.shutdown(Shutdown::Write);
        }
        Answer::Drip(interval) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            while stream.write_all(b" ").and_then(|()| stream.flush()).is_ok() {
                thread::sleep(interval);
            }
        }
        Answer::Silence => {
            let _ = stream.read(&mut [0]);
        }
        Answer::Tunnel(target) => {
            let _ = stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n");
            let other = TcpStream::connect(target).unwrap();
            let (mut from_client, mut to_target) = (tcp.try_clone().unwrap(), other.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from_client, &mut to_target));
            let _ = std::io::copy(&mut &other, &mut &*tcp);
        }
    }
}
