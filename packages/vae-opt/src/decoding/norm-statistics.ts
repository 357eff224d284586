/** Mean and 1/sqrt(variance + eps) of a norm's groups over part of a clip, [1,groups,2], and how large the part is. */
export interface PartStatistics {
  values: Float32Array;
  /** Pixels, in any unit. */
  weight: number;
}

/** Returns the statistics over all parts together, [groups,2]: sums of values and squares follow from each part's. */
export function joinStatistics(parts: readonly PartStatistics[], eps: number): Float32Array {
  const numGroups = parts[0]!.values.length / 2;
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  const result = new Float32Array(2 * numGroups);
  for (let group = 0; group < numGroups; group++) {
    let [mean, square] = [0, 0];
    for (const { values, weight } of parts) {
      const [partMean, inverse] = [values[2 * group]!, values[2 * group + 1]!];
      mean += (weight / total) * partMean;
      square += (weight / total) * (Math.max(1 / (inverse * inverse) - eps, 0) + partMean * partMean);
    }
    result[2 * group] = mean;
    result[2 * group + 1] = 1 / Math.sqrt(Math.max(square - mean * mean, 0) + eps);
  }
  return result;
}
