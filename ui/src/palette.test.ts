import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { STAGES } from "./contract";
import { contrast, luminance, PALETTE, ramp, rgb, type Rgb, type Theme } from "./palette";

const themes: Theme[] = ["light", "dark"];

describe.each(themes)("in the %s", (theme) => {
  const palette = PALETTE[theme];

  it("text and marks have a contrast of 4.5 on every background", () => {
    const inks = [palette.text, palette.muted, palette.accent, palette.alarm, ...STAGES.map((stage) => palette.stage[stage].ink)];
    for (const ink of inks) {
      for (const ground of [palette.page, palette.surface, palette.backdrop]) {
        expect(contrast(ink, ground), `${ink} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
    }
  });

  it("stages that need attention differ from each other and from in service, also with deuteranopia", () => {
    const seen = ["InService", "Suspect", "Quarantined", "Draining", "Repairing", "Qualifying", "Held"] as const;
    for (const [index, first] of seen.entries()) {
      for (const second of seen.slice(index + 1)) {
        const a = palette.stage[first].fill;
        const b = palette.stage[second].fill;
        expect(apart(deuteranopia(rgb(a)), deuteranopia(rgb(b))), `${first} and ${second}`).toBeGreaterThan(40);
      }
    }
  });

  it("a ramp rises in lightness in one direction only", () => {
    const steps = ramp(theme, 7).map(luminance);
    const rising = theme === "dark" ? steps : [...steps].reverse();
    for (let step = 1; step < rising.length; step += 1) expect(rising[step]).toBeGreaterThan(rising[step - 1] ?? 0);
  });

  it("the style sheet uses the same colours", () => {
    const css = readFileSync(new URL("styles/colours.css", import.meta.url), "utf8");
    for (const stage of STAGES) {
      expect(css).toContain(`--${stage.toLowerCase()}-fill: ${palette.stage[stage].fill};`);
      expect(css).toContain(`--${stage.toLowerCase()}-ink: ${palette.stage[stage].ink};`);
    }
    for (const name of ["page", "surface", "text", "muted", "backdrop", "rack", "outline", "accent", "alarm"] as const) {
      expect(css).toContain(`--${name}: ${palette[name]};`);
    }
  });
});

/** Machado, Oliveira and Fernandes 2009, severity 1, on linear light. */
function deuteranopia(colour: Rgb): Rgb {
  const [red, green, blue] = colour.map((channel) => (channel / 255) ** 2.2) as Rgb;
  const seen: Rgb = [
    0.367322 * red + 0.860646 * green - 0.227968 * blue,
    0.280085 * red + 0.672501 * green + 0.047413 * blue,
    -0.01182 * red + 0.04294 * green + 0.968881 * blue,
  ];
  return seen.map((channel) => 255 * Math.min(1, Math.max(0, channel)) ** (1 / 2.2)) as Rgb;
}

function apart(first: Rgb, second: Rgb): number {
  return Math.hypot(first[0] - second[0], first[1] - second[1], first[2] - second[2]);
}
