/** A time with a fitting unit: `12.3 µs`, `4.56 ms`, `7.89 s`. */
export function formatUs(us: number): string {
  if (us < 1e3) return `${us.toFixed(us < 100 ? 1 : 0)} µs`;
  if (us < 1e6) return `${(us / 1e3).toPrecision(3)} ms`;
  return `${(us / 1e6).toPrecision(us < 1e9 ? 3 : 5)} s`;
}

/** A size with a fitting unit: `512 B`, `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, unit] = [bytes, 0];
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toPrecision(3)} ${units[unit]}`;
}

/** Arithmetic with a fitting unit: `88.0 GFLOP/s`, `612 TFLOP/s`. */
export function formatFlopRate(flopsPerUs: number): string {
  const [value, unit] = flopsPerUs >= 1e6 ? [flopsPerUs / 1e6, "TFLOP/s"] : [flopsPerUs / 1e3, "GFLOP/s"];
  return `${formatNumber(value)} ${unit}`;
}

/** A number of at most three figures, without an exponent; a dash for what there is none of. */
export function formatNumber(value: number | null): string {
  if (value === null) return "–";
  if (value >= 100) return Math.round(value).toString();
  return value === 0 ? "0" : value.toFixed(value >= 10 ? 1 : value >= 0.1 ? 2 : 4);
}
