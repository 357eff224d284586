import { areaY, lineY, type PlotOptions, ruleY } from "@observablehq/plot";
import { figure } from "../charts/figure";
import type { ProfileReport } from "../report/types";

const [MIB, GIB] = [2 ** 20, 2 ** 30];

/** Planned and packed memory of the loaded plans over time. */
export function memoryChart({ memory, wallUs, peakBytes }: ProfileReport): string {
  if (memory.length === 0) return "<p>No plan was loaded.</p>";
  const unit = peakBytes >= GIB ? { bytes: GIB, name: "GiB" } : { bytes: MIB, name: "MiB" };
  const steps = [{ atUs: 0, bytes: 0 }, ...memory, { atUs: wallUs, bytes: memory[memory.length - 1]!.bytes }];
  const points = steps.map(({ atUs, bytes }) => ({ s: atUs / 1e6, value: bytes / unit.bytes }));
  const options = (width: number): PlotOptions => ({
    height: 220,
    ...{ marginLeft: 56, marginBottom: 38, marginRight: 16 },
    x: { label: "s", domain: [0, wallUs / 1e6], ticks: width < 600 ? 4 : 10 },
    y: { label: unit.name, grid: true, ticks: 5 },
    marks: [
      areaY(points, { x: "s", y: "value", curve: "step-after", fill: "var(--memory)", fillOpacity: 0.35 }),
      lineY(points, { x: "s", y: "value", curve: "step-after", stroke: "var(--memory)" }),
      ruleY([0]),
    ],
  });
  return figure("Planned memory over time", options);
}
