//! Proof that an installation, applied in any order or in part, refuses no other client's write to nodes, pods or evictions that are
//! not under treatment, and that `mainstay doctor` names what is missing. One real API server; pieces are applied and deleted between
//! cases. The permission to act is absent, the first piece, or, in the reported order, at any other place.

mod admission;
mod doctor;
mod installation;
mod writes;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use installation::{ACTING, COUNT, Installation};
use testbed::Options;
use tokio::time::Instant;
use writes::Clients;
pub(super) use writes::client_as;
use xtask::command;
use xtask::output;

use crate::prove::{Context, Measurement, Proof};

/// Fewer states would not be every order.
const CASES_MIN: usize = 200;
/// In CI no further order is begun after this long; one order takes a few seconds.
const SLICE: Duration = Duration::from_secs(20);
const GIT_LIMIT: Duration = Duration::from_secs(10);
/// Messages of refused writes that are printed.
const SHOWN_MAX: usize = 10;

pub(super) const SLICED: Proof =
    Proof { name: "install-orders", run: |context| Box::pin(measure(context, Orders::Slice)) };

pub(super) const ALL: Proof =
    Proof { name: "install-orders-all", run: |context| Box::pin(measure(context, Orders::All)) };

/// Which orders are walked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Orders {
    /// The order of the reported defect, then others from a place that the commit hash gives, while there is time.
    Slice,
    All,
}

/// An order in which the pieces are applied.
type Order = Vec<usize>;

/// The policies before the definitions and the Cell: the order in which other clients' writes were refused.
const REPORTED: [usize; COUNT] = [2, 3, 0, 1, 4];

async fn measure(context: &Context, orders: Orders) -> Result<Measurement> {
    let root = &context.workspace.root;
    let mainstay = command::debug_program(&context.workspace, "mainstay").await?;
    let hash = command::text(command::program("git", root).args(["rev-parse", "HEAD"]), GIT_LIMIT).await?;

    let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
    let clients = Clients::new(&cluster).await?;
    let mut pieces = Installation::read(&root.join("deploy"), clients.administrator().clone())?;
    let mut tally = Tally::default();
    tally.look(&cluster, &clients, &pieces, &mainstay).await?;
    ensure!(tally.refused.is_empty(), "refused without Mainstay: {:?}", tally.refused);

    let begun = Instant::now();
    let mut orders_walked = 0;
    for order in chosen(orders, hash.trim())? {
        if orders == Orders::Slice && begun.elapsed() > SLICE {
            break;
        }
        let common = pieces.applied().iter().zip(&order).take_while(|(one, other)| one == other).count();
        pieces.undo_to(common).await?;
        for piece in order.iter().skip(common) {
            pieces.apply(*piece).await?;
            tally.look(&cluster, &clients, &pieces, &mainstay).await?;
        }
        orders_walked += 1;
    }
    if orders == Orders::All {
        ensure!(tally.cases >= CASES_MIN, "only {} cases", tally.cases);
    }
    for refused in tally.refused.iter().take(SHOWN_MAX) {
        output::note(format_args!("refused: {refused}"));
    }
    for wrong in tally.doctor.iter().take(SHOWN_MAX) {
        output::note(format_args!("doctor: {wrong}"));
    }
    let detail = format!(
        "{} states of {orders_walked} orders, {} writes in each: {} refused; doctor named what is missing in {} of them",
        tally.cases,
        writes::COUNT,
        tally.refused.len(),
        tally.cases - tally.doctor.len(),
    );
    // A refusal is what the figure counts; a doctor that is wrong fails the proof all the same.
    let value = i64::try_from(tally.refused.len())?;
    ensure!(value > 0 || tally.doctor.is_empty(), "{detail}: {:?}", tally.doctor.first());
    Ok(Measurement { value, detail })
}

/// What was seen in all states.
#[derive(Default)]
struct Tally {
    cases: usize,
    refused: Vec<String>,
    /// States in which `doctor` did not name what is missing, with what it said.
    doctor: Vec<String>,
}

impl Tally {
    /// One state: once the server has seen every policy, every write is tried, and `doctor` is run.
    async fn look(
        &mut self,
        cluster: &testbed::Cluster,
        clients: &Clients,
        pieces: &Installation,
        mainstay: &std::path::Path,
    ) -> Result<()> {
        admission::settle(clients.administrator(), self.cases).await.with_context(|| pieces.state())?;
        let refused = clients.refused(self.cases).await?;
        self.refused.extend(refused.into_iter().map(|write| format!("{}: {write}", pieces.state())));
        if let Some(wrong) = doctor::wrong(cluster, mainstay, pieces).await? {
            self.doctor.push(format!("{}: {wrong}", pieces.state()));
        }
        self.cases += 1;
        Ok(())
    }
}

/// Every order, each next to those it shares most with; for a slice, first the reported one without and with the permission to act,
/// and then a rotation by the hash.
fn chosen(orders: Orders, hash: &str) -> Result<Vec<Order>> {
    let mut all = permutations();
    let acting_first = all.iter().map(|order| acting_at(order, 0)).collect::<Vec<_>>();
    all.extend(acting_first);
    if orders == Orders::Slice {
        let place = u64::from_str_radix(hash.get(..8).context("a short commit hash")?, 16)?;
        let count = u64::try_from(all.len())?;
        all.rotate_left(usize::try_from(place % count)?);
        all.splice(0..0, [REPORTED.to_vec(), acting_at(&REPORTED, 0)]);
    }
    all.extend((1..=COUNT).map(|place| acting_at(&REPORTED, place)));
    Ok(all)
}

/// An order with the permission to act at this place.
fn acting_at(order: &[usize], place: usize) -> Order {
    let (before, after) = order.split_at(place);
    [before, &[ACTING], after].concat()
}

fn permutations() -> Vec<Order> {
    let mut places = vec![Vec::new()];
    for _ in 0..COUNT {
        places = places
            .into_iter()
            .flat_map(|begun: Vec<usize>| {
                let rest = (0..COUNT).filter(|piece| !begun.contains(piece)).collect::<Vec<_>>();
                rest.into_iter().map(move |piece| begun.iter().copied().chain([piece]).collect())
            })
            .collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_walked_once_and_there_are_enough_states() {
        let orders = chosen(Orders::All, "").unwrap();
        assert_eq!(permutations().len(), 120);
        assert_eq!(orders.len(), 120 + 120 + COUNT);
        assert_eq!(orders.iter().collect::<std::collections::BTreeSet<_>>().len(), orders.len());
        let mut states = 1;
        let mut before: &[usize] = &[];
        for order in &orders {
            states += order.len() - before.iter().zip(order).take_while(|(one, other)| one == other).count();
            before = order;
        }
        assert_eq!(states, 326 + 326 + 20);
        assert!(states >= CASES_MIN);
    }

    #[test]
    fn a_slice_begins_with_the_reported_order_and_then_where_the_hash_points() {
        let slice = chosen(Orders::Slice, "00000001ff").unwrap();
        assert_eq!(slice[..3], [REPORTED.to_vec(), vec![ACTING, 2, 3, 0, 1, 4], permutations()[1].clone()]);
    }
}
