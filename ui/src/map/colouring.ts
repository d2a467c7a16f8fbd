// The colours of the map: each colouring sorts nodes into classes with a name, a colour and a count. The legend shows the
// classes; a click on one highlights it.

import { PALETTE, packed, mix, ramp, type Theme } from "../palette";
import { STAGES, type Stage } from "../contract";
import { STAGE_WORD } from "../stage";
import { UNKNOWN_CELSIUS, type FleetColumns } from "./columns";

export const COLOURINGS = ["stage", "risk", "errors", "job", "version", "temperature", "power"] as const;
export type Colouring = (typeof COLOURINGS)[number];

export function colouringFrom(text: string | undefined): Colouring {
  return COLOURINGS.find((word) => word === text) ?? "stage";
}

/** Whether the server reports this value; the page offers only colourings with data. */
export function isReported(colouring: Colouring, fleet: FleetColumns): boolean {
  if (colouring === "temperature") return fleet.celsius !== null;
  if (colouring === "power") return fleet.decawatts !== null;
  return true;
}

export interface ColourClass {
  /** Name of the class in the address bar. */
  key: string;
  label: string;
  colour: string;
  gpus: number;
  stage?: Stage;
}

export interface Coloured {
  colouring: Colouring;
  classes: ColourClass[];
  classOf: Uint16Array;
  /** Only in `errors`: the class of a GPU with an open finding, where that differs from its node's. */
  sickClass: number | null;
  /** False where the server does not report this value. */
  known: boolean;
  unit: string;
}

/** Upper bounds of the classes; the last class has none. A node without past faults has 0.9 %, and a lemon 21.5 % or more. */
const RISK_PPM = [10_000, 20_000, 40_000, 80_000, 140_000, 215_000];
const CELSIUS = [40, 50, 60, 70, 80, 90];
const DECAWATTS = [10, 25, 40, 55, 70, 85];

export function colourBy(fleet: FleetColumns, colouring: Colouring, theme: Theme): Coloured {
  switch (colouring) {
    case "stage":
      return byStage(fleet, theme);
    case "risk":
      return byStep(fleet, theme, { colouring, values: fleet.riskPpm, bounds: RISK_PPM, text: (ppm) => `${ppm / 10_000} %`, unit: "repair risk, 7 days" });
    case "errors":
      return byErrors(fleet, theme);
    case "job":
      return byKind(fleet, theme, colouring, fleet.job, ["no job", ...fleet.jobs.map((job) => job.name)], ["none", ...fleet.jobs.map((job) => job.id)]);
    case "version":
      return byKind(fleet, theme, colouring, fleet.version, fleet.versions, fleet.versions);
    case "temperature":
      return byStep(fleet, theme, { colouring, values: fleet.celsius, bounds: CELSIUS, text: (value) => `${value} °C`, unit: "hottest GPU of the node", unknown: UNKNOWN_CELSIUS });
    case "power":
      return byStep(fleet, theme, { colouring, values: fleet.decawatts, bounds: DECAWATTS, text: (value) => `${value * 10} W`, unit: "mean power per GPU", unknown: UNKNOWN_CELSIUS });
  }
}

function byStage(fleet: FleetColumns, theme: Theme): Coloured {
  const place = fleet.stages.map((stage) => Math.max(0, STAGES.indexOf(stage)));
  const classOf = Uint16Array.from(fleet.stage, (stage) => place[stage] ?? 0);
  const classes = STAGES.map((stage) => ({
    key: stage,
    label: STAGE_WORD[stage],
    colour: PALETTE[theme].stage[stage].fill,
    gpus: 0,
    stage,
  }));
  return counted({ colouring: "stage", classes, classOf, sickClass: null, known: true, unit: "node stage" }, fleet);
}

interface Steps {
  colouring: Colouring;
  values: ArrayLike<number> | null;
  bounds: number[];
  text: (value: number) => string;
  unit: string;
  unknown?: number;
}

function byStep(fleet: FleetColumns, theme: Theme, steps: Steps): Coloured {
  const { bounds, text, values, unknown } = steps;
  const colours = ramp(theme, bounds.length + 1);
  const classes: ColourClass[] = colours.map((colour, step) => {
    const low = bounds[step - 1];
    const high = bounds[step];
    const label = low === undefined ? `below ${text(high ?? 0)}` : high === undefined ? `${text(low)} or more` : `${bare(text(low))}–${text(high)}`;
    return { key: `${step}`, label, colour, gpus: 0 };
  });
  classes.push({ key: "unknown", label: "not known", colour: PALETTE[theme].none, gpus: 0 });
  const last = classes.length - 1;
  const classOf = new Uint16Array(fleet.names.length);
  for (let node = 0; node < classOf.length; node += 1) {
    const value = values?.[node];
    classOf[node] = value === undefined || value === unknown ? last : stepOf(value, bounds);
  }
  return counted({ colouring: steps.colouring, classes, classOf, sickClass: null, known: values !== null, unit: steps.unit }, fleet);
}

/** A number without its unit, for the start of a range. */
function bare(text: string): string {
  return text.split(" ")[0] ?? text;
}

function stepOf(value: number, bounds: number[]): number {
  const step = bounds.findIndex((bound) => value < bound);
  return step === -1 ? bounds.length : step;
}

const NO_FINDING = 0;
const SAME_NODE = 1;
const WITH_FINDING = 2;

