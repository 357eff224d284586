import { createRequire } from "node:module";
import { having, requireArgument, VdError } from "@vd/kernels-native";
import type * as Ort from "onnxruntime-node";
import type { OrtModule } from "./ort-module";

/** What computes the operations of a session, in the order of preference that callers give. */
export const PROVIDERS = ["cpu", "cuda", "tensorrt"] as const;

/** One of {@link PROVIDERS}. */
export type Provider = (typeof PROVIDERS)[number];

/** The version that this package is tested with. */
export const ORT_VERSION = "1.30.0";

const INSTALL = `Install it beside this package: npm install onnxruntime-node@${ORT_VERSION}`;

/**
 * Loads ONNX Runtime. load: for tests.
 *
 * @throws VdError `unsupported` where it is not installed or does not load
 */
export function loadOrt(load: (name: string) => unknown = createRequire(import.meta.url)): OrtModule {
  try {
    // Its own types meet ours here and nowhere else: a version that differs does not compile.
    return load("onnxruntime-node") as typeof Ort;
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND";
    const got = missing ? "no such package" : `one that does not load: ${(cause as Error).message.split("\n")[0]}`;
    throw new VdError({
      code: "unsupported",
      where: "onnxruntime-node",
      expected: "ONNX Runtime",
      got,
      hint: INSTALL,
      cause,
    });
  }
}

/** The providers that the installed runtime was built with. Their libraries may still be missing. */
export function listProviders(ort: OrtModule): Provider[] {
  requireArgument(
    "listProviders",
    ort,
    having("ONNX Runtime's module", ["listSupportedBackends"], "loadOrt loads it."),
  );
  const names = ort.listSupportedBackends().map(({ name }) => name);
  return PROVIDERS.filter((provider) => names.includes(provider));
}

/**
 * Checks that the installed runtime has the wanted providers.
 *
 * @throws VdError `attr` for an unknown provider, `unsupported` for one that this runtime lacks
 */
export function checkProviders(ort: OrtModule, wanted: readonly Provider[]): void {
  const present = listProviders(ort);
  for (const provider of wanted) {
    if (!PROVIDERS.includes(provider))
      throw new VdError({
        code: "attr",
        where: "provider",
        expected: `one of ${PROVIDERS.join(", ")}`,
        got: String(provider),
      });
    if (present.includes(provider)) continue;
    throw new VdError({
      code: "unsupported",
      where: "provider",
      expected: `an ONNX Runtime with the provider ${provider}`,
      got: `one with ${present.join(", ")}`,
      hint: `onnxruntime-node has ${provider} on Linux x64; its libraries come with the package's own install script.`,
    });
  }
}
