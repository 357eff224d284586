import { requireArgument } from "@vd/kernels-native";
import { GRAPH, type Graph } from "../graph";
import { type Pausable, pausable } from "../pausable";
import type { Storage } from "../tensor";

/** From which row to which row, both inclusive, a block's contents matter. */
export interface Lifetime {
  storage: Storage;
  first: number;
  last: number;
}

/** Rows between two pauses. */
const PIECE = 64;

/** Returns the lifetimes of all arena blocks of a graph; blocks that hold inputs live from the first row on, and blocks that hold outputs
 *  to the end. Any other lives from the first row that touches it: rows that fill it in parts all count. Pauses after some rows. */
export const arenaLifetimes = pausable(function* (graph: Graph): Pausable<Lifetime[]> {
  requireArgument("arenaLifetimes", graph, GRAPH);
  const lifetimes = new Map<number, Lifetime>();
  for (const { storage } of graph.inputs.values())
    if (storage.kind === "arena") lifetimes.set(storage.id, { storage, first: 0, last: 0 });
  for (const [index, row] of graph.rows.entries()) {
    for (const tensor of [...row.inputs, ...row.outputs]) {
      if (tensor?.storage.kind !== "arena") continue;
      const known = lifetimes.get(tensor.storage.id);
      if (known) known.last = index;
      else lifetimes.set(tensor.storage.id, { storage: tensor.storage, first: index, last: index });
    }
    if (index % PIECE === PIECE - 1) yield;
  }
  for (const { storage } of graph.outputs.values()) {
    if (storage.kind !== "arena") continue;
    const end = graph.rows.length;
    lifetimes.set(storage.id, { storage, first: lifetimes.get(storage.id)?.first ?? end, last: end });
  }
  return [...lifetimes.values()];
});
