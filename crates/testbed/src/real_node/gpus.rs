//! GPUs of a real node without hardware: a device plugin offers them to the kubelet, which counts, assigns and checks them as
//! it does with real ones.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::RealNode;
use super::boot::log_end;
use crate::process;
use crate::wait::eventually_within;

const REGISTERED_AT_MOST: Duration = Duration::from_secs(30);

impl RealNode {
    /// Offers this number of GPUs, `GPU-0` and on, as `nvidia.com/gpu`. The node must be Ready. After a power cut the GPUs are
    /// gone until they are offered again.
    pub async fn offer_gpus(&self, count: usize) -> Result<()> {
        let name = format!("gpus-{}", self.name);
        let log = self.cluster.join("logs").join(format!("{name}.log"));
        // The log is longer after every boot.
        let before = registrations(&log);
        let mut words = self.enter()?;
        let plugin =
            ["/run/programs/fakegpu", "/var/lib/kubelet/device-plugins", &count.to_string(), "/run/node/sick-gpus"];
        words.extend(plugin.map(str::to_owned));
        let process = process::launch(&name, Path::new("nsenter"), &words, &[], &self.cluster)?;
        let registered = eventually_within(REGISTERED_AT_MOST, "the device plugin to be registered", async || {
            ensure!(process.alive(), "the device plugin has ended");
            Ok(registrations(&log) > before)
        });
        registered.await.with_context(|| log_end(&log))
    }

    /// Makes exactly these GPUs sick, such as `GPU-3`. The kubelet sees it within seconds.
    pub fn set_sick_gpus(&self, names: &[&str]) -> Result<()> {
        let path = self.folder.join("sick-gpus");
        std::fs::write(&path, names.join(" ")).with_context(|| format!("cannot write {}", path.display()))
    }
}

fn registrations(log: &Path) -> usize {
    std::fs::read_to_string(log).unwrap_or_default().lines().filter(|line| *line == "registered").count()
}
