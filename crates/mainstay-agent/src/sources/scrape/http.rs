//! One plain `GET` to a neighbour on the node: HTTP/1.0, so that the answer comes in one piece and ends with the
//! connection. No TLS: exporters on the same node speak without, and what they say crosses no network.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use crate::settings::Endpoint;

/// An exporter of 16 GPUs with every field and MIG instance says less than 2 MB.
const BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Exporters answer from memory; one that reads its devices first takes seconds.
const LIMIT: Duration = Duration::from_secs(5);

/// The body of the answer. A name that has to be looked up may take longer than the limit; the watchdog sees that.
pub(super) fn get(endpoint: &Endpoint) -> io::Result<String> {
    let end = Instant::now() + LIMIT;
    let address = endpoint.host.to_socket_addrs()?.next().ok_or_else(|| io::Error::other("the host has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_write_timeout(Some(LIMIT))?;
    let Endpoint { host, path } = endpoint;
    let agent = concat!("mainstay-agent/", env!("CARGO_PKG_VERSION"));
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: {agent}\r\nAccept: text/plain\r\n\r\n");
    // In one piece: some servers take the first for the whole.
    stream.write_all(request.as_bytes())?;
    let answer = read_all(&mut stream, end)?;
    body(&answer).map(str::to_owned)
}

/// Everything until the other side closes, within the bounds of size and time.
fn read_all(stream: &mut TcpStream, end: Instant) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the answer takes too long"));
        }
        stream.set_read_timeout(Some(left))?;
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > BYTES_MAX {
            return Err(io::Error::other("the answer is too long"));
        }
    }
}

pub(super) fn body(answer: &str) -> io::Result<&str> {
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| io::Error::other("no HTTP answer"))?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status != "200" {
        return Err(io::Error::other(format!("the answer is {status}")));
    }
    // Nobody may send this to HTTP/1.0; who does cannot be read here.
    if head.to_ascii_lowercase().contains("\ntransfer-encoding: chunked") {
        return Err(io::Error::other("the answer comes in chunks"));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn served(answer: &'static str) -> io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint: Endpoint = format!("http://{}/m", listener.local_addr().unwrap()).parse().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let bytes = stream.read(&mut request).unwrap();
            assert!(request[..bytes].starts_with(b"GET /m HTTP/1.0\r\n"));
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let got = get(&endpoint);
        server.join().unwrap();
        got
    }

    #[test]
    fn an_answer_is_its_body() {
        assert_eq!(served("HTTP/1.0 200 OK\r\nA: b\r\n\r\nup 1\n").unwrap(), "up 1\n");
        assert!(served("HTTP/1.0 503 No\r\n\r\nup 1\n").is_err());
        assert!(served("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nup 1\r\n").is_err());
        assert!(served("").is_err());
    }
}
