import { throwIfAborted } from "@vd/kernels-native";
import { checkPlace, writeWholeFile } from "@vd/tensor";
import type { Dependencies } from "../dependencies";
import { driftPage } from "../drift/drift-page";
import type { DriftSettings } from "../options/settings";
import { clipOptions, guardOf } from "./session-options";

/**
 * Plays a long game and writes what became of it: a page with plots, and the measures as JSON where a file is named.
 *
 * @throws VdError what opening a session throws; `io` for the files
 */
export async function drift(settings: DriftSettings, dependencies: Dependencies): Promise<void> {
  const { stdout, stderr, signal } = dependencies;
  const { model, start, seed, steps, device, threads, frames, every, output, json } = settings;
  await checkPlace(output, { where: "--output" });
  if (json !== undefined) await checkPlace(json, { where: "--json" });
  const guard = guardOf(settings);
  let tenth = 0;
  const report = await dependencies.measureDrift({
    ...{ model, start, seed, steps, device, threads, guard, frames, everyFrames: every, signal },
    ...(await clipOptions(settings)),
    onMeasure: ({ frame }) => {
      const now = Math.floor((10 * frame) / frames);
      if (now > tenth) stderr.write(`frame ${frame} of ${frames}\n`);
      tenth = Math.max(tenth, now);
    },
  });
  throwIfAborted(signal, "vd-live drift");
  await writeWholeFile(output, driftPage(report), { where: "--output" });
  if (json !== undefined) await writeWholeFile(json, `${JSON.stringify(report, null, 2)}\n`, { where: "--json" });
  const { atStart, atEnd, collapsed } = report;
  const line = (name: string, { contrast, detail, temporal, colourDrift, collapse }: typeof atStart) =>
    `  ${name.padEnd(6)} ${[contrast, detail, temporal, colourDrift, collapse].map((value) => value.toFixed(3).padStart(9)).join(" ")}\n`;
  stdout.write(
    `${report.model}, ${report.frames} frames from ${report.start}: ${collapsed ? "the picture has collapsed" : "the picture lives"}\n` +
      `  ${"".padEnd(6)} ${["contrast", "detail", "motion", "colours", "collapse"].map((name) => name.padStart(9)).join(" ")}\n` +
      `${line("start", atStart)}${line("end", atEnd)}${output} has the plots.\n`,
  );
}
