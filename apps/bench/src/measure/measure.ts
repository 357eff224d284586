import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { machineInfo } from "@vd/app-parts";
import { type DType, openDevice, VdError } from "@vd/kernels-native";
import {
  makeModels,
  modelsWithLayers,
  normsAreFused,
  openEightBits,
  openModelFolder,
  type Precision,
  settleConvolutions,
} from "@vd/svd-pipeline";
import { writeWholeFile } from "@vd/tensor";
import { noteRates } from "../doctor/rates";
import { encodePlainPng, testPicture } from "../io/pictures";
import type { Reporter } from "../io/reporter";
import { measureCausalVae } from "./causal-vae";
import { isPythonPeer, type MeasureOptions, type PeerMode } from "./options";
import type { PartContext } from "./our-parts";
import { hasCase, measureGeneration, measurePart, measureStart, measureSwitches, type Session } from "./part-runs";
import { PeerProcess } from "./peer-process";
import type { BenchFile } from "./report";
import { saveBenchFile } from "./save";
import type { SelfProgram } from "./start";

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<Precision, DType>;
const FORMATS = { float32: "fp32", float16: "fp16", bfloat16: "bf16" } as const;

/** What a measurement needs from outside. */
export interface MeasureTools {
  reporter: Reporter;
  signal: AbortSignal;
  self: SelfProgram;
}

/**
 * Runs ours and the peer on one model, turn by turn, and writes the results after every part.
 *
 * @throws VdError for a model or device of ours that cannot be used; the signal's reason when it is cancelled
 */
export async function measure(options: MeasureOptions, tools: MeasureTools): Promise<BenchFile> {
  const { reporter, signal } = tools;
  const work = await mkdtemp(join(tmpdir(), "vd-bench-"));
  const file = emptyFile(options);
  let peer: PeerProcess | undefined;
  const stop = () => peer?.stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const device = openDevice(options.device, { threads: options.threads });
    await device.prepare();
    await noteRates(file, device);
    const components = await openModelFolder(options.model, FORMATS[options.precision]);
    const activations = options.device === "cpu" ? "float32" : options.precision;
    const dtype = DTYPES[activations];
    const { layers: precision = "full", calibration, convolutions: wanted = "auto" } = options;
    const layers = { precision, calibration, convolutions: wanted };
    const convolutions = await settleConvolutions(wanted, { device, precision: activations, memory: "full" });
    const eightBits = await openEightBits({
      ...{ components, device, denoiser: undefined },
      layers,
    });
    for (const note of eightBits?.warnings ?? []) reporter.note(note);
    const plain = makeModels(components);
    const models = modelsWithLayers(plain, eightBits);
    const context: PartContext = {
      device,
      components,
      models,
      decoder: eightBits?.decoder,
      convolutions,
      fusedNorm: normsAreFused(device, activations),
      fusedLayerNorm: normsAreFused(device, activations),
      options,
      dtype,
    };
    const image = options.image ?? join(work, "picture.png");
    if (options.image === undefined)
      await writeWholeFile(image, encodePlainPng(testPicture(options.width, options.height)));
    const found = await startPeer(options, file, reporter);
    peer = found.peer;
    const { output } = options;
    const save = async () => void (output !== undefined && (await saveBenchFile(output, file)));
    const leftOut = new Set<string>();
    await runParts({ ...tools, context, file, work, image, save, leftOut, ...found });
    checkContenders(options, file, leftOut);
    return file;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    await rm(work, { recursive: true, force: true });
  }
}

/** Refuses a list of contenders of which none was there: a typing error, or parts and cases without them. @throws VdError `attr` */
function checkContenders(
  { contenders }: MeasureOptions,
  { rows }: Pick<BenchFile, "rows">,
  leftOut: ReadonlySet<string>,
): void {
  // A peer that is missing has a row that says so, whoever is asked for.
  const isFound = rows.some(({ contender }) => contenders?.includes(contender));
  if (!contenders || isFound || leftOut.size === 0) return;
  const expected = `some of ${[...leftOut].join(", ")}`;
  throw new VdError({ code: "attr", where: "contenders", expected, got: contenders.join(", ") });
}

/** Returns results without rows. */
export function emptyFile(options: MeasureOptions): BenchFile {
  // Where things lie on this machine says nothing to others.
  const { peerScript, python, output, image, model, causalModel, seedvr, calibration, ...told } = options;
  return {
    format: "vd-bench",
    version: 1,
    command: "measure",
    createdAt: new Date().toISOString(),
    machine: machineInfo(options.device),
    versions: {},
    options: { ...told, model: basename(model) },
    rows: [],
    tables: {},
    notes: [],
  };
}

/** Starts the peer and asks for its versions; without it, the reason. */
async function startPeer(options: MeasureOptions, file: BenchFile, reporter: Reporter) {
  const modes: readonly PeerMode[] = options.peers;
  const isAsked = options.reference || modes.some(isPythonPeer);
  // Cases may leave out all that it has a part in.
  if (!isAsked || !options.parts.some((part) => hasCase(options, part))) return { peer: undefined, modes };
  const peer = new PeerProcess("diffusers", options.python, [options.peerScript]);
  try {
    const { versions, device } = await peer.request("hello");
    file.versions = { ...(versions as Record<string, unknown>), peerDevice: device };
    const { model, device: kind, precision, threads } = options;
    await peer.request("open", { model, device: kind, dtype: kind === "cpu" ? "float32" : precision, threads });
    reporter.note(`diffusers on ${String(device)}: ${JSON.stringify(versions)}`);
    return { peer, modes };
  } catch (error) {
    peer.stop();
    const got = error instanceof VdError ? error.got : String(error);
    reporter.note(`no peer: ${got}`);
    file.notes.push(`No peer: ${got}`);
    return { peer: undefined, modes, missing: got };
  }
}

async function runParts(session: Session): Promise<void> {
  const { context, reporter, signal, save } = session;
  for (const part of context.options.parts) {
    signal.throwIfAborted();
    reporter.note(`${part}:`);
    if (part === "e2e") await measureGeneration(session);
    else if (part === "start") await measureStart(session);
    else {
      const result = hasCase(context.options, part) ? await measurePart(session, part) : undefined;
      // What stands is on the disk before variants that take long, or more memory than there is.
      await save();
      if ((part === "vae" || part === "encode") && hasCase(context.options, `${part}-switches`))
        await measureSwitches(session, part, result);
    }
    await save();
  }
  const { causalModel } = context.options;
  if (causalModel !== undefined) await measureCausalVae(session, causalModel);
}
