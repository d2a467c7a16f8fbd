//! The explanation of each invariant, in full sentences, for documents and logs.

pub(super) const BUDGET_KEPT: &str = "\
    The engine never removes a node from service if that exceeds a budget of its pool. The count includes nodes that \
    are already out of service for any reason, and every node that the same decision removes. In a pool without a \
    budget, no node may be removed.";

pub(super) const CAUSED_AND_FENCED: &str = "\
    Every ordered effect carries the current epoch of the Cell. An effect that changes a node also needs a leader, \
    the node's current registration and its stored stage. A destructive effect also needs a stored cause and a fresh \
    view. That view must not be older than the controller's last write about the node.";

pub(super) const ASKED_BEFORE_STOPPED: &str = "\
    The engine stops a gang that saves on request only after it requested a checkpoint in the current drain. The gang \
    must have answered, or its deadline must have passed. The only exception is a stored cause with the urgency Now.";

pub(super) const QUALIFIED_BEFORE_RETURN: &str = "\
    The engine returns only a node that Mainstay itself removed and that is reachable. Every result of the suite that \
    the controller ordered since the removal must be a pass. The results must be for the registration and boot that \
    the order names.";

pub(super) const UNKNOWN_IS_NOT_HEALTHY: &str = "\
    No report shows a node as in service and waiting for nothing if its state is unknown. The state is unknown if the \
    node is not registered, not reachable or not ready. It is also unknown if the last report belongs to another \
    registration.";

pub(super) const NOTHING_ABOVE_THE_MODE: &str = "\
    The engine orders an action, or a new order to an agent, only if the mode for its kind is Act. In mode Propose it \
    needs an operator's approval of that action id. A pool without a policy is in mode Observe. A Cell that is older \
    than one already seen is also in mode Observe.";

pub(super) const INTENT_BEFORE_ACT: &str = "\
    The controller stores the intended stage before it changes a node. A cordon needs the stored stage Quarantined or \
    a later one. A checkpoint request or an eviction needs the stored stage Draining. An uncordon needs the stored \
    stage Qualifying, InService or Suspect. A repair order needs the stored stage Repairing, and a test needs \
    Qualifying.";

pub(super) const BOUNDED: &str = "\
    A decision has a fixed maximum number of effects and of report lines. It contains each action on a node at most \
    once, and at most one report line per node.";

pub(super) const HOLD_KEPT: &str = "\
    While an operator holds a node, Mainstay changes nothing on it and gives its agent no order.";

pub(super) const EMPTY_BEFORE_ORDER: &str = "\
    While jobs still run on a node, its agent receives no order except to capture diagnostics.";

pub(super) const COUNTS_KEPT: &str = "\
    Only a leader writes the rule counters of the Cell. The number of judged findings of a rule never decreases. The \
    time up to which findings are counted never goes back and is never in the future.";

pub(super) const GRANTED: &str = "\
    Every ordered action, and every new order to an agent, names a claim. The status of its node stores the grant of \
    that claim. A status write adds no order.";

pub(super) const FLOOR_KEPT: &str = "\
    The engine removes no node if fewer nodes than the capacity floor of the pool would stay in service. The count \
    includes every node that the same decision removes.";

pub(super) const RATE_KEPT: &str = "\
    The engine removes no more nodes of a pool within a time than its rate limit allows. The count includes every \
    removal in the stored histories, and every node that the same decision removes.";

pub(super) const GANG_DISTURBED_ONCE: &str = "\
    A decision requests at most one checkpoint from a gang and stops it at most once, however many of its nodes have \
    to be drained. While a request of a running drain is open, a further one must have an earlier deadline.";

pub(super) const ATTEMPTS_CAPPED: &str = "\
    The engine orders a repair step on a node only as often within the window as the repair plan of the pool allows. \
    Without a plan the limit is two attempts in 24 hours. A capture has no limit.";

pub(super) const QUARANTINED_BEFORE_ORDER: &str = "\
    A node gets an order only while Mainstay's quarantine taint is on it. A cordon of others is not enough, because \
    others can remove it at any time.";

pub(super) const BREAKER_KEPT: &str = "\
    One rule removes no more nodes of a pool within the window of its circuit breaker than two full limits with a \
    test each. Nodes that got no jobs, requests of operators and approved removals do not count.";

pub(super) const POWER_CONFIRMED: &str = "\
    A machine that does not answer may still run jobs, because a partition of the network looks the same. The engine \
    turns its power off only if a gang on it has made no progress for 15 minutes. It releases the pods of a machine \
    only if its BMC reports that it is off.";

pub(super) const GONE_BEFORE_FORGOTTEN: &str = "\
    Only a leader with a fresh view deletes the stored status of a node. The node must not be registered for 24 \
    hours, no gang may run on it, and no operator may have an open request for it. The status of a node that was \
    being treated is kept for 90 days after its stage began. One decision deletes at most 128 statuses.";
