import { getPriority, setPriority } from "node:os";
import { isVdError } from "@vd/kernels-native";
import { chooseDevice, discardAll, systemCode } from "@vd/tensor";
import { isNoRoom, NO_ROOM } from "../files/no-room";
import { makeVideo, optionsOf } from "./make-video";
import type { ModelPlace, VideoEstimate, WorkerNotice, WorkerRequest, WorkFailure } from "./messages";
import { OpenPipeline } from "./pipelines";

const US = 1e6;

/** A picture of the size that matters for an estimate, which looks at no pixel. */
const NO_PICTURE = { width: 1, height: 1, data: new Uint8Array(3) };

/** Serves one parent: opens models, makes videos, says what they would take. It ends with its parent. */
class Worker {
  private readonly pipelines = new OpenPipeline();
  private running: AbortController | undefined;
  private hasGivenWay = false;

  async answer(request: WorkerRequest): Promise<void> {
    if (request.type === "cancel") this.running?.abort();
    else if (request.type === "run") await this.run(request);
    else
      await this.reply(request.call, () =>
        request.type === "describe" ? this.describe(request.model) : this.estimate(request),
      );
  }

  private async run({ order }: WorkerRequest & { type: "run" }): Promise<void> {
    const running = new AbortController();
    const { signal } = running;
    this.running = running;
    try {
      if (!this.hasGivenWay && chooseDevice(order.model.device).kind === "cpu") giveWay();
      this.hasGivenWay = true;
      tell({ type: "done", result: await makeVideo(order, { pipelines: this.pipelines, signal, tell }) });
    } catch (error) {
      tell({ type: "failed", failure: signal.aborted ? CANCELLED : failureOf(error) });
    } finally {
      this.running = undefined;
    }
  }

  private async reply(call: number, work: () => Promise<(WorkerNotice & { type: "answer" })["value"]>): Promise<void> {
    try {
      tell({ type: "answer", call, value: await work() });
    } catch (error) {
      tell({ type: "refusal", call, failure: failureOf(error) });
    }
  }

  private async describe(model: ModelPlace) {
    return (await this.pipelines.of(model)).defaults;
  }

  private async estimate(request: WorkerRequest & { type: "estimate" }): Promise<VideoEstimate> {
    const pipeline = await this.pipelines.of(request.model);
    const plan = await pipeline.plan({ ...optionsOf(request), image: NO_PICTURE });
    const stages = plan.stages.map(({ name, estimatedUs, peakBytes }) => {
      return { name, seconds: estimatedUs / US, memoryBytes: peakBytes };
    });
    const { estimatedUs, peakBytes, weightBytes } = plan;
    return { estimatedSeconds: estimatedUs / US, memoryBytes: peakBytes, weightBytes, stages };
  }
}

const CANCELLED: WorkFailure = { code: "cancelled", message: "The video was cancelled." };

function failureOf(error: unknown): WorkFailure {
  if (isNoRoom(error)) return NO_ROOM;
  if (isVdError(error)) return { code: error.code, message: error.message };
  const code = systemCode(error);
  // Messages of the system have paths of this machine in them.
  if (code) return { code: "io", message: `The server could not use the files of this video (${code}).` };
  return { code: "internal", message: error instanceof Error ? error.message : String(error) };
}

/** By how much of the system's niceness: enough that a call is answered first, too little to starve beside other programs. */
const WAY = 4;

/** Has the API go first where all cores compute. Threads that are made later, those of the backend, inherit it. */
function giveWay(): void {
  try {
    setPriority(getPriority() + WAY);
  } catch {
    // A system that does not let it shares evenly.
  }
}

function tell(notice: WorkerNotice): void {
  // A parent that is gone needs no notice; `disconnect` ends this process.
  if (process.connected) process.send!(notice);
}

function end(): void {
  discardAll();
  process.exit(0);
}

const worker = new Worker();
process.on("message", (request: WorkerRequest) => void worker.answer(request));
process.on("disconnect", end);
// Ctrl-C reaches the whole group of processes; the parent decides when a worker ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
tell({ type: "ready" });
