/// <reference lib="dom" />
import { element } from "./element";

/** Frames that the graph shows. */
const FRAMES = 150;
/** The top of the graph in deadlines, at most. */
const HIGHEST = 4;

/** The time that each of the newest frames took. */
export class Graph {
  private readonly canvas = element<HTMLCanvasElement>("graph");
  private readonly values: number[] = [];
  private isDue = false;

  /** deadlineMs: where the line stands. everyMs: time between two drawings at least; 0 for every display refresh. */
  constructor(
    private deadlineMs: number,
    private readonly everyMs: number,
  ) {}

  setDeadline(deadlineMs: number): void {
    this.deadlineMs = deadlineMs;
  }

  add(latencyMs: number): void {
    this.values.push(latencyMs);
    if (this.values.length > FRAMES) this.values.shift();
    if (this.isDue) return;
    this.isDue = true;
    setTimeout(() => requestAnimationFrame(() => this.draw()), this.everyMs);
  }

  private draw(): void {
    this.isDue = false;
    const { canvas, values, deadlineMs } = this;
    const ratio = window.devicePixelRatio;
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d")!;
    const style = getComputedStyle(document.documentElement);
    // One frame that took very long does not make all others invisible.
    const top = Math.min(Math.max(deadlineMs * 1.5, ...values), deadlineMs * HIGHEST);
    const y = (ms: number) => height - (Math.min(ms, top) / top) * (height - 2 * ratio);
    context.fillStyle = style.getPropertyValue("--graph");
    const step = width / FRAMES;
    values.forEach((ms, i) => {
      const x = (FRAMES - values.length + i) * step;
      context.fillRect(x, y(ms), Math.max(1, step - ratio), height - y(ms));
    });
    context.strokeStyle = style.getPropertyValue("--error");
    context.lineWidth = ratio;
    context.setLineDash([4 * ratio, 3 * ratio]);
    context.beginPath();
    context.moveTo(0, y(deadlineMs));
    context.lineTo(width, y(deadlineMs));
    context.stroke();
  }
}
