// The examples of doc comments and pages of the two packages that people import for kernels alone run as they are printed.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as kernels from "@vd/kernels-native";
import { transform } from "esbuild";
import { expect, it } from "vitest";
import * as tensor from "../src/index";

const MODULES: Readonly<Record<string, object>> = { "@vd/kernels-native": kernels, "@vd/tensor": tensor };
const packages = fileURLToPath(new URL("../..", import.meta.url));
const sources = ["tensor", "kernels-native"].flatMap((name) => [
  `${name}/README.md`,
  ...readdirSync(`${packages}${name}/src`, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => `${name}/src/${path}`),
]);

interface Example {
  name: string;
  code: string;
}

function examplesOf(path: string): Example[] {
  const text = readFileSync(`${packages}${path}`, "utf8");
  const plain = path.endsWith(".ts") ? text.replace(/^ *\* ?/gm, "") : text;
  const found = [...plain.matchAll(/^```(?:ts|js)\n([\s\S]*?)^```/gm)];
  return found.map(([, code], i) => ({ name: `${path}, ${i + 1}`, code: code! }));
}

/** Those that need neither a GPU nor files or other packages. */
const isAlone = ({ code }: Example) =>
  !/"cuda"|safetensors|"models\/|"node:/.test(code) &&
  [...code.matchAll(/from "([^"]+)"/g)].every(([, name]) => Object.hasOwn(MODULES, name!));

const AsyncFunction = (async () => {}).constructor as new (
  ...words: string[]
) => (...values: unknown[]) => Promise<void>;
const examples = sources.flatMap(examplesOf).filter(isAlone);

it("are found", () => {
  expect(examples.length).toBeGreaterThan(12);
});

it.each(examples)("$name", async ({ code }) => {
  const js = (await transform(code, { loader: "ts", format: "esm", target: "es2022" })).code;
  const body = js.replace(
    /import \{([^}]*)\} from "([^"]+)";/g,
    (_, names: string, from: string) => `const {${names}} = MODULES["${from}"];`,
  );
  await new AsyncFunction("MODULES", "console", body)(MODULES, { log: () => {} });
});
