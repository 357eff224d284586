// As much of vitest as the conformance suite uses, so that it runs where vitest does not: bundled, in a bare node.exe.
import assert from "node:assert/strict";

type Body = (...row: never[]) => unknown;
interface Case {
  name: string;
  body: () => unknown;
}

const cases: Case[] = [];

const asRow = (row: unknown): never[] => (Array.isArray(row) ? row : [row]) as never[];
const named = (name: string, row: unknown) => name.replace("%s", String(asRow(row)[0]));

/** Notes a test. */
export function test(name: string, body: () => unknown): void {
  cases.push({ name, body });
}

test.each = (rows: readonly unknown[]) => (name: string, body: Body) => {
  for (const row of rows) test(named(name, row), () => body(...asRow(row)));
};

/** Runs the body, which notes tests. */
export const describe = {
  each: (rows: readonly unknown[]) => (_name: string, body: Body) => {
    for (const row of rows) body(...asRow(row));
  },
};

/** The comparisons that the suite makes; each throws with `message` when it fails. */
export function expect(value: unknown, message?: string) {
  const say = (text: string) => `${message ?? "value"}: ${text}`;
  return {
    toBe: (wanted: unknown) => assert.ok(Object.is(value, wanted), say(`expected ${wanted}, got ${value}`)),
    toEqual: (wanted: unknown) => assert.deepEqual(value, wanted, say(`got ${JSON.stringify(value)}`)),
    toContain: (part: string) => assert.ok(String(value).includes(part), say(`no ${part} in ${value}`)),
    toBeGreaterThan: (limit: number) => assert.ok((value as number) > limit, say(`${value} is not above ${limit}`)),
  };
}

/** Runs everything that was noted, one after the other. */
export async function runNoted(): Promise<{ passed: number; failed: string[] }> {
  let passed = 0;
  const failed: string[] = [];
  for (const { name, body } of cases) {
    try {
      await body();
      passed++;
    } catch (error) {
      failed.push(`${name}: ${(error as Error).message}`);
    }
  }
  return { passed, failed };
}
