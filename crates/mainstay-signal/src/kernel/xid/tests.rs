//! Lines of the GPU driver.

use crate::kernel::tests::{Line, nothing, says};

#[rustfmt::skip] // one line a case
pub(crate) const LINES: &[Line] = &[
    // Off the bus, in the spellings of the place.
    ("NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "Xid 79 0000:1b:00.0"),
    ("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.", "Xid 79 0000:1b:00.0"),
    ("NVRM: Xid (PCI:0000:1B:00.0): 79, pid=1582259, name=nvc:[driver], GPU has fallen off the bus.", "Xid 79 0000:1b:00.0"),
    ("NVRM: Xid (0000:03:00): 79, GPU has fallen off the bus.", "Xid 79 0000:03:00.0"),
    ("NVRM: Xid (PCI:zzzz:1b:00): 79, GPU has fallen off the bus.", "Xid 79 node"),
    // The driver's verdict.
    ("NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "Xid 154 0000:1b:00.0 to 0x1"),
    ("NVRM: Xid (PCI:0000:1b:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "Xid 154 0000:1b:00.0 to 0x0"),
    ("NVRM: Xid (PCI:0000:55:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", "Xid 154 0000:55:00.0 to 0x4"),
    ("NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed", "Xid 154 0000:1b:00.0"),
    // Double-bit errors, rows and pages.
    ("NVRM: Xid (PCI:0000:52:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x18f31d80 partition 16, subpartition 3.", "Xid 48 0000:52:00.0 framebuffer partition 16 subpartition 3"),
    ("NVRM: Xid (PCI:0000:8a:00): 48, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 4, subpartition 1", "Xid 48 0000:8a:00.0 framebuffer partition 4 subpartition 1"),
    ("NVRM: Xid (PCI:0000:8a:00): 48, An uncorrectable double bit error (DBE) has been detected on GPU in the SM L1 cache.", "Xid 48 0000:8a:00.0 SM L1 cache"),
    ("NVRM: Xid (PCI:0000:55:00): 48, pid=2187734, name=python, channel 0x00000002", "Xid 48 0000:55:00.0"),
    ("NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.", "Xid 63 0000:10:1c.0 row remap pending"),
    ("NVRM: Xid (PCI:0000:55:00): 63, pid=2187734, name=python, Row Remapper: New row (0x0000000e9b9107e0) marked for remapping, reset gpu to activate.", "Xid 63 0000:55:00.0 row remap pending"),
    ("NVRM: Xid (PCI:0000:55:00): 63, Bank Remapper: New bank marked for remapping, reset gpu to activate.", "Xid 63 0000:55:00.0 bank remap pending"),
    ("NVRM: Xid (PCI:0000:3b:00): 63, Dynamic Page Retirement: New page retired, reboot to activate (0x00000000000a1234).", "Xid 63 0000:3b:00.0 page retirement"),
    ("NVRM: Xid (PCI:0000:0f:00): 64, pid='<unknown>', name=<unknown>, Row Remapper Error: (0x00000002eebc4100) - All reserved rows for bank are remapped", "Xid 64 0000:0f:00.0 no spare row in bank"),
    ("NVRM: Xid (PCI:0000:0f:00): 64, Row Remapper Error: (0x0000000000abcdef) - Row Remapping table is full", "Xid 64 0000:0f:00.0 row remap table full"),
    ("NVRM: Xid (PCI:0000:0f:00): 64, Row Remapper Error: (0x0000000000abcdef) - Internal inforom error", "Xid 64 0000:0f:00.0 row remap internal error"),
    ("NVRM: Xid (PCI:0000:0f:00): 64, Row Remapper Error: (0x0000000000abcdef) - Attempting to remap a reserved row", "Xid 64 0000:0f:00.0 reserved row"),
    ("NVRM: Xid (PCI:0000:0f:00): 64, Row Remapper: (0x0000000000abcdef) - Attempting to remap a row that is already pending remapping. Remapping will occur when the GPU is reset", "Xid 64 0000:0f:00.0 row remap already pending"),
    ("NVRM: Xid (PCI:0000:0f:00): 64, DRAM Retirement failed due to no spare for retirement at 0x0000000000001234", "Xid 64 0000:0f:00.0 retirement failed: no spare for retirement"),
    ("NVRM: Xid (PCI:0000:3b:00): 64, Dynamic Page Retirement: Fatal error, unable to retire page (0x3fdf5e)", "Xid 64 0000:3b:00.0 page retirement failed"),
    // Contained and uncontained errors, with and without what the driver asks for.
    ("NVRM: Xid (PCI:0000:01:00): 94, pid=7062, Contained: CE User Channel (0x9). RST: No, D-RST: No", "Xid 94 0000:01:00.0 CE User Channel RST=No D-RST=No"),
    ("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No", "Xid 94 0000:01:00.0 CE User Channel RST=No D-RST=No gi 5"),
    ("NVRM: Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:00): 94, pid=7194, name=python, Contained: SM (0x1). RST: No, D-RST: No", "Xid 94 0000:01:00.0 SM RST=No D-RST=No gi 5"),
    ("NVRM: Xid (PCI:0000:0f:00): 94, pid=2503421, name=python3, Ch 00000008", "Xid 94 0000:0f:00.0"),
    ("NVRM: Xid (PCI:0000:01:00): 95, pid=7062, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No", "Xid 95 0000:01:00.0 LTC TAG RST=Yes D-RST=No"),
    ("NVRM: Xid (PCI:0000:01:00): 95, pid='<unknown>', name=<unknown>, Uncontained: DRAM (0x1, 0x0). physAddr: 0x18f31d80 RST: Yes, D-RST: No", "Xid 95 0000:01:00.0 DRAM RST=Yes D-RST=No"),
    ("NVRM: Xid (PCI:0000:65:00): 95, Uncontained ECC error", "Xid 95 0000:65:00.0"),
    // Application faults, and the breadcrumbs of teardown.
    ("NVRM: Xid (PCI:0000:b5:00): 31, pid=2079991, name=pt_main_thread, Ch 00000007, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_6 faulted @ 0x7f5a_e7504000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ", "Xid 31 0000:b5:00.0 GRAPHICS FAULT_PDE"),
    ("NVRM: Xid (PCI:0000:35:00): 31, pid=8, name=<unknown>, channel 0x00000004. MMU Fault: ENGINE CE0 HUBCLIENT_HOST faulted @ 0x0000000000001000. FAULT_PTE ACCESS_TYPE_ATOMIC", "Xid 31 0000:35:00.0 CE0 FAULT_PTE"),
    ("NVRM: Xid (PCI:0000:35:00): 31, pid=8, name=a, channel 0x1. MMU Fault", "Xid 31 0000:35:00.0"),
    ("NVRM: Xid (PCI:0000:b5:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 1, TPC 3, SM 0): Out Of Range Address", "Xid 13 0000:b5:00.0 gpc 1 tpc 3"),
    ("NVRM: Xid (PCI:0000:cb:00): 13, pid=9, name=python, Graphics SM Global Exception on (GPC 7, TPC 7, SM 0): Multiple Warp Errors", "Xid 13 0000:cb:00.0 gpc 7 tpc 7"),
    ("NVRM: Xid (PCI:0000:01:00): 13, Graphics SM Warp Exception on (GPC 0, TPC 0): Out Of Range Address", "Xid 13 0000:01:00.0 gpc 0 tpc 0"),
    ("NVRM: Xid (PCI:0002:00:00): 13, pid=2519562, name=python3, Graphics Exception: ChID 000c, Class 0000cbc0, Offset 00000000, Data 00000000", "Xid 13 0002:00:00.0"),
    ("NVRM: Xid (PCI:0000:3b:00): 45, pid=4242, name=python3, Ch 00000008", "Xid 45 0000:3b:00.0"),
    ("NVRM: Xid (PCI:0009:01:00): 45, pid=4242, name=python3, channel 0x00000008 caused by previous Xid 149", "Xid 45 0009:01:00.0 after 149"),
    // NVLink before Blackwell.
    ("NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)", "Xid 74 0003:00:00.0 link 14 r2=00010000"),
    ("NVRM: Xid (PCI:0000:b9:00): 74, pid=<unknown>, name=<unknown>, NVLink: fatal error detected on link 3(0x10000000, 0x0, 0x2, 0x0, 0x0, 0x0, 0x0)", "Xid 74 0000:b9:00.0 link 3 r0=10000000 r2=00000002"),
    ("NVRM: Xid (PCI:0000:b9:00): 74, NVLink: fatal error detected on link 6", "Xid 74 0000:b9:00.0 link 6"),
    ("NVRM: Xid (PCI:0000:b9:00): 74, NVLink: fatal error detected on link 17(0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7)", "Xid 74 0000:b9:00.0 link 17 r0=00000001 r2=00000003 r3=00000004 r4=00000005 +"),
    ("NVRM: Xid (PCI:0000:b9:00): 74, NVLink: fatal error detected on link 2(0x0, none, 0x123456789)", "Xid 74 0000:b9:00.0 link 2 r2=? r1=?"),
    // NVLink of Blackwell.
    ("NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)", "Xid 149 0009:01:00.0 NETIR_LINK_EVT Fatal link 1 i=021005c6 s=00000000"),
    ("NVRM: Xid (PCI:0000:00:1e): 145, pid=4, name=<unknown>, RLW_SRC_TRACK Nonfatal XC0 i1 Link 00 (0x00000001 0x00000002)", "Xid 145 0000:00:1e.0 RLW_SRC_TRACK Nonfatal link 0 i=00000001 s=00000002"),
    ("NVRM: Xid (PCI:0000:00:1e): 149, NETIR_LINK_EVT Fatal XC 1 i 2 Link 01 [0x0000000a]", "Xid 149 0000:00:1e.0 NETIR_LINK_EVT Fatal link 1 i=0000000a"),
    ("NVRM: Xid (PCI:0000:00:1e): 148, NVLPW_CTRL Fatal XC0 i0 Link -1", "Xid 148 0000:00:1e.0 NVLPW_CTRL Fatal link -1"),
    ("NVRM: Xid (PCI:0000:00:1e): 150, MSE Degraded Fatal XC0 i0 Link -1 (0x00000000 0xFFFFFFFF 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)", "Xid 150 0000:00:1e.0 Degraded Fatal link -1 i=00000000 s=ffffffff"),
    ("NVRM: Xid (PCI:0000:00:1e): 146, TLW_RX_PIPE1 Nonfatal XC1 i0 Link 17 [0xfc0ff94b 0x80000000 0xdeadbeef 0x1 0x2 0x3 0x4]", "Xid 146 0000:00:1e.0 TLW_RX_PIPE1 Nonfatal link 17 i=0000014b s=80000000"),
    // GSP.
    ("NVRM: Xid (PCI:0002:00:00): 119, pid=1582259, name=nvc:[driver], Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20802a02 0x8).", "Xid 119 0002:00:00.0"),
    ("NVRM: Xid (PCI:0002:00:00): 120, pid='<unknown>', name=<unknown>, GSP task exception: 0x5 @ pc:0x1234", "Xid 120 0002:00:00.0"),
    // What a newer driver may want of a GPU.
    ("NVRM: Xid (PCI:0000:af:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x5 (Recover IMEX Domain)", "Xid 154 0000:af:00.0 to 0x5"),
    // Codes that need no detail.
    ("NVRM: Xid (PCI:0000:13:00): 109, pid=4242, name=python, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x3c023", "Xid 109 0000:13:00.0"),
    ("NVRM: Xid (PCI:0000:13:00): 140, An uncorrectable ECC error detected (possible firmware handling failure) DRAM:-1840691462, LTC:0, MMU:0, PCIE:0", "Xid 140 0000:13:00.0"),
    ("NVRM: Xid (PCI:0000:13:00): 92, High single-bit ECC error rate", "Xid 92 0000:13:00.0"),
    // Unknown numbers, and numbers that are impossible.
    ("NVRM: Xid (PCI:0000:af:00): 999, pid=1, something new", "Xid 999 0000:af:00.0"),
    ("NVRM: Xid (PCI:0000:af:00): 149 NETIR_LINK_EVT", "Xid 149 0000:af:00.0"),
    ("NVRM: Xid (PCI:0000:af:00): 79", "Xid 79 0000:af:00.0"),
    ("NVRM: Xid (PCI:0000:af:00): 1234567890, pid=1, x", "Xid unreadable 0000:af:00.0"),
    ("NVRM: Xid (PCI:0000:af:00): seventy-nine", "Xid unreadable 0000:af:00.0"),
    ("NVRM: Xid (PCI:0000:af:00): 79GPU", "Xid unreadable 0000:af:00.0"),
    ("NVRM: Xid (PCI:0000:af:00): ", "Xid unreadable 0000:af:00.0"),
    // A process name is the tenant's: a comma in it moves nothing, and it is not looked into.
    ("NVRM: Xid (PCI:0000:af:00): 154, pid=1, name=a, b to 0x2, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "Xid 154 0000:af:00.0 to 0x1"),
    ("NVRM: Xid (PCI:0000:af:00): 13, pid=1, name=, (GPC 9, TPC 9, Graphics SM Warp Exception on (GPC 1, TPC 3, SM 0): x", "Xid 13 0000:af:00.0 gpc 1 tpc 3"),
    ("NVRM: Xid (PCI:0000:af:00): 64, pid=1, name=, table is full, Row Remapper Error: (0x0000000000abcdef) - All reserved rows for bank are remapped", "Xid 64 0000:af:00.0 no spare row in bank"),
    ("NVRM: Xid (PCI:0000:af:00): 149, pid=1, name=x, Fatal, NETIR_LINK_EVT Nonfatal XC0 i0 Link 09 (0x1 0x0)", "Xid 149 0000:af:00.0 NETIR_LINK_EVT Nonfatal link 9 i=00000001 s=00000000"),
];

#[test]
fn an_xid_names_the_gpu_the_number_and_what_tells_it_apart() {
    says(LINES);
}

#[test]
fn other_lines_of_the_driver_and_of_others_are_left_alone() {
    nothing(&[
        "NVRM: GPU at PCI:0000:01:00: GPU-c4a80165-86e4-bfbb-ecfa-1d81a70b138a",
        "NVRM: GPU Board Serial Number: 1320920044",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15",
        "foo: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:[1234]: segfault at 0 ip 00007f7c7ac69996 sp 00007f7c12fd7c30 error 4 in x): 79, y[7f0000+1000]",
    ]);
}
