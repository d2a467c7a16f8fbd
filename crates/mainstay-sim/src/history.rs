//! The kernel logs of a fleet over its days, with the truth kept apart: what a reader of old logs has, and what it is held
//! against. How lines look in a file (times, hosts, formats) is for whoever writes them.

use mainstay_model::{NodeName, PciAddress, Serial, Timestamp};

use crate::FaultClass;
use crate::fleet;

/// What the logs of a fleet hold, and what was true.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Every line of every node, in the order of time.
    pub lines: Vec<KernelLogLine>,
    /// Every fault that began, passing ones included.
    pub faults: Vec<TrueFault>,
    /// Lines with nothing behind them: the node, and when.
    pub alarms: Vec<(NodeName, Timestamp)>,
    /// What people worked on: a ticket each.
    pub tickets: Vec<TrueTicket>,
    /// Nodes that fail many times as often as others, in truth.
    pub lemons: Vec<NodeName>,
    /// All nodes.
    pub nodes: Vec<NodeLocation>,
}

/// A node with its rack, leaf and number of GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLocation {
    /// Its name.
    pub node: NodeName,
    /// Its rack.
    pub rack: String,
    /// Its leaf.
    pub leaf: String,
    /// How many GPUs it has.
    pub gpus: u32,
}

/// One kernel log line with its node, boot and affected part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelLogLine {
    /// When.
    pub at: Timestamp,
    /// By which node.
    pub node: NodeName,
    /// In which boot of it, counted from 1.
    pub boot: u32,
    /// When that boot began.
    pub booted_at: Timestamp,
    /// The kernel's or the driver's words.
    pub text: String,
    /// The part that it is about; none of lines that are no evidence.
    pub about: Option<(PciAddress, Serial)>,
}

/// A fault as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrueFault {
    /// When it began.
    pub at: Timestamp,
    /// On which node.
    pub node: NodeName,
    /// What it was.
    pub class: FaultClass,
    /// When the kernel first printed it; never where absent.
    pub printed_at: Option<Timestamp>,
    /// The lines of it, and the part that they are about.
    pub said: Vec<String>,
    /// The part.
    pub about: Option<(PciAddress, Serial)>,
    key: u64,
}

/// A visit of people to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrueTicket {
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When the repair was done; open at the end where absent.
    pub closed_at: Option<Timestamp>,
    /// About which node.
    pub node: NodeName,
    /// What was wrong when it was opened: indices into the faults.
    pub faults: Vec<usize>,
}

/// What a driver version prints when it is loaded.
const DRIVER_LOADED: &str = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build";
const LINUX: &str = "Linux version 6.8.0-48-generic (buildd@lcy02-amd64-010) (gcc 13.2.0) #48-Ubuntu SMP";

/// Collects kernel log lines and the true faults while a world runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct HistoryRecorder {
    history: History,
    /// Per node: its boot, since when, and the GPUs that the driver has named in it.
    boots: Vec<(u32, Timestamp, Vec<u32>)>,
}

impl HistoryRecorder {
    /// Creates a recorder of a fleet in which every machine begins its first boot.
    pub(crate) fn new(nodes: u32) -> Self {
        let mut recorder = Self::default();
        (0..nodes).for_each(|node| recorder.boots(node, 1, Timestamp(0)));
        recorder
    }

    /// Returns the log lines, faults, alarms and tickets so far. Nodes and lemons are not recorded and stay empty.
    pub(crate) fn into_history(self) -> History {
        self.history
    }

    /// A machine begins a boot.
    pub(crate) fn boots(&mut self, node: u32, boot: u32, at: Timestamp) {
        let place = node as usize;
        if self.boots.len() <= place {
            self.boots.resize(place + 1, (0, at, Vec::new()));
        }
        if let Some(entry) = self.boots.get_mut(place) {
            *entry = (boot, at, Vec::new());
        }
        for text in [LINUX, DRIVER_LOADED] {
            self.line(node, at, text.to_owned(), None);
        }
    }

