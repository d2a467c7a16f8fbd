//! GPU generations as NVIDIA's XID catalogue distinguishes them, and the generation of a node. A product in none of the
//! catalogue's columns has no generation, and every row may apply to it.

use mainstay_model::Product;

/// A column of NVIDIA's XID catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// The Ampere generation (A100).
    A100,
    /// The Hopper generation (H100).
    H100,
    /// The Blackwell generation with a CPU of another maker.
    B100,
    /// The Blackwell generation on one module with a Grace CPU.
    Gb200,
}

/// A set of generations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generations(u8);

/// Parts of product names, the more exact first. A GH200 is Hopper with the chip link of GB200. No column of the
/// catalogue has that combination, so it has no generation.
const PRODUCTS: &[(&str, Option<Generation>)] = &[
    ("GH200", None),
    ("GB200", Some(Generation::Gb200)),
    ("GB300", Some(Generation::Gb200)),
    ("B100", Some(Generation::B100)),
    ("B200", Some(Generation::B100)),
    ("B300", Some(Generation::B100)),
    ("H100", Some(Generation::H100)),
    ("H200", Some(Generation::H100)),
    ("H800", Some(Generation::H100)),
    ("H20", Some(Generation::H100)),
    ("A100", Some(Generation::A100)),
    ("A800", Some(Generation::A100)),
];

// === impl Generation ===

impl Generation {
    /// All generations, oldest first.
    pub const ALL: [Self; 4] = [Self::A100, Self::H100, Self::B100, Self::Gb200];

    /// Returns the generation of a product, as the driver names it.
    #[must_use]
    pub fn of(product: &Product) -> Option<Self> {
        let name = product.as_str();
        PRODUCTS.iter().find(|(part, _)| name.contains(part)).and_then(|(_, generation)| *generation)
    }

    /// Returns the letter of the generation in `xid.tsv`.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::A100 => 'A',
            Self::H100 => 'H',
            Self::B100 => 'B',
            Self::Gb200 => 'G',
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::A100 => 1,
            Self::H100 => 2,
            Self::B100 => 4,
            Self::Gb200 => 8,
        }
    }
}

// === impl Generations ===

impl Generations {
    /// Every GPU, of a known generation or not.
    pub const ANY: Self = Self(0b1111);

    /// Parses letters such as `HBG`; `-` is the empty set.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "-" {
            return Some(Self(0));
        }
        let bit = |letter: char| Generation::ALL.into_iter().find(|one| one.letter() == letter).map(Generation::bit);
        text.chars().try_fold(0, |bits, letter| Some(bits | bit(letter)?)).map(Self)
    }

    /// Returns the generations that are not in this set.
    pub(crate) const fn others(self) -> Self {
        Self(!self.0 & Self::ANY.0)
    }

    /// Returns whether a GPU belongs to the set. A GPU of no known generation belongs to the full set only.
    #[must_use]
    pub fn have(self, generation: Option<Generation>) -> bool {
        self == Self::ANY || generation.is_some_and(|one| self.0 & one.bit() != 0)
    }

    /// Returns the generations, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Generation> {
        Generation::ALL.into_iter().filter(move |one| self.0 & one.bit() != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_known_by_its_name() {
        for (product, generation) in [
            ("NVIDIA A100-SXM4-80GB", Some(Generation::A100)),
            ("NVIDIA H100 80GB HBM3", Some(Generation::H100)),
            ("NVIDIA H200", Some(Generation::H100)),
            ("NVIDIA B200", Some(Generation::B100)),
            ("NVIDIA GB200", Some(Generation::Gb200)),
            ("NVIDIA GB300", Some(Generation::Gb200)),
            ("NVIDIA GH200 480GB", None),
            ("NVIDIA L40S", None),
            ("Tesla V100-SXM2-32GB", None),
        ] {
            assert_eq!(Generation::of(&product.parse().unwrap()), generation, "{product}");
        }
    }

    #[test]
    fn a_gpu_that_nobody_knows_is_in_no_part_of_the_generations() {
        let hopper = Generations::parse("H").unwrap();
        assert!(hopper.have(Some(Generation::H100)) && !hopper.others().have(Some(Generation::H100)));
        assert!(!hopper.have(None) && !hopper.others().have(None));
        assert!(Generations::ANY.have(None));
        assert_eq!(Generations::parse("AHBG"), Some(Generations::ANY));
        assert_eq!(Generations::parse("AX"), None);
        assert_eq!(Generations::parse("HH"), Some(hopper), "a letter may be repeated");
    }
}
