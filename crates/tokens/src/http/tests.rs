use std::time::Duration;

use super::*;
use crate::test_folder::Folder;
use crate::test_server::{Answer, Pki, Server};

fn client(trust: HttpsTrust, variables: &[(&str, &str)]) -> HttpClient {
    HttpClient::new(trust, Environment::of(variables))
}

fn get(client: &HttpClient, url: &str, limit: Duration) -> Result<Response, HttpError> {
    let url = Url::parse(url).unwrap();
    let request = Request {
        method: "GET",
        url: &url,
        headers: &[("metadata", "true")],
        body: b"",
    };
    client.send(&request, Deadline::after(limit))
}

/// Returns the error of an answer, for which there are 700 ms if it does not end.
fn problem(answer: Answer) -> String {
    let limit = match answer {
        Answer::Silence | Answer::Drip(_) => Duration::from_millis(700),
        _ => SECONDS,
    };
    let server = Server::start(vec![answer]);
    let client = client(HttpsTrust::default(), &[]);
    let result = get(&client, &server.url("/"), limit);
    result.err().expect("an error").text().to_owned()
}

fn trust(pem: &str) -> HttpsTrust {
    HttpsTrust {
        ca_pem: Some(pem.to_owned()),
        ca_location: None,
    }
}

const SECONDS: Duration = Duration::from_secs(10);

#[test]
fn an_answer_of_any_status_is_returned() {
    for status in [200, 204, 302, 404, 500, 599] {
        let server = Server::start(vec![Answer::Full(status, "Text/Plain; charset=UTF-8", "x".to_owned())]);
        let answer = get(&client(HttpsTrust::default(), &[]), &server.url("/a?b=c"), SECONDS).unwrap();
        assert_eq!((answer.status, answer.content_type.as_str()), (status, "text/plain"));
        let request = server.request();
        assert_eq!(request.line, "GET /a?b=c HTTP/1.1");
        assert_eq!(request.header("metadata"), Some("true"));
        assert!(request.header("user-agent").unwrap().starts_with("ottla/"));
        assert_eq!(server.further(), 0, "redirects are not followed, failures not repeated");
    }
}

#[test]
fn answers_that_do_not_end_are_limited_by_the_deadline() {
    assert_eq!(problem(Answer::Silence), "no answer within 0 s");
    assert_eq!(problem(Answer::Drip(Duration::from_millis(50))), "no answer within 0 s");
}

#[test]
fn damaged_answers_are_errors() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let cut = format!("{head}content-length: 10\r\n\r\n{{}}");
    for (bytes, text) in [
        (cut.as_bytes(), "closed the connection before the answer was complete"),
        (b"HTTP/1.1 200 OK\r\n", ""),
        (b"", ""),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", ""),
    ] {
        let problem = problem(Answer::Raw(bytes.to_vec()));
        assert!(!problem.is_empty() && problem.contains(text), "{problem}");
        assert!(!problem.contains('\n'));
    }
}

#[test]
fn large_answers_are_refused() {
    let body = "x".repeat(BODY_MAX + 1);
    let full = problem(Answer::Full(200, "application/json", body.clone()));
    assert_eq!(full, format!("the answer has more than {BODY_MAX} bytes"));
    let chunk = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}",
        body.len()
    );
    assert!(problem(Answer::Raw(chunk.into_bytes())).contains("more than"));
    let header = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(HEADER_MAX));
    let header = problem(Answer::Raw(header.into_bytes()));
    assert!(header.contains("header has more than"), "{header}");
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let client = client(HttpsTrust::default(), &[]);
    let error = get(&client, &format!("http://127.0.0.1:{port}/"), SECONDS)
        .err()
        .unwrap();
    assert!(error.text().contains("Connection refused"), "{error:?}");
    // The texts for unknown names are the system's; without a network the look-up may last longer.
    let error = get(&client, "http://name.invalid/", SECONDS).err().unwrap();
    assert!(!error.text().is_empty() && !error.text().contains('\n'), "{error:?}");
}

#[test]
fn https_is_verified_by_the_configured_ca() {
    let pki = Pki::new("localhost");
    let server = Server::with_tls(vec![Answer::json("{}")], Some(&pki));
    let answer = get(&client(trust(&pki.ca_pem), &[]), &server.url("/"), SECONDS).unwrap();
    assert_eq!(answer.body.as_slice(), b"{}");
    server.request();

    let other = Pki::new("localhost");
    let error = get(&client(trust(&other.ca_pem), &[]), &server.url("/"), SECONDS)
        .err()
        .unwrap();
    let text = error.text();
    assert!(
        text.starts_with("SSL handshake failed: certificate verify failed: the server's certificate"),
        "{text}"
    );
    assert!(text.contains("1 trusted CA certificate from https.ca.pem"), "{text}");
    assert!(text.ends_with("check https.ca.location or https.ca.pem"), "{text}");
    assert_eq!(server.further(), 0, "no request before the certificate is verified");
}

