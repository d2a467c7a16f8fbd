//! Free ports without a race. The port is bound here and stays bound, not listening, until the server has bound it too
//! (SO_REUSEPORT, which etcd and kube-apiserver can be told to use); the kernel gives it to nobody else in between.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tokio::net::TcpSocket;

/// The ports of a cluster, on 127.0.0.1.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Ports {
    pub(super) api: u16,
    pub(super) second_api: Option<u16>,
    pub(super) etcd: u16,
    pub(super) etcd_peer: u16,
}

/// A port of 127.0.0.1 that is kept free for one server.
#[derive(Debug)]
pub(super) struct HeldPort {
    socket: TcpSocket,
}

impl HeldPort {
    pub(super) fn find() -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).context("no free port on 127.0.0.1")?;
        Ok(Self { socket })
    }

    /// Keeps a port for a server that listens on it and is about to be taken away.
    pub(super) fn keep(number: u16) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, number));
        socket.bind(address).with_context(|| format!("cannot keep port {number}"))?;
        Ok(Self { socket })
    }

    pub(super) fn number(&self) -> Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[tokio::test]
    async fn held_ports_are_distinct_and_only_a_server_that_shares_can_bind_one() {
        let held: Vec<HeldPort> = (0..50).map(|_| HeldPort::find().unwrap()).collect();
        let numbers: BTreeSet<u16> = held.iter().map(|port| port.number().unwrap()).collect();
        assert_eq!(numbers.len(), held.len());

        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, held[0].number().unwrap()));
        assert!(TcpSocket::new_v4().unwrap().bind(address).is_err());
        let server = TcpSocket::new_v4().unwrap();
        server.set_reuseport(true).unwrap();
        server.bind(address).unwrap();
        let listener = server.listen(8).unwrap();
        // Held but not listening: every connection reaches the server.
        for _ in 0..20 {
            let (client, accepted) = tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
            client.unwrap();
            accepted.unwrap();
        }
    }
}
