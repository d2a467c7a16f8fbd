//! Random numbers: an independent stream for each purpose and part, so that one draw never shifts another. The samplers
//! are ours and stand on `libm` alone. Those of `rand_distr` do so only as long as no other crate of the program turns
//! on `num-traits/std`, and ours does (through serde-saphyr and kube): the platform's logarithms would come in.

#[cfg(test)]
mod tests;

use std::f64::consts::TAU;

use mainstay_model::Span;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a draw is for. The numbers are part of every result: a new purpose takes a new one, an old one keeps its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// How much more often than others a node fails; by node.
    Multiplier,
    /// Whether a node is a lemon; by node.
    Lemon,
    /// The faults of a node that are one process; by node.
    NodeFaults,
    /// Faults that come on their own; by class and place.
    OwnFaults,
    /// Whether and when a neighbour follows; by the key of the fault.
    Burst,
    /// Whether a node is new, and never was right; by node.
    Delivery,
    /// What becomes of one fault; by its key.
    Fault,
    /// What a job is like; by its number.
    Job,
    /// How long a fact is under way to the brain; by its number.
    Wire,
    /// How long a job hangs; by the fault's key.
    Hang,
    /// How slow a slow node is; by the fault's key.
    Slowness,
    /// How an order ends; by its nonce.
    Order,
    /// What becomes of an effect; by its node and its number there.
    Effect,
    /// What becomes of a write of the cell's record; by its number.
    CellRecord,
    /// How long people take; by the fault's key.
    Repair,
    /// Where a job looks for nodes first.
    Placement,
    /// What a false alarm says; by its key.
    Alarm,
    /// Whether a mended fault comes back; by its key.
    Relapse,
    /// How long a crew takes; by node and visit.
    Crew,
    /// How long a part takes to come; by node and visit.
    Part,
    /// What a storm plants; by the number of the trouble.
    Storm,
    /// What is planted in a live fleet, and what its jobs are like; by its number.
    Live,
}

impl Purpose {
    const fn number(self) -> u64 {
        match self {
            Self::Multiplier => 1,
            Self::Lemon => 2,
            Self::NodeFaults => 3,
            Self::OwnFaults => 4,
            Self::Burst => 5,
            Self::Delivery => 6,
            Self::Fault => 7,
            Self::Job => 8,
            Self::Wire => 9,
            Self::Hang => 10,
            Self::Slowness => 11,
            Self::Order => 12,
            Self::Effect => 13,
            Self::Repair => 14,
            Self::Placement => 22,
            Self::Alarm => 15,
            Self::Relapse => 16,
            Self::Crew => 17,
            Self::Storm => 18,
            Self::Part => 19,
            Self::CellRecord => 20,
            Self::Live => 21,
        }
    }
}

/// Random numbers for one purpose and one part of the fleet.
#[derive(Debug, Clone)]
pub(crate) struct RandomStream(ChaCha8Rng);

/// The stream of a purpose and a part. The seed and the purpose are the key of the cipher, the part is its nonce: any
/// two streams are as good as independent, and none has to be kept to know another.
pub(crate) fn stream(seed: u64, purpose: Purpose, entity: u64) -> RandomStream {
    let mut key = [0_u8; 32];
    for (place, byte) in key.iter_mut().zip(seed.to_le_bytes().into_iter().chain(purpose.number().to_le_bytes())) {
        *place = byte;
    }
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(entity);
    RandomStream(rng)
}

/// How often a rejected draw of a Gamma is tried again; one in twenty is, so nobody will see the end of it.
const GAMMA_TRIES_MAX: u32 = 64;

// === impl RandomStream ===

impl RandomStream {
    /// Anything from 0 to just below 1: the upper 52 bits of a draw as the digits behind `1.`, less the one.
    pub(crate) fn unit(&mut self) -> f64 {
        f64::from_bits(0x3FF0_0000_0000_0000 | (self.0.next_u64() >> 12)) - 1.0
    }

    /// One of `0..n`; 0 where that is empty.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        u32::try_from((u64::from(self.0.next_u32()) * u64::from(n)) >> 32).unwrap_or(0)
    }

    /// Whether something of this probability happens. Takes one draw whatever the probability is.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// With this mean, and no memory.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log(1.0 - self.unit()) * mean
    }

    /// Weibull; a shape below one makes short ones and long ones more frequent.
    pub(crate) fn weibull(&mut self, scale: f64, shape: f64) -> f64 {
        scale * libm::pow(-libm::log(1.0 - self.unit()), 1.0 / shape)
    }

    /// The exponential of a normal with this deviation; half of them are below the median.
    pub(crate) fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        median * libm::exp(sigma * self.normal())
    }

    /// Mean 0, deviation 1, by Box and Muller; the second of their pair is left, so that a draw leaves no state.
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(TAU * self.unit())
    }

    /// Gamma with mean `shape * scale`, by Marsaglia and Tsang (2000).
    pub(crate) fn gamma(&mut self, shape: f64, scale: f64) -> f64 {
        if shape < 1.0 {
            let below_one = libm::pow(1.0 - self.unit(), 1.0 / shape);
            return self.gamma_from_one(shape + 1.0) * below_one * scale;
        }
        self.gamma_from_one(shape) * scale
    }

    fn gamma_from_one(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        for _ in 0..GAMMA_TRIES_MAX {
            let x = self.normal();
            let u = 1.0 - self.unit();
            let root = 1.0 + c * x;
            let v = root * root * root;
            if v > 0.0 && libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
        shape
    }

    /// A place among weights, in proportion to them; the first where none is above zero.
    pub(crate) fn pick(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        let mut last = 0;
        for (place, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            if left < *weight {
                return place;
            }
            left -= weight;
            // Rounding may leave a little over after the last of them.
            last = place;
        }
        last
    }
}

/// So many seconds, to the millisecond; nothing where that is negative or no number, and at most all there is.
pub(crate) fn span_seconds(seconds: f64) -> Span {
    Span(whole(seconds * 1_000.0))
}

/// The nearest whole number; 0 where it is negative or no number, and at most the largest there is.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the one such conversion of the simulator: `as` stops at both ends and makes 0 of NaN, as wanted"
)]
pub(crate) fn whole(value: f64) -> u64 {
    libm::round(value) as u64
}