function byErrors(fleet: FleetColumns, theme: Theme): Coloured {
  const palette = PALETTE[theme];
  const classes: ColourClass[] = [
    { key: "none", label: "no finding", colour: palette.none, gpus: 0 },
    { key: "same-node", label: "on the same node", colour: mix(palette.stage.Suspect.fill, palette.backdrop, 0.45), gpus: 0 },
    { key: "open", label: "open finding", colour: palette.stage.Quarantined.fill, gpus: 0 },
  ];
  const classOf = Uint16Array.from(fleet.faultyGpus, (mask) => (mask === 0 ? NO_FINDING : SAME_NODE));
  for (const mask of fleet.faultyGpus) {
    const sick = bits(mask);
    const [none, others, open] = classes as [ColourClass, ColourClass, ColourClass];
    open.gpus += sick;
    if (sick === 0) none.gpus += fleet.gpusPerNode;
    else others.gpus += fleet.gpusPerNode - sick;
  }
  return { colouring: "errors", classes, classOf, sickClass: WITH_FINDING, known: true, unit: "open findings" };
}

function byKind(fleet: FleetColumns, theme: Theme, colouring: Colouring, column: ArrayLike<number>, labels: string[], keys: string[]): Coloured {
  const palette = PALETTE[theme];
  const plain = colouring === "job" ? 1 : 0;
  const classes = labels.map((label, index) => ({
    key: keys[index] ?? label,
    label,
    colour: index < plain ? palette.none : kindColour(palette.kinds, index - plain, palette.backdrop),
    gpus: 0,
  }));
  const classOf = Uint16Array.from({ length: fleet.names.length }, (_, node) => column[node] ?? 0);
  const unit = colouring === "job" ? "job" : "driver version";
  const made = counted({ colouring, classes, classOf, sickClass: null, known: labels.length > 0, unit }, fleet);
  // The most common version is neutral, so that other versions are easy to see.
  if (colouring === "version") {
    const usual = classes.reduce<ColourClass | undefined>((most, found) => (most === undefined || found.gpus > most.gpus ? found : most), undefined);
    if (usual !== undefined) usual.colour = palette.stage.InService.fill;
  }
  return made;
}

/** Ten hues, then the same hues paler, so that neighbours in the list never share one. */
function kindColour(kinds: string[], index: number, backdrop: string): string {
  const hue = kinds[index % kinds.length] ?? "#888888";
  const round = Math.floor(index / kinds.length) % 3;
  return round === 0 ? hue : mix(hue, backdrop, 0.28 * round);
}

function counted(coloured: Coloured, fleet: FleetColumns): Coloured {
  for (const index of coloured.classOf) {
    const found = coloured.classes[index];
    if (found !== undefined) found.gpus += fleet.gpusPerNode;
  }
  return coloured;
}

export function bits(mask: number): number {
  let rest = mask;
  let ones = 0;
  while (rest !== 0) {
    rest &= rest - 1;
    ones += 1;
  }
  return ones;
}

/** Packed colours for painting: one per node, and one for its GPUs with a finding. */
export interface NodeColours {
  node: Uint32Array;
  sick: Uint32Array;
}

export interface Emphasis {
  /** Keys of classes to keep; empty keeps all. */
  show: ReadonlySet<string>;
  /** Nodes to keep, such as the gang of a job; null keeps all. */
  nodes: ReadonlySet<number> | null;
  /** How strongly other nodes are dimmed. Hovering dims them only a little, so that the map does not flicker. */
  others?: "far" | "little";
}

/** How far other nodes are mixed with the background. */
const DIMMED = 0.7;
const DIMMED_BY_TRACE = { far: 0.82, little: 0.4 };
const EXPLAINED = 0.55;

export function nodeColours(fleet: FleetColumns, coloured: Coloured, emphasis: Emphasis, theme: Theme): NodeColours {
  const palette = PALETTE[theme];
  const bright = coloured.classes.map((found) => packed(found.colour));
  const dim = coloured.classes.map((found) => packed(mix(found.colour, palette.backdrop, emphasis.nodes === null ? DIMMED : DIMMED_BY_TRACE[emphasis.others ?? "far"])));
  const shown = coloured.classes.map((found) => emphasis.show.size === 0 || emphasis.show.has(found.key));
  // The nodes of a highlighted job are neutral: grey on grey or one hue of ten would be hard to see.
  const lit = packed(palette.lit);
  const quiet = STAGES.indexOf("InService");
  const lights = (own: number) => coloured.colouring === "job" || (coloured.colouring === "stage" && own === quiet);
  // Nodes that a suspected leaf explains are paler: the leaf shows as one outlined block.
  const explained = coloured.classes.map((found) => packed(mix(found.colour, palette.backdrop, EXPLAINED)));
  const node = new Uint32Array(fleet.names.length);
  const sick = new Uint32Array(fleet.names.length);
  for (let index = 0; index < node.length; index += 1) {
    const own = coloured.classOf[index] ?? 0;
    const meant = emphasis.nodes === null || emphasis.nodes.has(index);
    const suspected = coloured.colouring === "stage" && fleet.leaves[fleet.leafOf[index] ?? 0]?.faulty != null;
    const from = (place: number) => (meant && shown[place] === true ? (suspected ? explained : bright) : dim)[place] ?? 0;
    node[index] = emphasis.nodes !== null && meant && lights(own) ? lit : from(own);
    sick[index] = coloured.sickClass === null ? (node[index] ?? 0) : from(coloured.sickClass);
  }
  return { node, sick };
}
