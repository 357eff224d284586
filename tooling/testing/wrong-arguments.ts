// What every exported function of a package says to a caller without types.
import { isVdError } from "@vd/kernels-native";
import { systemCode } from "@vd/tensor";
import { describe, expect, it, test } from "vitest";

/** Arguments that are wrong for nearly every function. No file can have the text for its path. */
const ARGUMENTS = {
  nothing: [],
  null: [null],
  "{}": [{}],
  NaN: [Number.NaN],
  "a text": ["/dev/null/nothing"],
} as const satisfies Record<string, readonly unknown[]>;

/** One of the arguments that functions are called with. */
export type Given = keyof typeof ARGUMENTS;

const EVERY = Object.keys(ARGUMENTS) as readonly Given[];

/** Functions that take such arguments. */
export interface Taken {
  /** Why they are right, as a sentence. */
  reason: string;
  /** Names as they are exported; `Name.method` for static methods, `new Name` for constructors. */
  names: readonly string[];
  /** Default: all. */
  given?: readonly Given[];
  /** How the call ends; default "a result". What is `apart` is not called. */
  ends?: Ending | undefined;
}

/** How calls end that do not end with a VdError. */
type Ending = "a result" | "an error of the operating system" | "apart";

// biome-ignore lint/suspicious/noExplicitAny: any function of any package
type AnyFunction = (...args: any[]) => unknown;
type AnyClass = AnyFunction & (new (...args: unknown[]) => unknown);

const isClass = (value: AnyFunction): value is AnyClass => /^class\b/.test(Function.prototype.toString.call(value));

/** A class's constructor and static methods, by the names that {@link Taken} has for them. */
function functionsOfClass(name: string, of: AnyClass): [string, AnyFunction][] {
  const methods = Object.entries(Object.getOwnPropertyDescriptors(of)).filter(
    ([key, { value }]) => typeof value === "function" && key !== "prototype",
  );
  const make: AnyFunction = (...args) => new of(...args);
  return [
    [`new ${name}`, make],
    ...methods.map(([key, { value }]): [string, AnyFunction] => [`${name}.${key}`, value.bind(of)]),
  ];
}

/** Every function that a module exports, by its name. */
function functionsOf(module: object): ReadonlyMap<string, AnyFunction> {
  const functions = Object.entries(module).filter(
    (entry): entry is [string, AnyFunction] => typeof entry[1] === "function",
  );
  return new Map(
    functions.flatMap(([name, value]) => (isClass(value) ? functionsOfClass(name, value) : [[name, value]])),
  );
}

/** How a call ended; of what pauses, its first piece. */
async function outcomeOf(call: () => unknown): Promise<Ending | "a VdError" | `another error: ${string}`> {
  try {
    const result = await call();
    if (typeof (result as Iterator<unknown> | undefined)?.next === "function")
      await (result as Iterator<unknown>).next();
    return "a result";
  } catch (error) {
    if (isVdError(error)) return "a VdError";
    return systemCode(error) ? "an error of the operating system" : `another error: ${error}`;
  }
}

/**
 * Declares tests that every function that `module` exports, called with wrong arguments, fails with a VdError, but for those that take
 * them; and that those do.
 */
export function testWrongArguments(module: object, taken: readonly Taken[]): void {
  const functions = functionsOf(module);
  const ending = (name: string, given: Given) => {
    const found = taken.find((each) => each.names.includes(name) && (each.given ?? EVERY).includes(given));
    return found ? (found.ends ?? "a result") : "a VdError";
  };

  describe("wrong arguments", () => {
    it.each([...functions])("of %s are refused in a sentence", async (name, call) => {
      const [found, expected]: Record<string, string>[] = [{}, {}];
      for (const given of EVERY) {
        expected![given] = ending(name, given);
        found![given] = expected![given] === "apart" ? "apart" : await outcomeOf(() => call(...ARGUMENTS[given]));
      }
      expect(found).toEqual(expected);
    });

    test("are taken by functions that there are, each named once", () => {
      const names = taken.flatMap((each) =>
        (each.given ?? EVERY).flatMap((given) => each.names.map((name) => `${name}: ${given}`)),
      );
      expect(taken.flatMap((each) => each.names).filter((name) => !functions.has(name))).toEqual([]);
      expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
    });
  });
}
