import type { DeviceTeam } from "@vd/tensor";
import { usableBytes } from "@vd/vae-opt";
import { stepsOnDevice } from "../denoising/chosen-sampling";
import { stagesOfMember } from "../devices/team-stages";
import { stagesBefore } from "../stages/generation-stages";
import type { StageDefinition } from "../stages/stage";
import { denoisingDevice, type GenerationRun } from "./context";
import { decodingAheadBytes } from "./decoding-ahead";
import { denoiseCompile } from "./denoise-compile";
import { isDenoiser } from "./estimate";
import { bytesBefore, phaseBudget } from "./memory-phases";

/** Begins to load the stages before decoding, if all of them fit into the memory at once: the device then takes in
 *  weights while this thread prepares the picture and while the picture is encoded. */
export async function loadAhead(run: GenerationRun): Promise<void> {
  const { context, loader } = run;
  if (context.team) return loadAheadOnTeam(run, context.team);
  const { models, components, shape, denoiser, device, layouts, options } = context;
  const counts = {
    ...{ clipSize: components.clipPixels.size, numModelCalls: 1, stepNeeds: stepsOnDevice(context) },
    // Calls of several kinds share memory that is allocated when they begin.
    calls: context.calls && [],
  };
  const [embed, encode, condition, ...denoising] = stagesBefore(models, shape, counts).map(([stage]) => stage);
  const denoisesHere = denoiser?.kind !== "elsewhere" && denoisingDevice(context) === device;
  const wanted = [encode!, embed!, ...(denoisesHere ? [condition!, ...denoising] : [])];
  // Computed beside the encoder's work; all others wait for each other's results, and take turns in one working memory.
  const beside = new Set([embed, condition]);
  if ((await bytesBefore(context)).ahead > (await phaseBudget(device))) return;
  const decoding = denoisesHere ? await decodingAheadBytes(context) : 0;
  const arenaOf = async (stage: StageDefinition) => (await layouts.memoryOf(stage, options.signal)).arenaBytes;
  let inTurns = 0;
  for (const stage of wanted) if (!beside.has(stage)) inTurns = Math.max(inTurns, await arenaOf(stage));
  const arena = loader.arenaFor(Math.max(inTurns, decoding));
  if (decoding > 0) {
    run.arenaAhead = arena;
    loader.leaveStages();
  }
  for (const stage of wanted) {
    // What takes a millisecond alone is not to last as long as the encoder, whose kernels fill the GPU.
    if (beside.has(stage)) loader.loadAhead(stage, { lane: "beside", goesFirst: true });
    // The denoiser takes longest, and nobody is to wait for it when the picture is encoded.
    else if (isDenoiser(stage.name))
      loader.loadAhead(stage, {
        ...{ lane: "denoiser", shared: arena, sharedSpace: { from: inTurns } },
        ...denoiseCompile(context, device),
      });
    // The denoiser is loaded while they run, but does not work yet.
    else {
      const from = await arenaOf(stage);
      loader.loadAhead(stage, { shared: arena, sharedSpace: { from, bytes: inTurns - from } });
    }
  }
}

/** Does what {@link loadAhead} does on each device of a team: weights go to all of them at once. */
async function loadAheadOnTeam({ context, loaders }: GenerationRun, team: DeviceTeam): Promise<void> {
  const { layouts, options, checked, denoiser } = context;
  if (denoiser) return;
  for (const { device, index } of team.members) {
    const stages = stagesOfMember(context, index).map(({ stage }) => stage);
    let bytes = 0;
    for (const stage of stages) {
      const { memory } = await layouts.inSlices(stage, options.signal);
      bytes += memory.peakBytes + memory.weightBytes;
    }
    if (bytes > (await usableBytes(device, checked.memory))) continue;
    for (const stage of stages)
      loaders[index]!.loadAhead(stage, stage.name === "denoise" ? denoiseCompile(context, device) : {});
  }
}
