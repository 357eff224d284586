/** Returns bytes as words, in a unit of which they are a tenth at least: those of small models in MiB, of which 0.01 GiB would
 *  say little. */
export function inBinaryUnits(bytes: number): string {
  if (bytes < 2 ** 10) return Math.round(bytes) === 1 ? "1 byte" : `${Math.round(bytes)} bytes`;
  if (bytes < 2 ** 20 / 10) return `${(bytes / 2 ** 10).toFixed(2)} KiB`;
  return bytes < 2 ** 30 / 10 ? `${(bytes / 2 ** 20).toFixed(2)} MiB` : `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}
