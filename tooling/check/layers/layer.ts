/** A layer of docs/architecture.md; an import goes to a lower rank or stays in its own layer. */
export interface Layer {
  name: string;
  rank: number;
}

const layer = (rank: number, name: string): Layer => ({ rank, name });

/** Layers by the beginning of a file's path, the longest first. An index.ts of a package re-exports all of it, so it
 *  stands where the package's highest layer stands. */
const LAYERS: readonly (readonly [pattern: RegExp, layer: Layer])[] = [
  [/^packages\/kernels-cuda\//, layer(1, "device code")],
  [/^packages\/kernels-native\//, layer(2, "op")],
  [/^packages\/tensor\/src\/(nn\/|index\.ts$)/, layer(4, "nn")],
  [/^packages\/tensor\/src\//, layer(3, "tensor")],
  [/^packages\/tensor\//, layer(4, "nn")],
  [/^packages\/conformance\//, layer(4.5, "conformance")],
  [/^packages\/hub\//, layer(4.5, "hub")],
  [/^packages\/media\//, layer(4.5, "media")],
  [/^packages\/sampling\//, layer(4.5, "sampling")],
  [/^packages\/profiler\//, layer(4.5, "profiler")],
  [/^packages\/vae-opt\//, layer(5, "model")],
  [/^packages\/svd-pipeline\/src\/models\//, layer(5, "model")],
  [/^packages\/svd-pipeline\//, layer(6, "pipeline")],
  [/^packages\/live\/src\/models\//, layer(5, "model")],
  [/^packages\/live\//, layer(6.25, "live")],
  [/^packages\/tensorrt\//, layer(6.5, "tensorrt")],
  [/^packages\/app-parts\//, layer(6.8, "app parts")],
  [/^apps\//, layer(7, "app")],
];

/** The layer of a file by its path from the root, with `/`; undefined for tooling, which may import every package by its name. */
export function layerOf(path: string): Layer | undefined {
  return LAYERS.find(([pattern]) => pattern.test(path))?.[1];
}

/** The folder of the package or app that a file belongs to, e.g. `packages/tensor`. */
export function packageOf(path: string): string | undefined {
  return /^(?:packages|apps)\/[^/]+/.exec(path)?.[0];
}

/** True if files of `own` may import files of `other`: layers of one rank stand beside each other. */
export function mayImport(own: Layer, other: Layer): boolean {
  return other.rank < own.rank || other.name === own.name;
}
