import type { Device, DeviceBuffer } from "@vd/kernels-native";
import { decodeStored, type Plan, packedBytes } from "@vd/tensor";
import type { KeptFeatures } from "../../denoising/host-stepper";
import type { StepperMemory } from "../../denoising/stepper-memory";
import { FEATURES } from "../../stages/call-stages";
import type { StageLoader } from "../../stages/stage-loader";

/** How the features of one of several predictions are called in a saved state. */
const PREFIX = `${FEATURES} `;
const nameOf = (number: number): string => `${PREFIX}${number}`;

/**
 * The inner blocks' features of a clip's predictions. Plans have room for those of one: where a clip looks forward and back, by turns, the
 * others wait in buffers of the device.
 */
export class ClipFeatures implements KeptFeatures {
  /** What stands for each prediction, in the order of their first calls. */
  private owners: unknown[] = [];
  private current = -1;
  private readonly buffers = new Map<number, DeviceBuffer>();
  private kept: StepperMemory["tensors"] = {};

  /** plan: one of those that share the features. */
  constructor(
    private readonly plan: Plan,
    private readonly device: Device,
    private readonly loader: Pick<StageLoader, "hold">,
  ) {}

  begin(kept: StepperMemory["tensors"] = {}): void {
    this.owners = [];
    this.current = -1;
    this.kept = Object.fromEntries(Object.entries(kept).filter(([name]) => name.startsWith(PREFIX)));
  }

  /** Puts the features of a prediction into the plans' place; to be called before each of its calls. */
  async use(owner: unknown): Promise<void> {
    const { plan, owners, current } = this;
    const known = owners.indexOf(owner);
    if (known >= 0 && known === current) return;
    const number = known >= 0 ? known : owners.push(owner) - 1;
    const whole = { from: 0, to: 0, bytes: this.bytes };
    if (current >= 0) await plan.copyOut(FEATURES, await this.bufferOf(current), whole);
    const kept = this.kept[nameOf(number)];
    if (known >= 0) await plan.copyIn(FEATURES, await this.bufferOf(number), whole);
    else if (kept) await plan.write(FEATURES, decodeStored(kept.bytes, kept.dtype));
    this.current = number;
  }

  async save(): Promise<StepperMemory["tensors"]> {
    const { plan, current } = this;
    const { dims, dtype } = this.tensor;
    const tensors: Record<string, StepperMemory["tensors"][string]> = { ...this.kept };
    for (const number of this.owners.keys()) {
      const bytes =
        number === current
          ? await plan.readBytes(FEATURES)
          : await (await this.bufferOf(number)).readBytes(0, this.bytes);
      tensors[nameOf(number)] = { dtype, dims, bytes };
    }
    return tensors;
  }

  /** Lets go of the buffers. */
  async free(): Promise<void> {
    for (const buffer of this.buffers.values()) {
      await buffer.free();
      this.loader.hold(-this.bytes);
    }
    this.buffers.clear();
  }

  private get tensor() {
    return this.plan.layout.graph.states.get(FEATURES)!;
  }

  private get bytes(): number {
    return packedBytes(this.tensor.dims, this.tensor.dtype);
  }

  private async bufferOf(number: number): Promise<DeviceBuffer> {
    const known = this.buffers.get(number);
    if (known) return known;
    const buffer = await this.device.allocate(this.bytes);
    this.loader.hold(this.bytes);
    this.buffers.set(number, buffer);
    return buffer;
  }
}