#[test]
fn https_of_another_host_is_refused() {
    let pki = Pki::new("elsewhere.example");
    let server = Server::with_tls(vec![Answer::json("{}")], Some(&pki));
    let error = get(&client(trust(&pki.ca_pem), &[]), &server.url("/"), SECONDS)
        .err()
        .unwrap();
    let text = error.text();
    assert!(
        text.contains("elsewhere.example") && text.contains("name wanted: localhost"),
        "{text}"
    );
    assert!(text.ends_with("check sasl.oauthbearer.token.endpoint.url"), "{text}");
}

#[test]
fn https_to_a_server_without_tls_is_an_error() {
    let pki = Pki::new("localhost");
    let server = Server::start(vec![Answer::json("{}")]);
    let url = server.url("/").replace("http:", "https:");
    // The server waits for the end of a request's header, and the client for an answer.
    let error = get(&client(trust(&pki.ca_pem), &[]), &url, Duration::from_millis(500))
        .err()
        .unwrap();
    assert!(error.text().contains("no answer"), "{error:?}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        use std::io::Write as _;
        let _ = listener
            .accept()
            .unwrap()
            .0
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = get(&client(trust(&pki.ca_pem), &[]), &url, SECONDS).err().unwrap();
    assert!(error.text().contains("does not speak TLS"), "{error:?}");
}

#[test]
fn a_truncated_answer_over_tls_is_an_error() {
    let pki = Pki::new("localhost");
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n{}".to_vec();
    let server = Server::with_tls(vec![Answer::Raw(head)], Some(&pki));
    let error = get(&client(trust(&pki.ca_pem), &[]), &server.url("/"), SECONDS)
        .err()
        .unwrap();
    assert!(error.text().contains("before the answer was complete"), "{error:?}");
}

#[test]
fn trusted_certificates_come_from_file_or_directory() {
    let pki = Pki::new("localhost");
    let folder = Folder::new("trust");
    let file = folder.write("ca.pem", &pki.ca_pem);
    let server = Server::with_tls(vec![Answer::json("{}")], Some(&pki));
    for location in [folder.path(), file] {
        let trust = HttpsTrust {
            ca_location: Some(location),
            ca_pem: None,
        };
        assert_eq!(trust.check().unwrap(), Vec::<String>::new());
        get(&client(trust, &[]), &server.url("/"), SECONDS).unwrap();
    }
}

#[test]
fn trust_that_cannot_be_used_names_the_property() {
    let of = |location: Option<&str>, pem: Option<&str>| {
        let trust = HttpsTrust {
            ca_location: location.map(str::to_owned),
            ca_pem: pem.map(str::to_owned),
        };
        trust.check().unwrap_err().0
    };
    let missing = of(Some("/nowhere"), None);
    assert!(
        missing.starts_with("Invalid https.ca.location: /nowhere: No such file"),
        "{missing}"
    );
    let empty = of(None, Some("nothing"));
    assert!(empty.starts_with("Invalid https.ca.pem: "), "{empty}");
    let both = of(Some("probe"), Some("x"));
    assert_eq!(both, "Invalid https.ca.location: not together with https.ca.pem");
    HttpsTrust::default().check().unwrap();
}

#[test]
fn https_goes_through_the_proxy_by_a_tunnel() {
    let pki = Pki::new("localhost");
    let server = Server::with_tls(vec![Answer::json("{}")], Some(&pki));
    let proxy = Server::start(vec![Answer::Tunnel(format!("127.0.0.1:{}", server.port))]);
    let value = format!("http://user:pass@127.0.0.1:{}", proxy.port);
    let variables = [("https_proxy", value.as_str())];
    get(&client(trust(&pki.ca_pem), &variables), &server.url("/"), SECONDS).unwrap();
    let request = proxy.request();
    assert_eq!(request.line, format!("CONNECT localhost:{} HTTP/1.1", server.port));
    assert_eq!(request.header("proxy-authorization"), Some("Basic dXNlcjpwYXNz"));
    server.request();

    let variables = [("https_proxy", value.as_str()), ("no_proxy", "localhost")];
    get(&client(trust(&pki.ca_pem), &variables), &server.url("/"), SECONDS).unwrap();
    assert_eq!(proxy.further(), 0);
    let without = HttpClient::without_proxy(trust(&pki.ca_pem));
    get(&without, &server.url("/"), SECONDS).unwrap();
}

#[test]
fn a_proxy_that_refuses_is_named_without_credentials() {
    let proxy = Server::start(vec![Answer::Full(407, "text/plain", String::new())]);
    let value = format!("http://user:hidden@127.0.0.1:{}", proxy.port);
    let client = client(HttpsTrust::default(), &[("http_proxy", &value)]);
    let error = get(&client, "http://name.invalid/", SECONDS).err().unwrap();
    let text = error.text();
    assert!(
        text.contains("407") && text.contains("http_proxy=http://***@127.0.0.1"),
        "{text}"
    );
    assert!(!text.contains("hidden"), "{text}");
}
