// One canvas with its camera: paints the fleet, and turns mouse, touch and key events into camera moves and selections. It
// does not depend on React or the server; its owner sets the scene and receives the events.

import { PALETTE, packed, type Theme } from "../palette";
import { fit, stepScale, toLayout, within, zoomAt, type Camera, type Window } from "./camera";
import type { NodeColours } from "./colouring";
import type { FleetColumns } from "./columns";
import { attachInput } from "./input";
import { nodeAt, nodeTowards, type Layout } from "./layout";
import { drawOverlay, type Marks } from "./overlay";
import { paint, type Pixels } from "./paint";

export interface Scene {
  fleet: FleetColumns;
  layout: Layout;
  colours: NodeColours;
  theme: Theme;
  marks: Marks;
}

export interface Pick {
  node: number;
  gpu: number;
  /** CSS pixels within the canvas. */
  x: number;
  y: number;
}

export interface SurfaceHooks {
  hovered(pick: Pick | null): void;
  picked(node: number | null): void;
  /** The keyboard cursor moved to a node. */
  reached(node: number): void;
  moved(camera: Camera): void;
}

export class Surface {
  readonly canvas: HTMLCanvasElement;
  camera: Camera = { x: 0, y: 0, scale: 1 };
  pixelRatio = 1;
  private readonly context: CanvasRenderingContext2D;
  private readonly hooks: SurfaceHooks;
  private readonly detach: () => void;
  private scene: Scene | null = null;
  private image: ImageData | null = null;
  private pixels: Pixels = { width: 0, height: 0, words: new Uint32Array(0) };
  private frame = 0;
  private fitted = true;
  private cursor: number | null = null;

  constructor(canvas: HTMLCanvasElement, hooks: SurfaceHooks) {
    const context = canvas.getContext("2d", { alpha: false });
    if (context === null) throw new Error("this browser does not support the canvas element");
    this.canvas = canvas;
    this.context = context;
    this.hooks = hooks;
    this.detach = attachInput(this);
  }

  close(): void {
    this.detach();
    cancelAnimationFrame(this.frame);
  }

  get window(): Window {
    return { width: this.canvas.width, height: this.canvas.height };
  }

  show(scene: Scene): void {
    const moved = this.scene === null || this.scene.layout !== scene.layout;
    this.scene = scene;
    if (moved && this.fitted) this.camera = fit(scene.layout, this.window);
    this.soon();
  }

  /** Resizes the canvas; the camera keeps its position unless it shows the whole fleet. */
  resize(cssWidth: number, cssHeight: number, pixelRatio: number): void {
    const width = Math.max(1, Math.round(cssWidth * pixelRatio));
    const height = Math.max(1, Math.round(cssHeight * pixelRatio));
    if (width === this.canvas.width && height === this.canvas.height && this.image !== null) return;
    this.pixelRatio = pixelRatio;
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = { width, height, words: new Uint32Array(this.image.data.buffer) };
    if (this.scene !== null && this.fitted) this.camera = fit(this.scene.layout, this.window);
    this.redraw();
  }

  look(camera: Camera): void {
    this.follow(camera);
    this.hooks.moved(this.camera);
  }

  whole(): void {
    this.follow(null);
    this.hooks.moved(this.camera);
  }

  /** Moves the camera without reporting it, because the address already has it; null shows the whole fleet. */
  follow(camera: Camera | null): void {
    if (this.scene === null) return;
    this.fitted = camera === null;
    this.camera = camera === null ? fit(this.scene.layout, this.window) : within(camera, this.scene.layout, this.window);
    this.soon();
  }

  get showsWhole(): boolean {
    return this.fitted;
  }

  zoom(steps: number, px = this.canvas.width / 2, py = this.canvas.height / 2): void {
    if (this.scene === null) return;
    const least = fit(this.scene.layout, this.window).scale;
    const scale = stepScale(this.camera.scale, steps, least);
    if (scale === least) this.whole();
    else if (scale !== this.camera.scale) this.look(zoomAt(this.camera, this.window, scale, px, py));
  }

  pan(px: number, py: number): void {
    const { x, y, scale } = this.camera;
    this.look({ scale, x: x - px / scale, y: y - py / scale });
  }

