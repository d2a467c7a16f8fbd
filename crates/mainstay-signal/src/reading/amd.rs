//! Blocks of an AMD GPU that have error counters, as the kernel's `Documentation/gpu/amdgpu/ras.rst` and the driver's list
//! of blocks (`amdgpu_ras.h`) name them.

/// A block of an AMD GPU with error counters of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AmdBlock(&'static str);

const BLOCKS: [&str; 19] = [
    "umc",
    "sdma",
    "gfx",
    "mmhub",
    "athub",
    "pcie_bif",
    "hdp",
    "xgmi_wafl",
    "df",
    "smn",
    "sem",
    "mp0",
    "mp1",
    "fuse",
    "mca",
    "vcn",
    "jpeg",
    "ih",
    "mpio",
];

// === impl AmdBlock ===

impl AmdBlock {
    /// Returns the block whose counters a file of sysfs has: `umc_err_count`.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        let block = name.strip_suffix("_err_count")?;
        BLOCKS.into_iter().find(|known| *known == block).map(Self)
    }

    pub(super) const fn word(self) -> &'static str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_known_by_the_name_of_its_file() {
        assert_eq!(AmdBlock::of_file("umc_err_count").map(AmdBlock::word), Some("umc"));
        assert_eq!(AmdBlock::of_file("umc"), None);
        assert_eq!(AmdBlock::of_file("x_err_count"), None);
    }
}
