//! Proofs of who is called a lemon, against the simulator's truth. Figures of our own failure model, in which everything
//! that is wrong with a lemon comes that much more often, flaps of its links included; about nothing else.

use anyhow::ensure;
use mainstay_sim::{Lemons, Options, Rates, run};
use tokio::sync::OnceCell;

use super::parallel::parallel_map;
use crate::prove::{Context, Measurement, Proof};

const GPUS: u32 = 32_768;
const DAYS: u32 = 180;

/// Other seeds than those that the weights were chosen with, which are 1 to 6.
const SEEDS: std::ops::Range<u64> = 101..105;

/// Fewer lemons would make the share a matter of luck.
const STRUCK_MIN: u64 = 100;

pub(super) const NAMED: Proof = Proof {
    name: "lemons",
    run: |_: &Context| {
        Box::pin(async {
            let lemons = lemons().await?;
            Ok(Measurement { value: share(lemons.named, lemons.struck)?, detail: in_words(lemons)? })
        })
    },
};

pub(super) const FALSE: Proof = Proof {
    name: "lemons-false",
    run: |_: &Context| {
        Box::pin(async {
            let lemons = lemons().await?;
            let value = lemons.named_falsely * 1_000_000 / (lemons.sound_node_days / 30).max(1);
            Ok(Measurement { value: i64::try_from(value)?, detail: in_words(lemons)? })
        })
    },
};

static LEMONS: OnceCell<Lemons> = OnceCell::const_new();

async fn lemons() -> anyhow::Result<&'static Lemons> {
    LEMONS.get_or_try_init(async || live_through()).await
}

fn live_through() -> anyhow::Result<Lemons> {
    let options = SEEDS.map(|seed| {
        let mut options = Options::new(GPUS, DAYS, seed, Rates::Base)?;
        // Who runs there changes no fault.
        options.submit(0)?;
        Ok(options)
    });
    let options: Vec<Options> = options.collect::<anyhow::Result<_>>()?;
    let runs = parallel_map(u64::try_from(options.len())?, |number| {
        usize::try_from(number).ok().and_then(|number| options.get(number)).map(|one| run(one, &mut |_| {}).lemons)
    });
    let mut sum = Lemons::default();
    for one in runs.into_iter().flatten() {
        sum.nodes += one.nodes;
        sum.struck += one.struck;
        sum.named += one.named;
        sum.struck_thrice += one.struck_thrice;
        sum.named_thrice += one.named_thrice;
        sum.nameable += one.nameable;
        sum.named_falsely += one.named_falsely;
        sum.sound_node_days += one.sound_node_days;
    }
    ensure!(sum.struck >= STRUCK_MIN, "only {} lemons had an incident: too few to judge", sum.struck);
    Ok(sum)
}

fn share(part: u64, whole: u64) -> anyhow::Result<i64> {
    Ok(i64::try_from(part * 1_000 / whole.max(1))?)
}

fn in_words(lemons: &Lemons) -> anyhow::Result<String> {
    let Lemons { nodes, struck, named, struck_thrice, named_thrice, nameable, named_falsely, sound_node_days } = lemons;
    Ok(format!(
        "{nodes} lemons, {struck} had an incident 14 days before the end, {named} of them named in time ({} of 1,000; of all lemons {}), {named_thrice} of {struck_thrice} with three incidents ({}); who knew every true rate would name {nameable} ({}); {named_falsely} false names in {} node-months",
        share(*named, *struck)?,
        share(*named, *nodes)?,
        share(*named_thrice, *struck_thrice)?,
        share(*nameable, *struck)?,
        sound_node_days / 30
    ))
}
