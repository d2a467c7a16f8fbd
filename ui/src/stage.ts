// A stage is shown by shape, word and colour together. The shapes are outlines on a 16 by 16 grid, drawn the same way
// by the pages (SVG) and by the map (canvas).

import type { Stage } from "./contract";

export const STAGE_WORD: Record<Stage, string> = {
  InService: "in service",
  Suspect: "suspect",
  Quarantined: "quarantined",
  Draining: "draining",
  Repairing: "repairing",
  Qualifying: "qualifying",
  Maintenance: "in maintenance",
  Upgrading: "upgrading",
  Held: "held",
  Bootstrapping: "bootstrapping",
  Retired: "retired",
};

const DISC = "M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0 -12Z";
const RING = `${DISC}M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0 -8Z`;

/** Filled by the even-odd rule. */
export const STAGE_SHAPE: Record<Stage, string> = {
  InService: DISC,
  Suspect: `${DISC}M8 4v8a4 4 0 0 0 0 -8Z`,
  Quarantined: "M8 2L14.5 13.5H1.5Z",
  Draining: "M8 14L1.5 2.5H14.5Z",
  Repairing: "M6 2H10V6H14V10H10V14H6V10H2V6H6Z",
  Qualifying: "M8 1L15 8L8 15L1 8ZM8 4.2L4.2 8L8 11.8L11.8 8Z",
  Maintenance: "M2.5 2.5H13.5V13.5H2.5ZM8.2 4.3V11.7H11.7V4.3Z",
  Upgrading: "M8 1.5L14 8H10.5V14.5H5.5V8H2Z",
  Held: "M2.5 2.5H13.5V13.5H2.5Z",
  Bootstrapping: RING,
  Retired: "M3.8 2L8 6.2L12.2 2L14 3.8L9.8 8L14 12.2L12.2 14L8 9.8L3.8 14L2 12.2L6.2 8L2 3.8Z",
};