    /// A machine prints the lines of a fault, about a part of it.
    pub(crate) fn prints(&mut self, node: u32, at: Timestamp, lines: &[String], gpu: (u32, &Gpu<'_>), nic: &Serial) {
        let (number, gpu) = gpu;
        for line in lines {
            let about = if line.starts_with("mlx5_core") {
                place_of(line.split_whitespace().nth(1).unwrap_or_default()).map(|place| (place, nic.clone()))
            } else {
                place_of(&format!("{}.0", gpu.place)).map(|place| (place, gpu.serial.clone()))
            };
            let is_named = self.boots.get(node as usize).is_some_and(|(_, _, named)| named.contains(&number));
            if line.contains("NVRM: Xid") && !is_named {
                if let Some((_, _, named)) = self.boots.get_mut(node as usize) {
                    named.push(number);
                }
                self.line(node, at, format!("NVRM: GPU at PCI:{}: {}", gpu.place, gpu.uuid), None);
                self.line(node, at, format!("NVRM: GPU Board Serial Number: {}", gpu.serial), None);
            }
            self.line(node, at, line.clone(), about);
        }
    }

    /// A port of an adapter is up again.
    pub(crate) fn comes_back(&mut self, node: u32, at: Timestamp, nic: &str) {
        let (name, place) = (fleet::name(node), place_of(nic));
        let own = self.history.lines.iter().rev().filter(|line| line.node == name);
        let about = own.filter_map(|line| line.about.as_ref()).find(|(at, _)| Some(at) == place.as_ref()).cloned();
        if about.is_some() {
            self.line(node, at, format!("mlx5_core {nic} ens1np0: Link up"), about);
        }
    }

    fn line(&mut self, node: u32, at: Timestamp, text: String, about: Option<(PciAddress, Serial)>) {
        let Some((boot, booted_at, _)) = self.boots.get(node as usize).cloned() else { return };
        self.history.lines.push(KernelLogLine { at, node: fleet::name(node), boot, booted_at, text, about });
    }

    pub(crate) fn begins(&mut self, node: u32, at: Timestamp, class: FaultClass, key: u64) {
        let node = fleet::name(node);
        let fault = TrueFault { at, node, class, printed_at: None, said: Vec::new(), about: None, key };
        self.history.faults.push(fault);
    }

    /// A fault is printed, for the first time or again.
    pub(crate) fn shows(&mut self, node: u32, at: Timestamp, key: u64) {
        let name = fleet::name(node);
        let said: Vec<&KernelLogLine> = self
            .history
            .lines
            .iter()
            .rev()
            .take_while(|line| line.at == at && line.node == name)
            .filter(|line| line.about.is_some())
            .collect();
        let about = said.first().and_then(|line| line.about.clone());
        let said: Vec<String> = said.iter().rev().map(|line| line.text.clone()).collect();
        let mut faults = self.history.faults.iter_mut().rev();
        if let Some(fault) = faults.find(|fault| fault.key == key && fault.node == name)
            && fault.printed_at.is_none()
            && !said.is_empty()
        {
            (fault.printed_at, fault.said, fault.about) = (Some(at), said, about);
        }
    }

    pub(crate) fn alarms(&mut self, node: u32, at: Timestamp) {
        self.history.alarms.push((fleet::name(node), at));
    }

    /// People take up a node, with these faults on it.
    pub(crate) fn ticket(&mut self, node: u32, at: Timestamp, keys: &[u64]) {
        let name = fleet::name(node);
        let is_there = |fault: &TrueFault| fault.node == name && keys.contains(&fault.key);
        let faults = (0..).zip(&self.history.faults).filter(|(_, fault)| is_there(fault)).map(|(at, _)| at).collect();
        self.history.tickets.push(TrueTicket { opened_at: at, closed_at: None, node: name, faults });
    }

    pub(crate) fn closes(&mut self, node: u32, at: Timestamp) {
        let name = fleet::name(node);
        let open = |ticket: &&mut TrueTicket| ticket.node == name && ticket.closed_at.is_none();
        if let Some(ticket) = self.history.tickets.iter_mut().rev().find(open) {
            ticket.closed_at = Some(at);
        }
    }
}

/// A GPU as the driver names it.
pub(crate) struct Gpu<'a> {
    pub(crate) place: &'a str,
    pub(crate) uuid: String,
    pub(crate) serial: Serial,
}

fn place_of(text: &str) -> Option<PciAddress> {
    PciAddress::parse(text.trim_end_matches(':')).ok()
}