  /** Centres a node at a scale that separates it from its neighbours. */
  centre(node: number, scaleCss = 10): void {
    if (this.scene === null) return;
    const { layout } = this.scene;
    const scale = Math.max(this.camera.scale, Math.round(scaleCss * this.pixelRatio));
    this.look({ scale, x: (layout.nodeX[node] ?? 0) + layout.gpuColumns / 2, y: layout.nodeY[node] ?? 0 });
  }

  pickAt(cssX: number, cssY: number): Pick | null {
    if (this.scene === null) return null;
    const at = toLayout(this.camera, this.window, cssX * this.pixelRatio, cssY * this.pixelRatio);
    const found = nodeAt(this.scene.fleet, this.scene.layout, at.x, at.y);
    return found === null ? null : { ...found, x: cssX, y: cssY };
  }

  hover(cssX: number, cssY: number): void {
    this.hooks.hovered(this.pickAt(cssX, cssY));
  }

  leave(): void {
    this.hooks.hovered(null);
  }

  click(cssX: number, cssY: number): void {
    const pick = this.pickAt(cssX, cssY);
    if (pick !== null) this.cursor = pick.node;
    this.hooks.picked(pick?.node ?? null);
  }

  /** Moves the keyboard cursor by one node; the first key selects the middle of the window. */
  step(dx: number, dy: number): void {
    if (this.scene === null || this.scene.fleet.names.length === 0) return;
    const { layout } = this.scene;
    this.cursor = this.cursor === null ? this.middleNode() : nodeTowards(layout, this.cursor, dx, dy);
    this.keepInView(this.cursor);
    this.hooks.reached(this.cursor);
    this.soon();
  }

  enter(): void {
    if (this.cursor !== null) this.hooks.picked(this.cursor);
  }

  escape(): void {
    this.cursor = null;
    this.hooks.hovered(null);
    this.hooks.picked(null);
    this.soon();
  }

  /** Position of a node in CSS pixels. */
  placeOf(node: number): { x: number; y: number } {
    if (this.scene === null) return { x: 0, y: 0 };
    const { layout } = this.scene;
    const { width, height } = this.window;
    const px = width / 2 + ((layout.nodeX[node] ?? 0) + layout.gpuColumns / 2 - this.camera.x) * this.camera.scale;
    const py = height / 2 + ((layout.nodeY[node] ?? 0) + 1 - this.camera.y) * this.camera.scale;
    return { x: px / this.pixelRatio, y: py / this.pixelRatio };
  }

  soon(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.redraw();
    });
  }

  /** Paints everything now; returns the time in milliseconds. */
  redraw(): number {
    const { scene, image } = this;
    if (scene === null || image === null) return 0;
    const began = performance.now();
    const palette = PALETTE[scene.theme];
    paint(this.pixels, scene.fleet, scene.layout, this.camera, scene.colours, packed(palette.backdrop), packed(palette.rack));
    this.context.putImageData(image, 0, 0);
    const marks = { ...scene.marks, cursor: document.activeElement === this.canvas ? this.cursor : null };
    drawOverlay(this.context, this.window, this.pixelRatio, scene.fleet, scene.layout, this.camera, palette, marks);
    return performance.now() - began;
  }

  /** Time to copy the same number of pixels on this machine, in milliseconds: the baseline for redraws. */
  bareCopy(): number {
    if (this.image === null) return 0;
    const began = performance.now();
    this.context.putImageData(this.image, 0, 0);
    return performance.now() - began;
  }

  private middleNode(): number {
    if (this.scene === null) return 0;
    const { layout } = this.scene;
    let best = 0;
    let least = Infinity;
    for (let node = 0; node < layout.nodeX.length; node += 1) {
      const far = Math.hypot((layout.nodeX[node] ?? 0) - this.camera.x, (layout.nodeY[node] ?? 0) - this.camera.y);
      if (far < least) {
        least = far;
        best = node;
      }
    }
    return best;
  }

  private keepInView(node: number): void {
    const { x, y } = this.placeOf(node);
    const edge = 32;
    const width = this.canvas.width / this.pixelRatio;
    const height = this.canvas.height / this.pixelRatio;
    if (x > edge && y > edge && x < width - edge && y < height - edge) return;
    if (this.scene === null) return;
    const { layout } = this.scene;
    this.look({ ...this.camera, x: layout.nodeX[node] ?? 0, y: layout.nodeY[node] ?? 0 });
  }
}
