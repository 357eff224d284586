import type { Plan } from "@vd/tensor";
import { maximaName, type ObservedLayer, samplesName } from "./observe-layers";

/** Tokens of a layer that are kept at most. */
const MOST_TOKENS = 128;

/** What a layer took in all calls. */
export class LayerRecord {
  /** The largest magnitude of each channel. */
  readonly largest: Float32Array;
  /** Tokens one behind the other. */
  readonly tokens: Float32Array[] = [];
  private numCalls = 0;

  constructor(readonly layer: ObservedLayer) {
    this.largest = new Float32Array(layer.weight.dims[1]!);
  }

  /** Adds what the layer took in a call that a plan has just run. */
  async add(plan: Plan): Promise<void> {
    const maxima = await plan.read(maximaName(this.layer.name));
    const { largest } = this;
    for (let i = 0; i < maxima.length; i++) {
      const channel = i % largest.length;
      if (maxima[i]! > largest[channel]!) largest[channel] = maxima[i]!;
    }
    this.keep(await plan.read(samplesName(this.layer.name)));
  }

  /** Keeps tokens of all calls alike: once there are enough, those of a call take the place of an earlier one's. */
  private keep(samples: Float32Array): void {
    const width = this.largest.length;
    const perCall = samples.length / width;
    const slots = Math.max(1, Math.floor(MOST_TOKENS / perCall));
    // A step that has no factor in common with the number of slots would favour no call; of powers of two, any odd one.
    const slot = this.numCalls < slots ? this.numCalls : (this.numCalls * 5) % slots;
    this.numCalls++;
    for (let i = 0; i < perCall; i++) this.tokens[slot * perCall + i] = samples.slice(i * width, (i + 1) * width);
  }
}
