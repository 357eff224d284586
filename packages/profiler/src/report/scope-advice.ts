/** What the own time of the scopes of a generation means, and what would help. */
const KNOWN: Readonly<Record<string, { finding: string; advice: string }>> = {
  load: {
    finding: "Weights are brought to the device and packed before the first run.",
    advice: "Keep the pipeline open for several videos; put the model on a faster disk if the first load is slow.",
  },
  free: { finding: "Memory goes back to the system.", advice: "Nothing to gain but by smaller plans." },
  run: {
    finding: "Time between the rows, and on the way to the worker thread and back.",
    advice: "It counts when runs are short: more frames or a larger picture per run make it small.",
  },
  readback: {
    finding: "Results come back from the device.",
    advice: "Leave out previews; frames of a smaller size are fewer bytes.",
  },
  write: { finding: "Inputs are brought to the device.", advice: "Nothing to gain but by smaller inputs." },
  sampler: { finding: "The sampler's arithmetic between the steps.", advice: "Fewer steps." },
  uint8: { finding: "Frames are turned into bytes.", advice: "Fewer frames or a smaller size." },
  plan: { finding: "The stages are recorded and their memory is planned.", advice: "It does not grow with the size." },
  preprocess: {
    finding: "The picture is resized for the models.",
    advice: "Start from a picture of the video's size.",
  },
  noise: { finding: "Random numbers are drawn.", advice: "Fewer frames or a smaller size." },
  "image decode": { finding: "The picture's file is decoded.", advice: "Start from a smaller picture." },
  "encode video": {
    finding: "The frames are encoded and written.",
    advice: "MP4 is the fastest format; `--encoder ffmpeg` uses all cores; GIF is the slowest.",
  },
  "open model": {
    finding: "Names and configurations are read, weights are mapped.",
    advice: "Keep the pipeline open.",
  },
};

/** A finding and an advice for the own time of a scope. */
export function scopeAdvice(name: string): { finding: string; advice: string } {
  return (
    KNOWN[name] ?? {
      finding: "Time of its own, outside the scopes that it contains.",
      advice: "Open scopes inside it to see what it is made of.",
    }
  );
}
