// Numbers, moments and spans in words a tired reader takes in at once. Pure; the clock is always an argument.

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

/** GPU-seconds as GPU-hours, with a digit only where it says something. */
export function gpuHours(gpuSeconds: number): string {
  const hours = gpuSeconds / 3600;
  if (hours !== 0 && Math.abs(hours) < 0.05) return "<0.1";
  return Math.abs(hours) < 99.95 ? upToOneDigit.format(hours) : whole.format(hours);
}

/** The same, where it may not be known. */
export function gpuHoursKnown(gpuSeconds: number | null): string {
  return gpuSeconds === null ? "–" : gpuHours(gpuSeconds);
}

/** What GPU-seconds cost at a price per GPU-hour. */
export function money(gpuSeconds: number, price: Price): string {
  const amount = (gpuSeconds / 3600) * price.perGpuHour;
  const digits = amount !== 0 && Math.abs(amount) < 10 ? 2 : 0;
  const text = amount.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${price.sign}${text}`;
}

export interface Price {
  perGpuHour: number;
  sign: string;
}

/** A span of milliseconds in at most two units: "42 s", "3 min 20 s", "2 h 5 min", "4 d". */
export function span(ms: number): string {
  if (Math.abs(ms) < 9_950) return `${upToOneDigit.format(Math.abs(ms) / SECOND)} s`;
  // Cut, not rounded, as everywhere in the program: what has not happened yet is not said.
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

/** One unit only, for places where the width must not change with every second. */
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

/** The exact moment, for a hover or a postmortem. */
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

/** "InService" as people say it: "in service". */
export function said(word: string): string {
  return word.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
