//! The matrix: every write of the controller × what it says of its epoch × which approval it names × mode.

use anyhow::Result;

use super::operation::{self, Names, Nature, Operation, Says};
use super::world::{Run, Verb, World, send};
use super::{Case, Expected};

const MODES: [&str; 3] = ["Observe", "Propose", "Act"];

pub(super) async fn run(world: &World) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for mode in MODES {
        world.set_mode(mode).await?;
        for operation in operation::ALL {
            for says in Says::ALL {
                for names in Names::ALL {
                    let call = operation::call(*operation, says, names, world.object(operation.resource)?);
                    let answer = send(&world.controller, &call, Run::Dry).await?;
                    let Operation { resource, verb, label, .. } = operation;
                    let what =
                        format!("{mode}: {verb:?} {resource}, label {label:?}, epoch {says:?}, approval {names:?}");
                    cases.push(Case { what, expected: expected(*operation, says, names, mode), answer });
                }
            }
        }
    }
    Ok(cases)
}

/// What the design says, in the order in which the server asks.
fn expected(operation: Operation, says: Says, names: Names, mode: &str) -> Expected {
    match operation.nature {
        Nature::NoRole => return Expected::NoRole,
        Nature::Exempt => return Expected::Taken,
        Nature::Unlabelled => return Expected::Policy("needs the label mainstay.dev/fenced"),
        Nature::Record | Nature::Act | Nature::OthersWord => {}
    }
    let is_status_of_ours = matches!(operation.verb, Verb::UpdateStatus | Verb::Order) && operation.resource != "nodes";
    let is_cell = operation.resource == "cells";
    match says {
        // The definition requires the epoch; the cell's stored one is there, so an absent one is not a removal.
        Says::Absent if is_cell => {}
        Says::Absent if is_status_of_ours => return Expected::Invalid("status.epoch: Required"),
        Says::Stale if is_cell => return Expected::Invalid("another leader has taken over"),
        // A new leader raises the cell.
        Says::Ahead if is_cell => return Expected::Taken,
        Says::Stale | Says::Ahead | Says::Absent => return Expected::Policy("this write carries epoch"),
        Says::Current => {}
    }
    let allowed = mode == "Act" || (mode == "Propose" && names == Names::Approved);
    match operation.nature {
        Nature::Act if !allowed => Expected::Policy("is an action; the Cell's mode is"),
        Nature::OthersWord => Expected::Policy("operators and agents own this spec"),
        Nature::Act | Nature::Record | Nature::Exempt | Nature::NoRole | Nature::Unlabelled => Expected::Taken,
    }
}
