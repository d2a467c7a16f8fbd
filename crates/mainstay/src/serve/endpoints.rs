//! `/metrics` for Prometheus and `/healthz` for the kubelet. Both contain counts only, so they need no authentication.

use mainstay_kube::Gauges;
use mainstay_telemetry::listener::{self, Health, Process};
use mainstay_telemetry::metrics::Samples;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// The controller, as its endpoints show it.
#[derive(Clone)]
struct ControllerProcess(Gauges);

impl Process for ControllerProcess {
    async fn samples(&self) -> Option<Samples> {
        Some(self.0.samples())
    }

    async fn health(&self) -> Health {
        if self.0.is_stuck() { Health::Unhealthy("stuck: leader without decisions") } else { Health::Healthy }
    }
}

/// Serves the endpoints until the controller ends.
pub(super) async fn serve(listener: TcpListener, gauges: Gauges, mut ends: watch::Receiver<bool>) {
    let ended = async move {
        let _ = ends.wait_for(|ends| *ends).await;
    };
    listener::serve(listener, listener::routes().with_state(ControllerProcess(gauges)), ended).await;
}
