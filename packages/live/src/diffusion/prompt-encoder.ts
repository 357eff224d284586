import type { Device, DType } from "@vd/kernels-native";
import { VdError } from "@vd/kernels-native";
import { layoutGraph, Plan, runInSlices } from "@vd/tensor";
import type { DiffusionModel } from "./types";

/** Makes states of texts by the text encoder; the newest ones are kept. */
export class PromptEncoder {
  private plan: Promise<Plan> | undefined;
  private readonly known = new Map<string, Float32Array>();

  constructor(
    private readonly model: Pick<DiffusionModel, "text" | "tokenizer">,
    private readonly device: Device,
    private readonly dtype: DType,
  ) {}

  /** @returns [L,D]. @throws VdError `attr` for words to a model that has none */
  async encode(text: string): Promise<Float32Array> {
    const known = this.known.get(text);
    if (known) return known;
    const tokens = this.tokens(text);
    this.plan ??= this.load();
    const plan = await this.plan;
    await plan.write("x", this.model.text.embed(tokens));
    await plan.run();
    const states = plan.readSync("states");
    if (this.known.size >= KEPT_TEXTS) this.known.delete(this.known.keys().next().value!);
    this.known.set(text, states);
    return states;
  }

  private tokens(text: string): readonly number[] {
    const { tokenizer, text: encoder } = this.model;
    if (tokenizer) return tokenizer.encode(text);
    if (text === "") return new Array<number>(encoder.config.maxTokens).fill(encoder.config.vocabSize - 1);
    const expected = "a model with a tokenizer";
    throw new VdError({
      code: "attr",
      where: "session] [prompt",
      expected,
      got: "random weights, which know no words",
    });
  }

  private async load(): Promise<Plan> {
    const { encode, config } = this.model.text;
    const shape = [1, 1, config.maxTokens, config.hiddenSize];
    const layout = await runInSlices(
      layoutGraph.inPieces(
        function* (g) {
          g.output("states", yield* encode.inPieces(g, g.input("x", shape)));
        },
        { dtype: this.dtype },
      ),
    );
    return Plan.load(this.device, layout, { name: "text encoder" });
  }

  async free(): Promise<void> {
    await (await this.plan?.catch(() => undefined))?.free();
  }
}

/** Texts whose states are kept: a prompt, a negative one, and some that a stream goes back to. */
const KEPT_TEXTS = 8;
