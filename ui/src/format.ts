// Formats numbers, times and durations for the page. Pure; the current time is always an argument.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const upToOneDigit = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });

export function count(value: number): string {
  return whole.format(value);
}

/** "1 node", "12 nodes". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** GPU-seconds as GPU-hours, with one decimal below 100. */
export function gpuHours(gpuSeconds: number): string {
  const hours = gpuSeconds / 3600;
  if (hours !== 0 && Math.abs(hours) < 0.05) return "<0.1";
  return Math.abs(hours) < 99.95 ? upToOneDigit.format(hours) : whole.format(hours);
}

/** GPU-seconds as GPU-hours, or a dash where the value is unknown. */
export function gpuHoursKnown(gpuSeconds: number | null): string {
  return gpuSeconds === null ? "–" : gpuHours(gpuSeconds);
}

/** Parts per million as percent; a hyphen-minus marks what is below zero. */
export function budgetPercent(ppm: number, digits = 1): string {
  return `${(ppm / 10_000).toLocaleString("en-GB", { maximumFractionDigits: digits })} %`;
}

/** Thousandths as a number: 28800 is "28.8". */
export function milli(thousandths: number): string {
  return (thousandths / 1000).toLocaleString("en-GB", { maximumFractionDigits: 2 });
}

/** The cost of GPU-seconds at a price per GPU-hour. */
export function money(gpuSeconds: number, price: Price): string {
  const amount = (gpuSeconds / 3600) * price.perGpuHour;
  const digits = amount !== 0 && Math.abs(amount) < 10 ? 2 : 0;
  const text = amount.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${price.sign}${text}`;
}

/** GPUs out of service, from the GPU-seconds per hour that they do not give. */
export function capacityGpus(gpuSecondsPerHour: number): string {
  return whole.format(gpuSecondsPerHour / 3600);
}

export interface Price {
  perGpuHour: number;
  sign: string;
}

/** A span of milliseconds in at most two units: "42 s", "3 min 20 s", "2 h 5 min", "4 d". */
export function span(ms: number): string {
  if (Math.abs(ms) < 9_950) return `${upToOneDigit.format(Math.abs(ms) / SECOND)} s`;
  // Truncated and not rounded, as in the command line: a duration never shows time that has not passed.
  const abs = Math.floor(Math.abs(ms) / SECOND) * SECOND;
  if (abs < MINUTE) return `${abs / SECOND} s`;
  if (abs < HOUR) return two(abs, MINUTE, "min", SECOND, "s");
  if (abs < DAY) return two(abs, HOUR, "h", MINUTE, "min");
  return two(abs, DAY, "d", HOUR, "h");
}

function two(ms: number, big: number, bigWord: string, small: number, smallWord: string): string {
  const bigs = Math.floor(ms / big);
  const smalls = Math.floor((ms - bigs * big) / small);
  return smalls === 0 ? `${bigs} ${bigWord}` : `${bigs} ${bigWord} ${smalls} ${smallWord}`;
}

/** A duration in one unit, for places where the width must not change every second. */
export function roughSpan(ms: number): string {
  const abs = Math.abs(ms);
  if (abs < MINUTE) return `${Math.floor(abs / SECOND)} s`;
  if (abs < HOUR) return `${Math.floor(abs / MINUTE)} min`;
  if (abs < DAY) return `${Math.floor(abs / HOUR)} h`;
  return `${Math.floor(abs / DAY)} d`;
}

export function ago(at: number, now: number): string {
  const gone = now - at;
  if (Math.abs(gone) < SECOND) return "now";
  return gone > 0 ? `${roughSpan(gone)} ago` : `in ${roughSpan(gone)}`;
}

/** The exact time, for a tooltip or a postmortem. */
export function moment(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}

/** Parts per million as a percentage with at most two digits that matter. */
export function share(ppm: number): string {
  const percent = ppm / 10_000;
  if (percent === 0) return "0 %";
  if (percent < 0.01) return "<0.01 %";
  if (percent < 1) return `${percent.toFixed(2)} %`;
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent).toString()} %`;
}

/** An API value in plain words: "InService" becomes "in service". */
export function inWords(value: string): string {
  return value.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

const NAMES: Record<string, string> = { NvlinkDomain: "NVLink domain", Pdu: "PDU" };

/** A failure domain or the suspected cause of an incident, as a noun: "rack", "PDU", "NVLink domain". */
export function kindWord(kind: string): string {
  return NAMES[kind] ?? inWords(kind);
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
