// Colours by meaning. The hues are by Okabe and Ito and remain distinct with colour blindness. "In service" is a neutral
// grey, because colour is reserved for nodes that need attention. `fill` paints squares on the map; `ink` is for text and
// marks on a page, with a contrast of at least 4.5:1. The tests check both.

import type { Stage } from "./contract";

export type Theme = "light" | "dark";

export interface Tone {
  fill: string;
  ink: string;
}

export interface ThemePalette {
  page: string;
  surface: string;
  text: string;
  muted: string;
  /** Behind the squares of the map. */
  backdrop: string;
  rack: string;
  outline: string;
  accent: string;
  alarm: string;
  /** The nodes of a highlighted job. Neutral, because every hue already has a meaning for a node. */
  lit: string;
  stage: Record<Stage, Tone>;
  /** For categories without an order, such as jobs and versions; neighbours differ in hue and in lightness. */
  kinds: string[];
  none: string;
}

export const PALETTE: Record<Theme, ThemePalette> = {
  light: {
    page: "#f7f8f9",
    surface: "#ffffff",
    text: "#1a1f26",
    muted: "#56606c",
    backdrop: "#f1f3f5",
    rack: "#e4e8ec",
    outline: "#8a95a1",
    accent: "#0068a3",
    alarm: "#a83f00",
    lit: "#5d6875",
    stage: {
      InService: { fill: "#b9c2cc", ink: "#56606c" },
      Suspect: { fill: "#e69f00", ink: "#875a00" },
      Quarantined: { fill: "#d55e00", ink: "#a83f00" },
      Draining: { fill: "#b85a91", ink: "#994074" },
      Repairing: { fill: "#0072b2", ink: "#0068a3" },
      Qualifying: { fill: "#56b4e9", ink: "#0d6a9a" },
      Maintenance: { fill: "#009e73", ink: "#00704f" },
      Upgrading: { fill: "#ece133", ink: "#676000" },
      Held: { fill: "#20262e", ink: "#20262e" },
      Bootstrapping: { fill: "#d3dce8", ink: "#56606c" },
      Retired: { fill: "#e2e5e8", ink: "#56606c" },
    },
    kinds: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c7b00", "#6a4c93", "#5f6b78", "#00616b"],
    none: "#d9dee3",
  },
  dark: {
    page: "#0e1217",
    surface: "#151a21",
    text: "#e7eaee",
    muted: "#9aa6b2",
    backdrop: "#0b0f13",
    rack: "#161c23",
    outline: "#5d6a77",
    accent: "#63b3f0",
    alarm: "#ff9257",
    lit: "#b9c4d0",
    stage: {
      InService: { fill: "#3c4753", ink: "#9aa6b2" },
      Suspect: { fill: "#e69f00", ink: "#efae24" },
      Quarantined: { fill: "#e0640a", ink: "#ff9257" },
      Draining: { fill: "#cc79a7", ink: "#e09bc1" },
      Repairing: { fill: "#1480c4", ink: "#63b3f0" },
      Qualifying: { fill: "#7cc8f4", ink: "#8dd0f7" },
      Maintenance: { fill: "#00a87b", ink: "#3cc79e" },
      Upgrading: { fill: "#f0e442", ink: "#f0e442" },
      Held: { fill: "#f4f6f8", ink: "#f4f6f8" },
      Bootstrapping: { fill: "#53637a", ink: "#9aa6b2" },
      Retired: { fill: "#1d232a", ink: "#9aa6b2" },
    },
    kinds: ["#3a9bdc", "#e69f00", "#00a87b", "#cc79a7", "#8dd0f7", "#e0640a", "#c9bb2d", "#9f83cf", "#8593a1", "#2f9aa5"],
    none: "#262e37",
  },
};

/** Cividis, sampled evenly: lightness rises in the same order with every kind of colour vision. */
const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];

/**
 * Returns `steps` colours from low to high values. High values contrast with the page, so the light theme reverses the
 * ramp and mixes its yellow end with the background: most of a fleet has low values and should stay quiet.
 */
export function ramp(theme: Theme, steps: number): string[] {
  const from = theme === "dark" ? CIVIDIS : [...CIVIDIS].reverse();
  return Array.from({ length: steps }, (_, step) => {
    const part = steps === 1 ? 1 : step / (steps - 1);
    const colour = from[Math.round(part * (from.length - 1))] ?? "#888888";
    return theme === "dark" ? colour : mix(colour, PALETTE.light.backdrop, 0.7 * (1 - part));
  });
}

export type Rgb = [number, number, number];

export function rgb(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** A colour as one little-endian 32-bit value of ImageData. */
export function packed(hex: string): number {
  const [red, green, blue] = rgb(hex);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Between two colours; 0 is the first. */
export function mix(first: string, second: string, part: number): string {
  const a = rgb(first);
  const b = rgb(second);
  const channel = (index: 0 | 1 | 2) =>
    Math.round(a[index] + (b[index] - a[index]) * part)
      .toString(16)
      .padStart(2, "0");
  return `#${channel(0)}${channel(1)}${channel(2)}`;
}

/** Relative luminance and contrast as WCAG 2 defines them. */
export function luminance(hex: string): number {
  const [red, green, blue] = rgb(hex).map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(first: string, second: string): number {
  const a = luminance(first);
  const b = luminance(second);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
