import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { testAttention } from "./planners/attention";
import { testNormedProducts } from "./planners/normed-products";
import { testNorms } from "./planners/norms";
import { testOthers } from "./planners/others";
import { testProducts } from "./planners/products";
import { testProductsIn8Bits } from "./planners/products-in-8-bits";
import { buildPlanners, hasCompiler, plannersIn } from "./planners/program";

describe.skipIf(!hasCompiler)("planners (needs a C++ compiler)", () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-planners-"));
  beforeAll(() => buildPlanners(folder), 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const planners = plannersIn(folder);
  testProducts(planners);
  testProductsIn8Bits(planners);
  testNormedProducts(planners);
  testAttention(planners);
  testNorms(planners);
  testOthers(planners);
});
