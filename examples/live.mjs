// @vd/live alone: a little game that a model makes while it is played, steered, stored and measured.
import { actionForKeys, createLiveSession, drift } from "@vd/live";

const session = await createLiveSession({ pace: "reader", steps: 1, seed: 1, timeEvery: 4 });
const { model } = session;
console.log(`${model.name}: ${model.width} x ${model.height}, actions ${model.actions.join(", ")}`);

session.act(actionForKeys(model, ["ArrowRight", "Space"]));
let snapshot;
let bytes = 0;
for await (const { index, action, data, steps } of session) {
  bytes += data.length;
  console.log(`frame ${index}: ${action}, ${steps} steps`);
  if (index === 3) {
    snapshot = await session.snapshot();
    session.act("none");
    await session.set({ steps: 2 });
  }
  if (index === 5) break; // closes the session
}
console.log("pictures:", bytes / (model.width * model.height * 3), "stored before frame", snapshot.index);
const { frames, misses, parts } = session.stats();
console.log("made:", frames, "late:", misses <= frames, "network timed:", parts["run.network"] > 0);

const { measures, collapsed } = await drift({ frames: 20, everyFrames: 10 });
console.log("measures of drift:", measures.length, "collapsed:", collapsed);
