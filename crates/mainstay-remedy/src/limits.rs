//! Time limits that are the same in every pool, each with its reason. `Deadlines` of the policy has the others.

use mainstay_model::Span;

/// Maximum age of the view for a disruptive action: API servers send a bookmark every minute, and three missed ones mean
/// that a watch has stalled. A change within that time is found by the precondition of the effect, which its executor
/// compares with a fresh read.
pub const VIEW_FRESH: Span = Span::minutes(3);

/// Time after which an effect that does not show in the observations is ordered again; each effect is idempotent.
pub const EFFECT_RETRY: Span = Span::seconds(60);

/// Time in which the agent must start an order: an agent that is being replaced or restarted is back by then.
pub const ORDER_START: Span = Span::minutes(5);

/// Time after which an action that the backend rejected (a tenant's disruption budget, a full queue) is tried again. It
/// is short enough to continue soon after the reason is gone, and long enough to cause little load until then.
pub const REFUSED_RETRY: Span = Span::minutes(5);

/// Minimum time between two writes of new rule counters to the Cell. Until then a finding is in its node's history,
/// which holds 16 changes of stage. A node with more changes within the pause loses one uncounted finding.
pub const CELL_RECORD_PAUSE: Span = Span::minutes(5);

/// Maximum time until blocked jobs end by themselves: the usual watchdog timeout of collective libraries.
pub const WATCHDOG: Span = Span::minutes(10);

/// Time after which an agent counts as not reporting: three heartbeats of 300 seconds.
pub const REPORT_WITHIN: Span = Span::minutes(15);

/// Time for which everything about a node is kept after it is gone. Cloud providers delete the Node object of a machine
/// that is stopped, and technicians that of a machine that is reinstalled. Both are usually back within a day.
pub const GONE_KEPT: Span = Span::hours(24);

/// Time for which the status of a gone node is kept after evidence arrived: the days that the status counts.
pub const GONE_EVIDENCE_KEPT: Span = Span::hours(7 * 24);

/// Time for which the status of a gone node is kept after its last removal or incident. The risk score counts an incident
/// for 90 days, and a machine that a vendor repairs is back by then.
pub const GONE_HISTORY_KEPT: Span = Span::hours(90 * 24);
