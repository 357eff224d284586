import { randomDiffusionModel, recordRandomNetwork } from "@vd/live";
import { type Graph, type GraphLayout, layoutGraph, type Pausable, type Row, runInSlices } from "@vd/tensor";
import { rowBytes } from "../measure/op-groups";
import type { LiveModelName } from "./models";
import { typeOf, type Work } from "./work";

/** Pictures of a network timed alone, and the side of its latents and of a frame. */
const PICTURES = 2;
const LATENT_SIDE = 64;
const FRAME_SIDE = 512;

const workOf = ({ graph }: GraphLayout): Work[] =>
  graph.rows.map((row: Row) => {
    const dtype = row.inputs[0]?.dtype ?? "f16";
    const name = `${row.op} ${row.name}`;
    return { name, op: row.op, type: typeOf(dtype), flops: row.flops, bytes: rowBytes(row), count: 1 };
  });

const layout = (record: (g: Graph) => Pausable<void>) => runInSlices(layoutGraph.inPieces(record, { dtype: "f16" }));

const network = (name: "sd15" | "sd-turbo", pictures: number) =>
  layout((g) => recordRandomNetwork(g, name, { seed: 0, pictures, side: LATENT_SIDE }));

/** The rows of a model's parts by their names; weights are made up, and nothing is allocated. A whole `sd-turbo` frame is one step
 *  without guidance between the halves of the tiny autoencoder, 512×512. */
export async function liveWork(name: LiveModelName): Promise<Map<string, Work[]>> {
  if (name !== "sd-turbo")
    return new Map([[name, workOf(await network(name === "sd15-unet" ? "sd15" : "sd-turbo", PICTURES))]]);
  const { codec } = randomDiffusionModel("sd-turbo", 0);
  const latentSide = FRAME_SIDE / codec.factor;
  const encode = await layout(function* (g) {
    g.output("z", yield* codec.encode(g, g.input("x", [1, 1, FRAME_SIDE, FRAME_SIDE, 3])));
  });
  const decode = await layout(function* (g) {
    g.output("x", yield* codec.decode(g, g.input("z", [1, 1, latentSide, latentSide, codec.latentChannels])));
  });
  return new Map([
    ["encode", workOf(encode)],
    ["unet", workOf(await network("sd-turbo", 1))],
    ["decode", workOf(decode)],
  ]);
}
