import { join } from "node:path";
import { computeReference } from "@vd/conformance";
import { type Plain, plain } from "@vd/kernels-native/references";
import { afterAll, expect, test } from "vitest";
import { attentionKind } from "../../goldens/kinds/attention";
import { runFixture } from "../../goldens/run-fixture";
import { FixtureFolder } from "./fixture-folder";
import { GoldenMaker } from "./golden-maker";

const folder = new FixtureFolder();
afterAll(() => folder.remove());
const tolerance = { float32: { o_maxabs: 1e-5, grad_rel_l2: 1e-5 } };

const swapped = ({ dims, data }: Plain): Plain => {
  const [b, h, s, d] = dims as [number, number, number, number];
  return plain([b, 1, s, h * d], (i, _, row, e) => data[((i * h + Math.floor(e / d)) * s + row) * d + (e % d)]!);
};

interface Wanted {
  y: Plain;
  lse: Plain;
  dq: Plain;
  dk: Plain;
  dv: Plain;
}

/** Attention and its gradients for `dy` by their definitions: results by the contracts' names. */
function attend(operands: Record<string, Plain>, dy: Plain, heads: number, scale: number, causal: boolean): Wanted {
  const attrs = { heads, scale, causal };
  const { y, lse } = computeReference("attention", operands, attrs) as { y: Plain; lse: Plain };
  const gradients = computeReference("attention_backward", { ...operands, y, lse, dy }, attrs);
  return { y, lse, ...(gradients as { dq: Plain; dk: Plain; dv: Plain }) };
}

/** Numbers in a mask's or a score's dtype: flags forbid or allow. */
const flags = ({ dims, data }: Plain): Plain => ({
  dims,
  data: data.map((flag) => (flag ? 0 : Number.NEGATIVE_INFINITY)),
});

function dense(m: GoldenMaker): void {
  const [b, h, s, l, d] = [2, 3, 5, 7, 6];
  const [q, k, v] = [m.random("c.q", [b, h, s, d]), m.random("c.k", [b, h, l, d]), m.random("c.v", [b, h, l, d])];
  const dy = m.random("c.do", [b, h, s, d]);
  const tokens = { q: swapped(q), k: swapped(k), v: swapped(v) };
  /** Tokens [B,1,S,E] as (batch, heads, length, head size). */
  const apart = ({ dims, data }: Plain): Plain =>
    plain([b, h, dims[2]!, d], (i, head, row, e) => data[(i * dims[2]! + row) * h * d + head * d + e]!);
  // Keys that no query of a clip may see, the same for all heads and queries.
  const hidden = m.given("c.bool_mask", "BOOL", [b, 1, 1, l], [1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1]);
  const bool = flags(plain([b, 1, s, l], (i, _, __, key) => hidden.data[i * l + key]!));
  const add = m.random("c.add_mask", [h, s, l]);
  const variants = {
    plain: {},
    causal: {},
    bool: { mask: bool },
    add: { mask: { dims: [1, h, s, l], data: add.data } },
  };
  for (const [variant, mask] of Object.entries(variants)) {
    const name = `c.${variant}`;
    m.cases[name] = { batch: b, heads: h, q_len: s, k_len: l, head: d, ...(variant === "plain" ? { scale: 0.7 } : {}) };
    const scale = variant === "plain" ? 0.7 : 1 / Math.sqrt(d);
    const wanted = attend({ ...tokens, ...mask }, swapped(dy), h, scale, variant === "causal");
    m.result(`${name}.o`, apart(wanted.y));
    m.result(`${name}.lse`, { dims: [b, h, s], data: wanted.lse.data });
    for (const part of ["dq", "dk", "dv"] as const) m.result(`${name}.${part}`, apart(wanted[part]));
  }
}

function packed(m: GoldenMaker): void {
  const [heads, head, s, l] = [2, 4, 9, 12];
  const q = m.random("varlen.q", [s, heads, head]);
  const [k, v] = [m.random("varlen.cross.k", [l, heads, head]), m.random("varlen.cross.v", [l, heads, head])];
  m.random("varlen.self_causal.k", [s, heads, head]);
  m.random("varlen.self_causal.v", [s, heads, head]);
  const cuQ = m.given("varlen.cross.cu_q", "I32", [4], [0, 4, 4, 9]);
  const cuK = m.given("varlen.cross.cu_k", "I32", [4], [0, 3, 8, 12]);
  m.cases["varlen.cross"] = { heads, head, q_lengths: [4, 0, 5], k_lengths: [3, 5, 4], causal: false };
  const tokens = (x: Plain): Plain => ({ dims: [1, 1, x.dims[0]!, heads * head], data: x.data });
  const dy = m.random("varlen.cross.do", [s, heads, head]);
  const operands = { q: tokens(q), k: tokens(k), v: tokens(v), cuQ, cuK };
  const { y, lse, ...gradients } = attend(operands, tokens(dy), heads, 0.5, false);
  m.result("varlen.cross.o", { dims: [s, heads, head], data: y.data });
  m.result(
    "varlen.cross.lse",
    plain([s, heads], (row, h) => lse.data[h * s + row]!),
  );
  for (const part of ["dq", "dk", "dv"] as const) {
    const { data } = gradients[part];
    m.result(`varlen.cross.${part}`, { dims: [data.length / heads / head, heads, head], data });
  }
}

test("other sizes, masks that broadcast, packed sequences without queries", async () => {
  const m = new GoldenMaker();
  dense(m);
  packed(m);
  const path = m.write(join(folder.path, "others"), { kind: "attention", tolerance });
  const result = await runFixture(path, [attentionKind], { device: "cpu", dtype: "float32" });
  expect(result.reason).toBeUndefined();
  expect(result.firstFailure).toBeUndefined();
  expect(result).toMatchObject({ status: "pass", numChecks: 25 });
});

test("a case without its tensors fails by name", async () => {
  const m = new GoldenMaker();
  m.cases["c.plain"] = {};
  m.result("c.plain.o", { dims: [1], data: Float64Array.of(1) });
  const path = m.write(join(folder.path, "bare"), { kind: "attention", tolerance });
  const result = await runFixture(path, [attentionKind], { device: "cpu", dtype: "float32" });
  expect(result).toMatchObject({ status: "fail" });
  expect(result.reason).toContain("in.c.plain.q: expected a tensor, got none");
});
