import { allocateBuffer } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { Graph, makeStorage, packedTensor } from "../../src/graph";
import { layoutGraph } from "../../src/plan/layout";
import { channelRange } from "../../src/tensor";
import { failure } from "../support/failure";

const dims = [1, 1, 2, 4];

describe("what a graph reads", () => {
  test("is no input of another graph", () => {
    const x = new Graph().input("x", dims);
    const error = failure(() => layoutGraph((g) => g.output("y", g.pointwise({ name: "m", a: x }))));
    expect(error.message).toContain(
      "[m] [pointwise] [a] expected a tensor of this graph that a row before has written",
    );
    expect(error.got).toBe("input x of another graph");
    expect(failure(() => layoutGraph((g) => g.output("y", x))).where).toBe("output] [y");
    const inArena = new Graph().arenaInput("x", dims);
    expect(failure(() => layoutGraph((g) => g.output("y", g.pointwise({ a: inArena })))).got).toBe(
      "one without contents",
    );
  });

  test("is no result of another graph, and none that comes later", () => {
    const other = new Graph();
    const y = other.pointwise({ a: other.input("x", dims) });
    const reads = (make: (g: Graph) => void) => failure(() => layoutGraph(make)).where;
    expect(reads((g) => g.output("y", g.pointwise({ name: "m", a: g.input("x", dims), b: y })))).toContain("[b");
    expect(reads((g) => g.output("y", g.pointwise({ name: "m", a: g.empty(dims) })))).toContain("[a");
  });

  test("may be memory that lies somewhere already", () => {
    const place = { buffer: allocateBuffer(32), byteOffset: 0 };
    const x = packedTensor(makeStorage("io", 32, "frame", place), dims, "f32");
    expect(layoutGraph((g) => g.output("y", g.pointwise({ a: x }))).cost.numRows).toBe(1);
  });

  test("may be states, constants and what rows wrote in parts", () => {
    const layout = layoutGraph((g) => {
      const [x, both] = [g.input("x", dims), g.empty([1, 1, 2, 8])];
      g.copy({ x, out: channelRange(both, 4, 8) });
      g.pointwise({ a: g.state("s", dims), b: g.constant(new Float32Array(8), dims), out: channelRange(both, 0, 4) });
      g.output("y", g.pointwise({ a: both }));
    });
    expect(layout.cost.numRows).toBe(3);
  });
});
