//! Names of queues as label values. Tenants choose them, so their number is bounded: per namespace, and in all.

use std::collections::BTreeMap;

use mainstay_telemetry::metrics::catalogue;

use crate::pod::PartialPod;

/// Label with which a pod names its Kueue queue.
const QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";
/// Most queues of one namespace with a name of their own. Further ones share the name of the namespace, so that one tenant
/// cannot use all names.
const PER_NAMESPACE_MAX: usize = 8;
/// Name of all queues beyond the limit.
pub(super) const OTHER: &str = "other";

/// Position of a queue in the list of names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Queue(usize);

/// Every queue that has a name of its own. The first is [`OTHER`].
#[derive(Debug, Clone)]
pub(crate) struct Queues {
    names: Vec<Box<str>>,
    known: BTreeMap<Box<str>, Queue>,
    per_namespace: BTreeMap<Box<str>, usize>,
}

impl Default for Queues {
    fn default() -> Self {
        Self { names: vec![OTHER.into()], known: BTreeMap::new(), per_namespace: BTreeMap::new() }
    }
}

impl Queues {
    /// Queue of a pod: the namespace and its Kueue queue, or the namespace alone.
    pub(super) fn of(&mut self, pod: &PartialPod) -> Queue {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get(QUEUE_LABEL));
        let Some(label) = label.filter(|label| !label.is_empty()) else { return self.named(namespace) };
        // A slash cannot be part of a namespace's name.
        let name = format!("{namespace}/{label}");
        if let Some(known) = self.known.get(&*name) {
            return *known;
        }
        let count = self.per_namespace.get(namespace).copied().unwrap_or(0);
        if count >= PER_NAMESPACE_MAX {
            return self.named(namespace);
        }
        let queue = self.named(&name);
        if queue != Queue(0) {
            self.per_namespace.insert(namespace.into(), count + 1);
        }
        queue
    }

    fn named(&mut self, name: &str) -> Queue {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        if name == OTHER || self.known.len() >= catalogue::QUEUES {
            return Queue(0);
        }
        let queue = Queue(self.names.len());
        self.names.push(name.into());
        self.known.insert(name.into(), queue);
        queue
    }

    /// Every queue with a name of its own.
    pub(super) fn named_ones(&self) -> impl Iterator<Item = Queue> + use<> {
        (1..self.names.len()).map(Queue)
    }

    /// Value of the label `queue`.
    pub(crate) fn name(&self, queue: Queue) -> &str {
        self.names.get(queue.0).map_or(OTHER, |name| name)
    }
}
