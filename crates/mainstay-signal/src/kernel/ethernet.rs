//! Network adapters of every driver: links, queues that stopped, resets, firmware commands and starts that failed. Lines
//! that only mlx5 prints are in `mlx5.rs`. Link lines have codes of their own here, because these adapters may serve
//! management only, and a node is not removed for its management link.
//!
//! The formats come from the kernel's `net/sched/sch_generic.c` and `drivers/net/ethernet` (broadcom `bnxt`, `tg3`; intel
//! `ice`, `i40e`, `iavf`, `igb`, `igc`, `ixgbe`, `e1000e`; amazon `ena`; mellanox `mlx4`; pensando `ionic`), and from
//! `drivers/infiniband/hw` (`efa`, `bnxt_re`, `irdma`).

use mainstay_model::Source;

use super::NIC_DRIVERS;
use super::device::DeviceLine;
use super::words::phrase;
use crate::scan::Cursor;
use crate::{InterfaceName, Place, Signal};

const WATCHDOG: &str = "netdev-watchdog";

/// Phrases of an adapter's driver, the most specific first.
const PHRASES: &[(&str, &str)] = &[
    ("NETDEV WATCHDOG: ", WATCHDOG),
    ("hw csum failure", "checksum-failure"),
    ("Link is Down", "carrier-down"),
    ("Link Down", "carrier-down"),
    ("Link is Up", "carrier-up"),
    ("Link Up", "carrier-up"),
    ("PCIe link lost", "adapter-lost"),
    ("Adapter removed", "adapter-lost"),
    ("device now detached", "adapter-lost"),
    ("PCI reads still not working", "pci-unavailable"),
    ("reset failed", "reset-failed"),
    ("Reset failed", "reset-failed"),
    ("Rebuild failed", "reset-failed"),
    ("Failed to reset", "reset-failed"),
    ("Can not reset", "reset-failed"),
    ("Firmware over ", "init-failed"),
    ("load_one failed", "init-failed"),
    ("load_one_devl_locked failed", "init-failed"),
    ("probe failed", "init-failed"),
    ("initialization failed", "init-failed"),
    ("Failed to init", "init-failed"),
    ("Failed to load ", "init-failed"),
    ("Tx Unit Hang", "tx-timeout"),
    ("TX timeout", "tx-timeout"),
    ("tx timeout", "tx-timeout"),
    ("tx_timeout", "tx-timeout"),
    ("transmit timed out", "tx-timeout"),
    ("lost tx completions", "tx-timeout"),
    ("wasn't completed on time", "tx-timeout"),
    ("Hung queue", "tx-timeout"),
    ("rxtx_empty_cond", "tx-timeout"),
    ("CQ error", "queue-error"),
    ("EQEs on ", "queue-error"),
    ("cqe with error", "queue-error"),
    ("error cqe", "queue-error"),
    ("fatal error", "health-issue"),
    ("Firmware fatal", "health-issue"),
    ("Fatal", "health-issue"),
    ("Firmware non-fatal", "health-issue"),
    ("firmware internal error", "health-issue"),
    ("Internal error detected", "health-issue"),
    ("fw_fatal", "health-issue"),
    ("enter_error_state", "health-issue"),
    ("FW watchdog", "health-issue"),
    ("eartbeat", "health-issue"),
    ("Hardware Error", "health-issue"),
    ("HW error", "health-issue"),
    ("Error recovery", "health-issue"),
    ("Malicious", "health-issue"),
    ("sw_reset", "adapter-reset"),
    ("Keep alive watchdog timeout", "adapter-reset"),
    ("Trigger reset", "adapter-reset"),
    ("Reset indication received", "adapter-reset"),
    ("Reset adapter", "adapter-reset"),
    ("resetting", "adapter-reset"),
    ("Resetting", "adapter-reset"),
    ("PF reset", "adapter-reset"),
    ("Global reset", "adapter-reset"),
    ("EMP reset", "adapter-reset"),
    ("initiating reset", "adapter-reset"),
    ("starting reset", "adapter-reset"),
    ("going to be reset", "adapter-reset"),
    ("No done completion", "command-stuck"),
    ("Error (timeout", "command-stuck"),
    ("command timeout", "command-stuck"),
    ("cmd timeout", "command-stuck"),
    ("ACCESS_REG", "register-denied"),
    ("hwrm req_type", "command-failed"),
    ("Failed to process command", "command-failed"),
    ("Failed to submit command", "command-failed"),
    ("op_mod(", "command-failed"),
    ("returned error -", "command-failed"),
    ("fw status = ", "command-failed"),
    ("Failed to allocate", "command-failed"),
    ("Failed to add ", "command-failed"),
    ("Failed to create", "command-failed"),
    ("Couldn't create", "command-failed"),
    ("Response Mad Status", "command-failed"),
    ("Failed to modify", "command-failed"),
    ("AQ error", "command-failed"),
    ("AdminQ", "command-failed"),
    ("aq_err", "command-failed"),
    ("status=-", "command-failed"),
];

