//! The matrix: every write of the controller × what it says of its epoch × which approval it names × mode.

use anyhow::Result;

use super::approval_claim::ApprovalClaim;
use super::fenced_cluster::{FencedCluster, Verb, WriteMode, send};
use super::operation::{self, EpochClaim, Operation, WriteClass};
use super::{Case, ExpectedResponse};

const MODES: [&str; 3] = ["Observe", "Propose", "Act"];

pub(super) async fn run(world: &FencedCluster) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for mode in MODES {
        world.set_mode(mode).await?;
        for operation in operation::ALL {
            for says in EpochClaim::ALL {
                for names in ApprovalClaim::ALL {
                    cases.push(case(world, *operation, says, names, mode).await?);
                }
            }
        }
        for operation in operation::ALL.iter().filter(|one| one.nature == WriteClass::Act && mode == "Propose") {
            for names in ApprovalClaim::ALMOST {
                cases.push(case(world, *operation, EpochClaim::Current, names, mode).await?);
            }
        }
    }
    Ok(cases)
}

async fn case(
    world: &FencedCluster,
    operation: Operation,
    says: EpochClaim,
    names: ApprovalClaim,
    mode: &str,
) -> Result<Case> {
    let object = match operation.verb {
        Verb::Evict => world.eviction_options()?,
        Verb::Create
        | Verb::Update
        | Verb::UpdateSpec
        | Verb::Lift
        | Verb::UpdateStatus
        | Verb::Order
        | Verb::Delete => world.object(operation.resource)?,
    };
    let answer = send(&world.controller, &operation::call(operation, says, names, object), WriteMode::Dry).await?;
    let Operation { resource, verb, label, .. } = operation;
    let what = format!("{mode}: {verb:?} {resource}, label {label:?}, epoch {says:?}, approval {names:?}");
    Ok(Case { what, expected: expected(operation, says, names, mode), answer })
}

/// What the design says, in the order in which the server asks.
fn expected(operation: Operation, says: EpochClaim, names: ApprovalClaim, mode: &str) -> ExpectedResponse {
    match operation.nature {
        WriteClass::NoRole => return ExpectedResponse::NoRole,
        WriteClass::Exempt => return ExpectedResponse::Taken,
        WriteClass::Unlabelled => return ExpectedResponse::Policy("needs the label mainstay.dev/fenced"),
        WriteClass::Record | WriteClass::Act | WriteClass::OthersWord => {}
    }
    let is_status_of_ours = matches!(operation.verb, Verb::UpdateStatus | Verb::Order) && operation.resource != "nodes";
    let is_cell = operation.resource == "cells";
    match says {
        // The definition requires the epoch; the cell's stored one is there, so an absent one is not a removal.
        EpochClaim::Absent if is_cell => {}
        EpochClaim::Absent if is_status_of_ours => return ExpectedResponse::Invalid("status.epoch: Required"),
        EpochClaim::Stale if is_cell => return ExpectedResponse::Invalid("another leader has taken over"),
        // A new leader raises the cell.
        EpochClaim::Ahead if is_cell => return ExpectedResponse::Taken,
        EpochClaim::Stale | EpochClaim::Ahead | EpochClaim::Absent => {
            return ExpectedResponse::Policy("this write carries epoch");
        }
        EpochClaim::Current => {}
    }
    // A write that changes none of our taints is part of any action on the node.
    let is_approved =
        names == ApprovalClaim::Approved || (names == ApprovalClaim::OtherVerb && operation.approved_verb().is_none());
    let allowed = mode == "Act" || (mode == "Propose" && is_approved);
    match operation.nature {
        WriteClass::Act if !allowed => ExpectedResponse::Policy("is an action; the Cell's mode is"),
        WriteClass::OthersWord => ExpectedResponse::Policy("operators and agents own this spec"),
        WriteClass::Act | WriteClass::Record | WriteClass::Exempt | WriteClass::NoRole | WriteClass::Unlabelled => {
            ExpectedResponse::Taken
        }
    }
}
