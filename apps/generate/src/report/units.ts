const MICROSECONDS_PER_SECOND = 1e6;

/** @returns µs as text: `85 ms`, `4.20 s`, `3 min 05 s`, `2 h 10 min`. */
export function formatDuration(durationUs: number): string {
  const seconds = durationUs / MICROSECONDS_PER_SECOND;
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.995) return `${seconds.toFixed(2)} s`;
  if (seconds < 99.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** @returns bytes as text in powers of 1024: `900 B`, `21.3 KiB`, `412 MiB`, `7.94 GiB`. */
export function formatBytes(bytes: number): string {
  return scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

/** @returns a count of floating-point operations in powers of 1000: `204 GFLOP`. */
export function formatFlops(flops: number): string {
  return scaled(flops, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"]);
}

/** @returns steps over time as text: `6.21 it/s`, or `2.50 s/it` when a step takes longer than a second. */
export function formatRate(stepUs: number): string {
  if (stepUs > MICROSECONDS_PER_SECOND) return `${formatDuration(stepUs)}/it`;
  return `${threeDigits(MICROSECONDS_PER_SECOND / stepUs)} it/s`;
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let index = 0;
  let rest = value;
  while (rest >= base * 0.9995 && index < units.length - 1) {
    rest /= base;
    index++;
  }
  return `${index === 0 ? Math.round(rest) : threeDigits(rest)} ${units[index]}`;
}

function threeDigits(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}