/// Parses a line that begins with a driver and a PCI address.
pub(super) fn parse(line: &DeviceLine<'_>) -> Option<Signal> {
    // The queue watchdog names the driver of any adapter.
    let is_adapter = NIC_DRIVERS.contains(&line.driver) || line.text.starts_with("NETDEV WATCHDOG: ");
    let code = if is_adapter { phrase(line.text, PHRASES)? } else { return None };
    Signal::new(Source::Nic, code, line.place.clone(), "")
}

/// Parses lines that name an interface or an RDMA device and no PCI address.
pub(super) fn parse_bare(text: &str) -> Option<Signal> {
    watchdog(text).or_else(|| rdma(text)).or_else(|| platform(text)).or_else(|| link(text)).or_else(|| loose(text))
}

/// Parses `NETDEV WATCHDOG: ens1np0 (mlx5_core): transmit queue 3 timed out`, the format before Linux 6.8, which
/// names no device. Since then the line begins like every other line of the driver.
fn watchdog(text: &str) -> Option<Signal> {
    let mut line = Cursor::new(text);
    line.eat("NETDEV WATCHDOG: ")?;
    let name = interface(&mut line)?;
    line.eat(" (")?;
    line.until("): transmit queue ").filter(|driver| driver.len() <= 32)?;
    Signal::new(Source::Nic, WATCHDOG, Place::Interface(name), "")
}

/// Parses `infiniband efa_0: Failed to process command ALLOC_PD …`.
fn rdma(text: &str) -> Option<Signal> {
    let mut line = Cursor::new(text);
    line.eat("infiniband ")?;
    let name = interface(&mut line)?;
    line.eat(": ")?;
    Signal::new(Source::Nic, phrase(line.rest(), PHRASES)?, Place::Interface(name), "")
}

/// Parses the queue watchdog of an adapter that is not on the PCI bus: `mtk_soc_eth 1e100000.ethernet eth0: NETDEV …`.
fn platform(text: &str) -> Option<Signal> {
    let (head, said) = text.split_once(": NETDEV WATCHDOG: ")?;
    let mut words = head.split(' ');
    let (driver, device, name) = (words.next()?, words.next()?, words.next()?);
    // The kernel also prints `process 'FILE' started …`, and a tenant chooses the name of the file. A quote begins it.
    let is_device = is_plain(driver) && is_plain(device) && words.next().is_none();
    (is_device && head.len() <= 80 && said.contains(": transmit queue ")).then_some(())?;
    let name = interface(&mut Cursor::new(name))?;
    Signal::new(Source::Nic, WATCHDOG, Place::Interface(name), "")
}

