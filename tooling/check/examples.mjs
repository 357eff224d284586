// The programs in examples/ and what each must say. Tests run them in Node.js, `pnpm check:hosts` in Bun and Deno.

/** Patterns that an example's output matches, by the example's file. */
export const EXAMPLES = {
  "kernels-native.cjs": [/^cpu CPU: usable/m, /\d+ binaries have the SHA-256/, /read back: 1 2 3/],
  "tensor.mjs": [/same result: true/, /working memory: \d+ bytes/, /in the file: y/],
  "hub.mjs": [/to download: unet\/\S+fp16\.safetensors$/m, /weights of 1 file: f32/, /missing: 0 unknown: 0/],
  "sampling.mjs": [/^euler: within 0\.000 of the data, linear/m, /guidance of 5 frames: 1 2 3 2 1/],
  "media.mjs": [
    /not squeezed: 64 x 64/,
    /as Pillow does: 32 x 32/,
    /clip\.mp4: written by builtin/,
    /frame-%d\.png: written by sharp/,
  ],
  "vae-opt.mjs": [
    /PSNR of the first frame: [23]\d\.\d dB/,
    /chunks give the same frames: true/,
    /tiles give the same frames: true/,
  ],
  "causal-video.mjs": [/^planned: \d+ bytes/m, /^frames so far: 17 of size 64 x 64$/m, /^latents: 5$/m],
  "conformance.mjs": [/the contract's cases: \d+ passed, 0 failed/, /wide rows: 1 passed, 0 failed/],
  "profiler.mjs": [/two layers/, /linear/, /scopes in the report: true/],
  "svd-pipeline.mjs": [/denoise 4 of 4/, /6 frames of 128 x 128 at 7 a second/],
  "resume.mjs": [/AbortError/, /on the disk: 2 of 4 steps/, /step 3\nstep 4/, /4 frames; the state is gone: true/],
  "lora.mjs": [/changed by the LoRA: true/, /the same without it: true/],
  "fewer-calls.mjs": [
    /^denoise, call skipped: 0 to \d times$/m,
    /"featureInterval":2} PSNR [234]\d\.\d dB: 5 full; 5 full, reusing/,
    /^warning: AnimateLCMSVDStochasticIterativeScheduler is made for models/m,
    /^distilled: 4 steps, guidance 1$/m,
  ],
  "longer.mjs": [
    /^longer: 10 frames, clips meet at 6$/m,
    /^going on: 14 frames$/m,
    /^to a last picture: 6 frames$/m,
    /^a loop: 6 frames, the last one leads to frame 0$/m,
    /^twice the frames: 7 of 14 a second$/m,
  ],
  "live.mjs": [
    /^tiny-live: 96 x 64, actions none, left, right, jump, /m,
    /^frame 3: right\+jump, 1 steps$/m,
    /^frame 5: none, 2 steps$/m,
    /^pictures: 6 stored before frame 4$/m,
    /late: true network timed: true/,
    /^measures of drift: 2 collapsed: false$/m,
  ],
  "express.mjs": [/^200 video\/mp4 with a movie$/m, /^400 \{"code":"io","message":".*expected a picture/m, /^CPU$/m],
  "worker-threads.mjs": [/^frames: 4 4$/m, /same video from both workers: true/, /the third was cancelled/],
};
