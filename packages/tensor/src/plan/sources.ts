import { OPS, VdError } from "@vd/kernels-native";
import type { Graph } from "../graph";
import { type Pausable, pausable } from "../pausable";
import type { Storage } from "../tensor";

const foreign = ({ name }: Storage) => `input ${name} of another graph`;

/** Rows between two pauses. */
const PIECE = 64;

function refuse(where: string, got: string): never {
  throw new VdError({
    code: "layout",
    where,
    expected: "a tensor of this graph that a row before has written",
    got,
    hint: "Tensors of one graph mean nothing to another: name them as inputs there.",
  });
}

/**
 * Refuses rows that read what nothing of their graph writes, such as a tensor of another graph, whose contents would be whatever
 * lies in memory, and outputs that are another graph's inputs. Pauses after some rows.
 *
 * @throws VdError `layout`
 */
export const checkSources = pausable(function* (graph: Graph): Pausable<void> {
  const inputs = new Set([...graph.inputs.values()].map(({ storage }) => storage.id));
  const written = new Set(inputs);
  // Only of these kinds is the place looked at: reading a weight's makes its contents.
  const isForeign = (storage: Storage) => storage.kind === "io" && !inputs.has(storage.id) && !storage.place;
  for (const [index, row] of graph.rows.entries()) {
    for (const [i, tensor] of row.inputs.entries()) {
      if (!tensor) continue;
      const { storage } = tensor;
      const where = () => `${row.name}] [${row.op}] [${Object.keys(OPS[row.op].inputs)[i]}`;
      if (isForeign(storage)) refuse(where(), foreign(storage));
      if (storage.kind === "arena" && !written.has(storage.id)) refuse(where(), "one without contents");
    }
    for (const tensor of row.outputs) if (tensor) written.add(tensor.storage.id);
    if (index % PIECE === PIECE - 1) yield;
  }
  // An output that no row fills is memory that the caller alone writes.
  for (const [name, { storage }] of graph.outputs) if (isForeign(storage)) refuse(`output] [${name}`, foreign(storage));
});