/// Returns whether a name has only the signs of a driver or of a device that is not on the PCI bus.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Parses `mlx4_en: ens803: Link Down`, `mlx5_core ens1np0: Link down`, `igb: eth0 NIC Link is Down` and `bond0: (slave
/// eth0): link status definitely down, disabling slave`.
fn link(text: &str) -> Option<Signal> {
    let (head, said) = text.split_once(": ")?;
    let (driver, named) = head.split_once(' ').unwrap_or((head, ""));
    if NIC_DRIVERS.contains(&driver) {
        // The interface begins the text where it is not before it.
        let mut line = Cursor::new(if named.is_empty() { said } else { named });
        let name = interface(&mut line)?;
        let said = match (named.is_empty(), line.rest()) {
            (true, rest) => rest,
            (false, "") => said,
            (false, _) => return None,
        };
        // mlx5's own wording.
        let code = match said.trim_end() {
            "Link down" => "carrier-down",
            "Link up" => "carrier-up",
            said => phrase(said, PHRASES).filter(|code| code.starts_with("carrier-"))?,
        };
        return Signal::new(Source::Nic, code, Place::Interface(name), "");
    }
    if !is_plain(head) {
        return None;
    }
    let mut line = Cursor::new(said);
    line.eat("(slave ")?;
    let name = interface(&mut line)?;
    line.eat("): link status definitely down")?;
    Signal::new(Source::Nic, "carrier-down", Place::Interface(name), "")
}

/// Parses the few lines that name no driver: `(NULL net_device): hw csum failure`, `eth0: hw csum failure`, `tx_timeout:
/// VSI_seid: 402, …` and `mlx5_cmd_check:810:(pid 3110263): create_mkey(0x200) op_mod(0x0) failed, …`.
fn loose(text: &str) -> Option<Signal> {
    if text.starts_with("(NULL net_device): hw csum failure") {
        return Signal::new(Source::Nic, "checksum-failure", Place::Node, "");
    }
    if text.starts_with("tx_timeout: VSI_seid: ") {
        return Signal::new(Source::Nic, "tx-timeout", Place::Node, "");
    }
    let mut line = Cursor::new(text);
    if line.eat("<mlx4_ib> ").is_some() {
        return Signal::new(Source::Nic, phrase(line.rest(), PHRASES)?, Place::Node, "");
    }
    if line.eat("mlx5_cmd_").is_some() {
        let _function = line.until(":(pid ").filter(|function| function.len() <= 48)?;
        line.number()?;
        line.eat("): ")?;
        return Signal::new(Source::Nic, phrase(line.rest(), PHRASES)?, Place::Node, "");
    }
    let name = interface(&mut line)?;
    line.eat(": hw csum failure")?;
    Signal::new(Source::Nic, "checksum-failure", Place::Interface(name), "")
}

