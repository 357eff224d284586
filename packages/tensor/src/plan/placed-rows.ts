import type { Device } from "@vd/kernels-native";
import { type Pausable, runInSlices } from "../pausable";
import type { Storage } from "../tensor";
import { encodeRows } from "./encode";
import { type GraphLayout, storagesOf } from "./layout";
import { Places } from "./places";

/** What is the same whenever a layout is loaded on one kind of device. */
export interface PlacedRows {
  /** The rows as numbers. */
  words: Float64Array;
  places: Places;
}

/** What is kept of a layout as long as somebody has it: a generation loads the same few as the one before. */
interface KnownRows {
  storages: readonly Storage[];
  /** By whether blocks stand for memory of the machine. */
  placed: Map<boolean, PlacedRows>;
}

const knownRows = new WeakMap<GraphLayout, KnownRows>();

async function knownOf(layout: GraphLayout): Promise<KnownRows> {
  const known = knownRows.get(layout) ?? { storages: await runInSlices(storagesOf(layout.graph)), placed: new Map() };
  knownRows.set(layout, known);
  return known;
}

/** A place for every storage of the graph, and the rows that say so. */
function* placeRows(layout: GraphLayout, mirrorsHost: boolean): Pausable<PlacedRows> {
  const places = new Places(layout, mirrorsHost);
  const { graph } = layout;
  const words = yield* encodeRows(graph.rows, (tensor) => places.placeOf(tensor));
  for (const named of [graph.inputs, graph.states, graph.outputs])
    for (const tensor of named.values()) places.placeOf(tensor);
  return { words, places };
}

/** Returns the rows of a layout and the places of its storages; makes weights that are made on first use. The event loop turns meanwhile. */
export async function placedRows(layout: GraphLayout, device: Device): Promise<PlacedRows> {
  const { storages, placed } = await knownOf(layout);
  for (const storage of storages) if (storage.fill) await storage.fill();
  const mirrorsHost = device.kind !== "cpu";
  const before = placed.get(mirrorsHost);
  if (before?.places.areCurrent()) return before;
  const rows = await runInSlices(placeRows(layout, mirrorsHost));
  placed.set(mirrorsHost, rows);
  return rows;
}
