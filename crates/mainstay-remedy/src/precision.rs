//! Precision of a rule with its confidence interval. With very few judged findings no value is given. It uses Wilson's
//! interval, because that stays between 0 and 1 and is accurate near both ends, where good rules are.

use mainstay_model::Ppm;

/// Minimum number of judged findings: even ten of ten leave more than a quarter uncertain.
pub const JUDGED_MIN: u64 = 10;

/// The squared number of standard deviations for 95 %, in parts per million: 1.959964 squared.
const Z_SQUARED: u128 = 3_841_459;

const ONE: u128 = 1_000_000;

/// Precision of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// There are too few judged findings.
    TooFew,
    /// Precision with its confidence interval.
    Share {
        /// Share of confirmed findings among the judged ones.
        of: Ppm,
        /// Lower end of the 95 % interval.
        low: Ppm,
        /// Upper end of the 95 % interval.
        high: Ppm,
    },
}

impl Precision {
    /// Computes the precision from the numbers of confirmed and refuted findings.
    #[must_use]
    pub fn of(confirmed: u64, refuted: u64) -> Self {
        if confirmed.saturating_add(refuted) < JUDGED_MIN {
            return Self::TooFew;
        }
        // No rule has four thousand million judged findings, so the products below fit in 128 bits.
        let [right, wrong] = [confirmed, refuted].map(|count| u128::from(count.min(u64::from(u32::MAX))));
        let all = right + wrong;
        let whole = all * ONE + Z_SQUARED;
        let middle = right * ONE + Z_SQUARED / 2;
        let reach = (Z_SQUARED * (right * wrong * ONE / all + Z_SQUARED / 4)).isqrt();
        Self::Share {
            of: ppm(right * ONE, all * ONE),
            low: ppm(middle.saturating_sub(reach), whole),
            high: ppm(middle + reach, whole),
        }
    }
}

fn ppm(part: u128, whole: u128) -> Ppm {
    Ppm(u32::try_from((part * ONE + whole / 2) / whole).unwrap_or(u32::MAX)).min(Ppm::ONE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares(confirmed: u64, refuted: u64) -> [u32; 3] {
        match Precision::of(confirmed, refuted) {
            Precision::TooFew => panic!("{confirmed} and {refuted} are not few"),
            Precision::Share { of, low, high } => [of.0, low.0, high.0],
        }
    }

    #[test]
    fn intervals_are_those_that_are_published() {
        // R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263, 15 of 148, 1 of 29.
        let known = [
            (81, 182, [0.308, 0.2553, 0.3662]),
            (15, 133, [0.1014, 0.0624, 0.1605]),
            (1, 28, [0.0345, 0.0061, 0.1718]),
            (10, 0, [1.0, 0.7225, 1.0]),
            (8, 2, [0.8, 0.4902, 0.9433]),
            (50, 50, [0.5, 0.4038, 0.5962]),
        ];
        for (confirmed, refuted, should_be) in known {
            for (is, should_be) in shares(confirmed, refuted).into_iter().zip(should_be) {
                let off = (f64::from(is) / 1e6 - should_be).abs();
                assert!(off < 0.00006, "{confirmed} and {refuted}: {is} should be {should_be}");
            }
        }
    }

    #[test]
    fn few_say_so_and_many_do_not_overflow() {
        assert_eq!(Precision::of(9, 0), Precision::TooFew);
        assert_eq!(Precision::of(0, 0), Precision::TooFew);
        assert_eq!(shares(u64::MAX, u64::MAX)[0], 500_000);
        assert_eq!(shares(u64::MAX, 0), [1_000_000, 1_000_000, 1_000_000]);
    }

    proptest! {
        #[test]
        fn the_share_is_within_its_interval(confirmed in 0..100_000_u64, refuted in 10..100_000_u64) {
            let [of, low, high] = shares(confirmed, refuted);
            prop_assert!(low <= of && of <= high && high <= 1_000_000, "{low} {of} {high}");
        }
    }
}
