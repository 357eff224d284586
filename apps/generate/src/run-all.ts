import { valueError } from "@vd/svd-pipeline/options";
import type { Context } from "./dependencies";
import { execute, prepare } from "./execute";
import type { PipelineFactory } from "./model/factory";
import { expandPictures, outputOf, outputPattern, settingsOf, settingsOfEach } from "./pictures";
import { reportFailure } from "./report/failure";
import { makeReporter } from "./report/reporter";
import type { Settings } from "./settings";
import { isStandardOutput, toStandardOutput } from "./standard-output";
import { checkWatched, watchedPictures } from "./watch";

/** A factory whose model is opened once for several runs, and the end of its use. */
function sharedFactory(factory: PipelineFactory): { factory: PipelineFactory; close(): Promise<void> } {
  let opened: ReturnType<PipelineFactory["load"]> | undefined;
  return {
    factory: {
      ...factory,
      async load(source, options) {
        opened ??= factory.load(source, options);
        // A model that could not be opened may be opened for the next picture.
        const pipeline = await opened.catch((error: unknown) => {
          opened = undefined;
          throw error;
        });
        return {
          defaults: pipeline.defaults,
          plan: (given) => pipeline.plan(given),
          generate: (given) => pipeline.generate(given),
          dispose() {},
        };
      },
    },
    close: async () => (await opened?.catch(() => undefined))?.dispose(),
  };
}

/** Makes one video. onChecked: called once nothing is wrong with the command line. */
function runOne(settings: Settings, context: Context, onChecked: () => void): Promise<void> {
  return toStandardOutput(settings, context, async (given, dependencies) => {
    const inside = { ...context, ...dependencies };
    const preparation = await prepare(given, inside);
    onChecked();
    await execute(preparation, given, inside);
  });
}

/** Makes videos one after the other; one that fails is told of, and the others are made. Returns how many failed. */
async function runEach(
  all: Iterable<Settings> | AsyncIterable<Settings>,
  context: Context,
  onChecked: () => void,
): Promise<number> {
  const shared = sharedFactory(context.pipelineFactory);
  let numFailed = 0;
  try {
    for await (const settings of all) {
      // Each run takes its bar off the screen when it ends.
      const reporter = await makeReporter(context.io, settings, context.variables);
      try {
        await runOne(settings, { ...context, reporter, pipelineFactory: shared.factory }, onChecked);
      } catch (error) {
        if (context.signal.aborted) throw error;
        numFailed++;
        reporter.close();
        if (!settings.json) context.io.stderr.write(`${settings.image}:\n`);
        reportFailure(error, { json: settings.json, isUsageChecked: true }, context);
      } finally {
        reporter.close();
      }
    }
  } finally {
    await shared.close();
  }
  return numFailed;
}

async function* watchedSettings(folder: string, settings: Settings, context: Context): AsyncGenerator<Settings> {
  const pattern = outputPattern(settings);
  if (!settings.quiet) context.reporter.note(`Watching ${folder}; Ctrl-C ends it.`);
  for await (const image of watchedPictures(folder, context.signal)) yield settingsOf(settings, image, pattern);
}

/**
 * Makes the videos of a command line: of one picture, of several, or of those that come into a watched folder. images: the words that name
 * pictures. Returns how many of several failed.
 *
 * @throws VdError as {@link execute}, for one picture
 */
export async function runAll(
  settings: Settings,
  images: readonly string[],
  context: Context,
  onChecked: () => void,
): Promise<number> {
  const { watch, output } = settings;
  if (watch !== undefined) {
    if (settings.image !== undefined)
      throw valueError("--watch", "no IMAGE beside it", watch, "Leave out one of the two");
    if (isStandardOutput(output)) throw valueError("--watch", "files as output", output, "Name them, as in {name}.mp4");
    checkWatched(watch, outputPattern(settings));
    return runEach(watchedSettings(watch, settings, context), context, onChecked);
  }
  const pictures = await expandPictures(images);
  if (pictures.length > 1) return runEach(settingsOfEach(settings, pictures), context, onChecked);
  const image = pictures[0] ?? settings.image;
  await runOne({ ...settings, image, output: outputOf(image ?? "out", output) }, context, onChecked);
  return 0;
}
