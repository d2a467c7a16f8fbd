// Generated from crates/mainstay-model/src/waiting.rs by `cargo xtask gen`; do not edit.

import type { WaitingOn } from "./contract";

/** The reason as it completes "waiting for …". */
export const WAIT_NOUN: Record<WaitingOn, string> = {
  Nothing: "nothing",
  Approval: "operator approval",
  Breaker: "the circuit breaker",
  Budget: "the disruption budget",
  CapacityFloor: "the capacity floor",
  Checkpoint: "a checkpoint",
  Drain: "the drain",
  Freeze: "the end of a freeze",
  Leadership: "leadership",
  Mode: "a higher mode",
  Operator: "operator action",
  Order: "the node's agent",
  Qualification: "return-to-service tests",
  RateLimit: "the rate limit",
  Report: "an agent report",
  SecondSignal: "a second signal",
  SharedCause: "the shared cause",
  WatchSync: "the watch to catch up",
  Window: "a maintenance window",
};

/** What ends the wait, as one sentence. */
export const WAIT_ENDS: Record<WaitingOn, string> = {
  Nothing: "The node is not waiting.",
  Approval: "An operator adds the action's id to the approvals of the Cell, or raises the mode.",
  Breaker: "A test on one node confirms the rule, or the rule flags no node for an hour.",
  Budget: "A node of the same failure domain returns to service, or an operator raises the budget.",
  CapacityFloor: "A node of the pool returns to service, or an operator lowers the capacity floor.",
  Checkpoint: "The job acknowledges its CheckpointRequest, takes a checkpoint by itself, or its deadline passes.",
  Drain: "The job's last pod leaves the node.",
  Freeze: "The freeze expires. No version sets a freeze yet.",
  Leadership: "The leader of the cell takes the next step.",
  Mode: "An operator raises the mode of the cell or of the pool. On a cluster, the controller also needs the permission to act.",
  Operator: "An operator withdraws the request, repairs the node or files a new request.",
  Order: "The node's agent reports the order's outcome, or the latest end of the order passes.",
  Qualification: "Every test of the suite has reported, or its time limit passes.",
  RateLimit: "The oldest recent removal of the pool leaves the time window of the rate limit.",
  Report: "The node's agent sends a report for this registration.",
  SecondSignal: "A second, independent signal confirms the fault, or the first signal clears.",
  SharedCause: "Fewer than a third of the nodes of the shared cause still show the fault, or an operator drains the node.",
  WatchSync: "The watch shows the controller's own last write.",
  Window: "The next maintenance window of the pool opens. No version waits for a window yet.",
};
