//! Exporters of other programs, by scrape: the DCGM exporter in its own words, node-problem-detector in its own, and any
//! counter that a person gives a code. Bounded in size and time; what is not known is passed over.

mod http;
mod prometheus;

use std::collections::BTreeMap;

use mainstay_model::{Code, PciAddress};
use mainstay_signal::{Flag, Load, Memory, Place, Reading};

use prometheus::Sample;

use super::{PollResult, SourceError};
use crate::settings::{CounterMapping, ENDPOINTS_MAX, Endpoint};

/// How many codes other programs may bring in. A report has room for 48 pieces of evidence in all.
const CODES_MAX: usize = 32;

/// DCGM's word for "not known": 2^63 less 14 (`DCGM_INT64_BLANK` is 0x7ffffffffffffff0, and others stand beside it).
const BLANK_MIN: f64 = 9.223_372_036_854_774e18;

/// What is asked, and what is made of it.
#[derive(Debug)]
pub struct Scraper {
    endpoints: Vec<Endpoint>,
    counters: Vec<CounterMapping>,
}

// === impl Scraper ===

impl Scraper {
    /// Of these exporters, and these counters besides what is known.
    #[must_use]
    pub fn new(mut endpoints: Vec<Endpoint>, counters: Vec<CounterMapping>) -> Self {
        endpoints.truncate(ENDPOINTS_MAX);
        Self { endpoints, counters }
    }

    /// Asks every exporter once.
    #[must_use]
    pub fn look(&self) -> PollResult {
        let mut round = PollResult::default();
        let mut totals: BTreeMap<Code, u64> = BTreeMap::new();
        let mut silent = Vec::new();
        for endpoint in &self.endpoints {
            match http::get(endpoint) {
                Ok(text) => self.read(&text, &mut round, &mut totals),
                Err(error) => silent.push(format!("{endpoint}: {error}")),
            }
        }
        round.external = totals.into_iter().collect();
        let all = silent.len() == self.endpoints.len();
        round.trouble = (!silent.is_empty()).then(|| SourceError { what: silent.join("; "), unavailable: all });
        round
    }

    /// What one exporter's answer says.
    pub(crate) fn parse(&self, answer: &str) -> PollResult {
        let (mut round, mut totals) = (PollResult::default(), BTreeMap::new());
        self.read(http::body(answer).unwrap_or(answer), &mut round, &mut totals);
        round.external = totals.into_iter().collect();
        round
    }

    fn read(&self, text: &str, round: &mut PollResult, totals: &mut BTreeMap<Code, u64>) {
        for sample in text.lines().filter_map(Sample::parse) {
            if let Some(address) = sample.label("pci_bus_id").and_then(pci) {
                dcgm(&sample, &address, round);
            }
            let code = match sample.name {
                // node-problem-detector counts its findings by reason.
                "problem_counter" => sample.label("reason").and_then(|reason| Code::parse(reason).ok()),
                name => self.counters.iter().find(|counter| counter.metric == name).map(|known| known.code.clone()),
            };
            if let (Some(code), Some(total)) = (code, whole(sample.value))
                && (totals.contains_key(&code) || totals.len() < CODES_MAX)
            {
                let sum = totals.entry(code).or_default();
                *sum = sum.saturating_add(total);
            }
        }
    }
}

/// What the DCGM exporter says of one GPU, where NVML says the same. `DCGM_FI_DEV_XID_ERRORS` is left alone: it is the last
/// XID, again and again, and the kernel log has each of them.
fn dcgm(sample: &Sample<'_>, address: &PciAddress, round: &mut PollResult) {
    let Some(value) = whole(sample.value) else { return };
    let flag = if value > 0 { Flag::Set } else { Flag::Clear };
    let reading = match sample.name {
        "DCGM_FI_DEV_GPU_UTIL" => {
            let load = if value > 0 { Load::Busy } else { Load::Idle };
            return round.loads.push((address.clone(), load));
        }
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" => Reading::EccUncorrected(Memory::Dram, value),
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL" => Reading::EccCorrected(Memory::Dram, value),
        "DCGM_FI_DEV_ROW_REMAP_FAILURE" => Reading::RemapFailed(flag),
        "DCGM_FI_DEV_ROW_REMAP_PENDING" => Reading::RemapPending(flag),
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER" => Reading::PcieReplays(value),
        _ => return,
    };
    round.readings.push((Place::Pci(address.clone()), reading));
}

fn pci(text: &str) -> Option<PciAddress> {
    match Place::pci_or_node(text) {
        Place::Pci(address) => Some(address),
        Place::Interface(_) | Place::NvSwitch(_) | Place::Node => None,
    }
}

/// A count. Exporters write floats; what is none of ours to read (blank, negative, not a number) is nothing.
fn whole(value: f64) -> Option<u64> {
    let is_count = (0.0..BLANK_MIN).contains(&value);
    // Within these bounds the text of the whole part is a number of at most nineteen digits.
    is_count.then(|| format!("{:.0}", value.floor()).parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