/// Parses a name of an interface: at most 15 bytes, without the signs that separate it from the text.
fn interface(line: &mut Cursor<'_>) -> Option<InterfaceName> {
    let name = line.run(|c| c.is_ascii_alphanumeric() || "_.-@".contains(c));
    (!name.is_empty() && name.len() <= InterfaceName::BYTES_MAX).then(|| InterfaceName::new(name))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("NETDEV WATCHDOG: eth0 (ethoc): transmit queue 0 timed out", "Nic netdev-watchdog eth0"),
        ("r8125 0000:28:04.0 eth4: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5010 ms", "Nic netdev-watchdog 0000:28:04.0"),
        ("mtk_soc_eth 1e100000.ethernet eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 4 timed out 190940 ms", "Nic netdev-watchdog eth0"),
        ("igb 0000:88:14.0 eth0: igb: eth0 NIC Link is Down", "Nic carrier-down 0000:88:14.0"),
        ("igc 0000:66:00.0 eth5: NIC Link is Up 100 Mbps Full Duplex, Flow Control: RX", "Nic carrier-up 0000:66:00.0"),
        ("mlx4_en: ens803: Link Down", "Nic carrier-down ens803"),
        ("mlx5_core ens1np0: Link down", "Nic carrier-down ens1np0"),
        ("tx_timeout: VSI_seid: 402, Q 29, NTC: 0x1cb, HWB: 0x1cb, NTU: 0x1f5, TAIL: 0x1f5, INT: 0x1", "Nic tx-timeout node"),
        ("<mlx4_ib> create_pv_sqp: Couldn't create special QP (-16)", "Nic command-failed node"),
        ("bond0: (slave eth1): link status definitely down, disabling slave", "Nic carrier-down eth1"),
        ("infiniband efa_0: Failed to process command ALLOC_PD (opcode 14) comp_status 1 err -12", "Nic command-failed efa_0"),
        ("ena 0000:dd:05.0 eth0: The number of lost tx completions is above the threshold (248 > 128). Reset the device", "Nic tx-timeout 0000:dd:05.0"),
        ("ena 0000:dd:05.0 eth0: Trigger reset is on", "Nic adapter-reset 0000:dd:05.0"),
        ("iavf 0000:37:01.1: PF returned error -5 (IAVF_ERR_PARAM) to our request 3", "Nic command-failed 0000:37:01.1"),
        ("ice 0000:37:00.0: Rebuild failed, unload and reload driver", "Nic reset-failed 0000:37:00.0"),
        ("bnxt_en 0000:37:00.0 ens1f0np0: Error (timeout: 500015) msg {0x41 0x5e5} len:0", "Nic command-stuck 0000:37:00.0"),
        ("bnxt_en 0000:37:00.0: Firmware fatal reset event, data1: 0x1, data2: 0x0", "Nic health-issue 0000:37:00.0"),
        ("igb 0000:88:14.0 eth0: PCIe link lost, device now detached", "Nic adapter-lost 0000:88:14.0"),
        ("ixgbe 0000:88:00.0 eth0: Detected Tx Unit Hang", "Nic tx-timeout 0000:88:00.0"),
        ("mlx4_core 0000:be:00.0: command 0x5a failed: fw status = 0x2", "Nic command-failed 0000:be:00.0"),
        ("mlx5_core 0000:70:00.0: wait_func_handle_exec_timeout:1104:(pid 1663907): cmd[22]: CREATE_DCT(0x710) No done completion", "Nic command-stuck 0000:70:00.0"),
        ("mlx5_core 0000:82:00.0: mlx5_cmd_check:795:(pid 3914136): RTR2RTS_QP(0x504) op_mod(0x0) failed, status bad parameter(0x3)", "Nic command-failed 0000:82:00.0"),
        ("mlx5_cmd_check:810:(pid 3110263): create_mkey(0x200) op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x35e6ec)", "Nic command-failed node"),
        ("mlx5_core 0000:a9:00.0: mlx5_cmd_out_err:838:(pid 3875639): ACCESS_REG(0x805) op_mod(0x1) failed", "Nic register-denied 0000:a9:00.0"),
        ("mlx5_core 0000:3c:00.0: cq_err_event_notifier:529:(pid 2695549): CQ error on CQN 0x406, syndrome 0x1", "Nic queue-error 0000:3c:00.0"),
        ("mlx5_core 0000:8f:00.0: mlx5_function_setup:1236:(pid 534581): Firmware over 120000 MS in pre-initializing state, aborting", "Nic init-failed 0000:8f:00.0"),
        ("mlx5_core 0000:3c:00.1: mlx5_health_try_recover:338:(pid 1798556): health recovery flow aborted, PCI reads still not working", "Nic pci-unavailable 0000:3c:00.1"),
        ("(NULL net_device): hw csum failure", "Nic checksum-failure node"),
    ];

    #[test]
    fn every_driver_is_read_alike() {
        says(LINES);
    }

    #[test]
    fn normal_lines_of_adapters_are_left_alone() {
        nothing(&[
            "r8169 0000:0a:00.0 eth0: RTL8125B, 02:c4:e5:b1:f5:e3, XID 641, IRQ 158",
            "efa 0000:31:00.0: Setup irq:1861 name:efa-mgmnt@pci:0000:31:00.0",
            "mlx5_core 0000:7a:00.0: firmware version: 14.32.1010",
            "mlx5_core ens1np0 more: Link down",
            "<mlx4_ib> mlx4_ib_add: mlx4_ib: Mellanox ConnectX InfiniBand driver v4.0-0",
            "mlx4_en 0000:bc:00.0: UDP RSS is not supported on this device",
            "IPv6: ADDRCONF(NETDEV_UP): ens803: link is not ready",
            "usb 1-1: NIC Link is Down",
            "process 'a b: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out' started with executable stack",
            "process 'a: (slave eth1): link status definitely down' started with executable stack",
        ]);
    }
}
