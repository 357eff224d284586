// Generated from options/load-table.ts, options/generate-table.ts and options/batch-table.ts by tooling/generate/options. Do not edit.
import type { Convolutions, CpuMath, DecodedChunk, DenoiserFactory, DeviceName, FloatImage, GuidanceShape, HubOptions, InferenceOptions, Interpolation, LayerPrecision, LoraChoice, MemoryUse, OutputType, PictureFit, PictureSource, Precision, Preview, ProgressEvent, SamplerName, SchedulerClassName, StepEnd, StepEndResult, StepNoise, WorkObserver } from "./value-types";

/** How to open a model. */
export interface LoadOptions {
  /** What computes: `cpu`, `cuda` for an NVIDIA GPU, `cuda:1` for the second of several, or `auto` for a GPU if one
   *  can be used, else the CPU. Default: cpu. */
  device?: DeviceName | undefined;
  /** Several devices that share each generation: GPUs by number (`0`, `1`) or name (`cuda:0`), or `cpu` several
   *  times, which divides the threads. The frames are those of one device, within rounding. Default: one device. */
  devices?: readonly (string | number)[] | undefined;
  /** Element type of weights and activations. On the CPU activations are always float32. Default: float16 on a GPU,
   *  float32 on the CPU. */
  dtype?: Precision | undefined;
  /** Which layers of the UNet are computed in 8 bits: `full` none, `fp8` in floats, `int8` in integers, `mixed8`
   *  each in the type that suits it. With `fp8` the decoder's convolutions are too. The frames differ a little;
   *  `calibration` makes it faster and the difference smaller. Default: full. */
  precision?: LayerPrecision | undefined;
  /** What `precision` knows of the layers' inputs: a table that `vd-generate calibrate` made of this model, or
   *  `none`. A table of another model is refused. Default: calibration.json beside the model, where there is one. */
  calibration?: string | undefined;
  /** How 3x3 convolutions of many channels are computed on a GPU in float16: `direct`, or with `winograd`'s
   *  transforms, which take less time and more memory while they are used. `auto` takes those of the UNet and the
   *  decoder, of the UNet alone, or of its smaller filters, as far as its memory allows, on a Hopper GPU where the
   *  memory use is `full`. The frames differ by rounding. Default: auto. */
  convolutions?: Convolutions | undefined;
  /** CPU threads. The frames do not depend on them. Whole number, 1 to 1024. Default: VD_THREADS, or all cores. */
  threads?: number | undefined;
  /** How exactly the CPU multiplies in linear layers, convolutions and attention: `exact` as float32 has it, `fast`
   *  with three products of bfloat16 parts, `bf16` with one. `fast` needs AMX, `bf16` AMX or AVX512_BF16: elsewhere
   *  products are exact, and a warning says so. Default: exact. */
  cpuMath?: CpuMath | undefined;
  /** Which table decides the GPU's kernel variants: the path of one that was made on this device, or false for the
   *  kernels' own guess. The frames are the same. Default: the one that comes with the package for the device. */
  tuning?: string | false | undefined;
  /** What denoises instead of this package's kernels: a name that a package has registered, such as "onnxruntime" or
   *  "tensorrt" of `@vd/tensorrt`, or what makes a denoiser. Default: own kernels on the device. */
  denoiser?: string | DenoiserFactory | undefined;
  /** LoRAs to merge into the UNet, each as `{ path, weight }`: a .safetensors file in the names of PEFT, diffusers
   *  or kohya, or a folder with one, and how much of it, by default 1. `pipeline.loadLoras` and `unloadLoras` do so
   *  later. Default: none. */
  loras?: readonly LoraChoice[] | undefined;
  /** Another UNet in place of the model's own, such as AnimateLCM-SVD-xt.safetensors. A folder that diffusers saved,
   *  or one .safetensors file with the names of diffusers or the original ones, alone or in a whole checkpoint.
   *  Default: the model's own. */
  unet?: string | undefined;
  /** Whether the model is distilled for few steps without guidance. By default it then takes 4 steps of `animatelcm`
   *  without guidance, as AnimateLCM-SVD does. Weights do not tell. Default: yes for a scheduler of such models, or
   *  where a name says lcm or tcd. */
  distilled?: boolean | undefined;
  /** What the weights of a checkpoint in one file cannot tell. `unet/config.json`, `vae/config.json` and
   *  `image_encoder/config.json` in the file's folder tell it too; what is only guessed is warned of. Default: as in
   *  the published models. */
  singleFile?: InferenceOptions | undefined;
  /** Where models of the Hugging Face Hub come from and go to. Default: what the environment says. */
  hub?: Omit<HubOptions, "signal" | "onProgress" | "dtype"> | undefined;
  /** Cancels; opening then throws VdError `cancelled`. */
  signal?: AbortSignal | undefined;
  /** Called with what is being done and how far it has come. If it throws, or answers with a promise that rejects,
   *  the work fails with its error. */
  onProgress?: ((event: ProgressEvent) => void) | undefined;
}

/** What to generate. Everything but the picture has a default that suits the model. */
export interface GenerateOptions {
  /** The picture to animate: a path or an `https:`, `file:` or `data:` address, a picture file's bytes (Buffer,
   *  ArrayBuffer, Blob), a stream of them, an object of the library sharp, or pixels: bytes [H,W,3], or floats
   *  [3,H,W] from 0 to 1, which are brought to the size by their nearest pixels, as diffusers does with tensors. */
  image: PictureSource | FloatImage;
  /** Width of the frames. Multiple of 8, 8 to 16384, in pixels. Default: the model's own. */
  width?: number | undefined;
  /** Height of the frames. Multiple of 8, 8 to 16384, in pixels. Default: the model's own. */
  height?: number | undefined;
  /** Takes the size from the picture's shape: the nearest that suits the model, with about as many pixels as `width`
   *  and `height`. Default: false. */
  autoSize?: boolean | undefined;
  /** How the picture comes into the frames' shape: `cover` cuts it, `contain` adds black bars, `stretch` distorts
   *  it, as diffusers does. Default: cover. */
  fit?: PictureFit | undefined;
  /** The point that stays nearest to the middle when `cover` cuts: `50%,30%` from the left and from above, or top,
   *  bottom, left, right, top-left and so on. Default: center. */
  focus?: string | undefined;
  /** Number of frames. More than `clipFrames` are made clip by clip, each going on from the last frames of the one
   *  before. Whole number, 1 to 4096. Default: the model's own. */
  numFrames?: number | undefined;
  /** Frames that are denoised at a time, at most. From `numFrames` on all of them are, whatever the model was
   *  trained for, as diffusers does. Whole number, 3 to 4096. Default: the model's own. */
  clipFrames?: number | undefined;
  /** Frames that a clip takes over from the one before, unchanged: more hold motion and colours better and cost more
   *  clips. Whole number, 1 to 4096, in frames. Default: 4. */
  overlap?: number | undefined;
  /** How much of the drift of colours is taken back where clips follow each other: 0 leaves all of it. Number, 0 to
   *  1. Default: 1. */
  holdColours?: number | undefined;
  /** Frames that come before the picture, the oldest first: the video goes on from their motion. As many as
   *  `overlap` less one are of use. */
  pastFrames?: readonly (PictureSource | FloatImage)[] | undefined;
  /** The picture that the video ends with. */
  lastImage?: PictureSource | FloatImage | undefined;
  /** Makes a video whose last frame leads to its first. Default: false. */
  loop?: boolean | undefined;
  /** Shows the frames there and back, so that the video loops: 2 · `numFrames` − 2 of them. Default: false. */
  boomerang?: boolean | undefined;
  /** What makes a frame between every two, for twice as many a second: `blend` takes the mean of their pixels,
   *  `latent` the mean of their latents, `denoise` has the model make it, knowing both. Default: none. */
  interpolation?: Interpolation | undefined;
  /** Number of denoising steps. Where `sigmas` are given and `steps` are not, the sigmas decide. Whole number, 1 to
   *  10000. Default: 25, for small models such as tiny-svd 10, for distilled ones 4. */
  steps?: number | undefined;
  /** Frames per second, told to the model and to the file. Whole number, 1 to 240, in frames per second. Default: 7. */
  fps?: number | undefined;
  /** How much moves; 1 to 255 is what models were trained with. Number, 0 to 1000. Default: 127. */
  motionBucketId?: number | undefined;
  /** Noise added to the picture before it is encoded; more means freer motion. Number, 0 to 100. Default: 0.02. */
  noiseAugStrength?: number | undefined;
  /** Guidance scale of the first frame. Number, 0 to 1000. Default: 1. */
  minGuidance?: number | undefined;
  /** Guidance scale of the last frame, or of the middle one of a triangle. At 1 or less there is no guidance, and a
   *  step costs half. Number, 0 to 1000. Default: 3, for small models such as tiny-svd 2, for distilled ones 1. */
  maxGuidance?: number | undefined;
  /** How guidance runs over the frames: `linear` from the least to the most, `triangle` to the most and back.
   *  Default: linear. */
  guidance?: GuidanceShape | undefined;
  /** Noise level below which there is no guidance: those calls of the denoiser cost half. Number, 0 to 1000000.
   *  Default: guidance at all noise levels. */
  guidanceMinSigma?: number | undefined;
  /** Noise level above which there is no guidance: those calls of the denoiser cost half. Number, 0 to 1000000.
   *  Default: guidance at all noise levels. */
  guidanceMaxSigma?: number | undefined;
  /** Calls of the denoiser from one that computes its inner blocks to the next; 1 for every call. The others reuse
   *  what those blocks gave, as DeepCache does. Whole number, 1 to 10000, in calls. Default: 1. */
  featureInterval?: number | undefined;
  /** Skips calls of the denoiser until its input has changed by this part of itself; 0 skips none. The changes are
   *  measured and added up from the last call on, as TeaCache does; meanwhile steps use the last data prediction.
   *  The same generation skips the same calls. Number, 0 to 100. Default: 0. */
  skipThreshold?: number | undefined;
  /** Saves work where little of it is seen. Sets `guidanceMinSigma` 0.2 and `skipThreshold` 0.02, where those
   *  options are not given. Default: false. */
  fast?: boolean | undefined;
  /** Method of the denoising steps. The class names of diffusers are taken too. Default: the model's own. */
  sampler?: SamplerName | SchedulerClassName | undefined;
  /** Noise levels instead of the model's, falling, ending in 0. */
  sigmas?: readonly number[] | Float32Array | Float64Array | undefined;
  /** Decides the noise: the same seed gives the same bits. Whole number, 0 to 2^64 − 1. Default: random. */
  seed?: number | bigint | undefined;
  /** Which of torch's generators gives the noise that samplers add between steps: the CPU's, drawn on the host, or
   *  that of a GPU, drawn on the device within the step. The first latents come from the CPU's. Default: cpu. */
  stepNoise?: StepNoise | undefined;
  /** The first latents instead of ones that the seed draws: unit noise [F,C,H/8,W/8], which is multiplied by the
   *  first noise level. Default: drawn from the seed. */
  latents?: Float32Array | undefined;
  /** What is made: `video`, or `latent` for the clean latents alone, without decoding them. Default: video. */
  outputType?: OutputType | undefined;
  /** How much of a GPU's memory is used: at most 10 GiB with `full`, 6 GiB with `low`, which keeps only the weights
   *  of the stage that runs, 4 GiB with `lowest`, which streams weights from page-locked memory of the machine ahead
   *  of their use, and keeps them there for the next generation if there is room. The less, the longer it takes; the
   *  frames are the same. On the CPU `lowest` takes the least memory that there is. Default: full. */
  memory?: MemoryUse | undefined;
  /** Frames that are decoded at a time: fewer take less memory, and the frames are the same. Whole number, 1 to
   *  4096, in frames. Default: as many as the device's memory allows. */
  decodeChunk?: number | undefined;
  /** Decodes each chunk as a clip of its own, so that frames on both sides of a border do not see each other: what
   *  diffusers' decode_chunk_size does. Default: false. */
  isolateDecodeChunks?: boolean | undefined;
  /** A folder for the state of this generation, made if it is not there: after each step latents, what the sampler
   *  remembers and the random numbers' state are on the disk whole, and so are the encoded picture and decoded
   *  frames. The same call after a crash goes on from there, with the same bits in the end; without a `seed` it
   *  takes the state's. A state of other options, another picture, model, device or version is refused, and so is
   *  one that another generation works on. The state is removed once the generation has succeeded. */
  resume?: string | undefined;
  /** Leaves the state in `resume` after success, with the finished frames, until `removeState(folder)`: for programs
   *  that still have to write the video to a file. Default: false. */
  keepState?: boolean | undefined;
  /** Cancels within a step, on a GPU within two where a step takes less than half a second; `generate` then throws
   *  VdError `cancelled`. */
  signal?: AbortSignal | undefined;
  /** Called with what is being done and how far it has come. If it throws, or answers with a promise that rejects,
   *  the work fails with its error. */
  onProgress?: ((event: ProgressEvent) => void) | undefined;
  /** Called after each denoising step with the latents; those that it returns take their place. Without it the
   *  latents stay on the device. */
  onStepEnd?: ((step: StepEnd) => StepEndResult | Promise<StepEndResult>) | undefined;
  /** Called with frames as they are decoded: with all of them, or chunk after chunk with `isolateDecodeChunks`.
   *  Errors as of `onPreview`. */
  onFrames?: ((chunk: DecodedChunk) => void) | undefined;
  /** Called with the middle frame as it would look now. If it throws, or answers with a promise that rejects, the
   *  generation fails with its error. */
  onPreview?: ((preview: Preview) => void) | undefined;
  /** Called with what does not go together of checkpoint, sampler, steps and guidance, as sentences, before the work
   *  begins. Without it each is a warning of the process, once. */
  onWarning?: ((message: string) => void) | undefined;
  /** Steps between two previews. Whole number, 1 to 10000, in steps. Default: 5. */
  previewEvery?: number | undefined;
  /** Hears of every part of the work with its times and memory, such as the profiler that `createProfiler` of
   *  `@vd/profiler` makes. */
  profiler?: WorkObserver | undefined;
}

/** What a batch takes besides the options of one generation. */
export interface BatchLists {
  /** The pictures to animate, each as `image` takes one. A single one goes with every seed. */
  images: readonly (PictureSource | FloatImage)[];
  /** One seed for each picture, or a single one for all of them. Without seeds each picture has a random one. */
  seeds?: readonly (number | bigint)[] | undefined;
  /** Videos of each picture and seed, which take one part after another of the seed's noise: diffusers'
   *  `num_videos_per_prompt`. Whole number, 1 to 1024. Default: 1. */
  videosPerPicture?: number | undefined;
}

/** The defaults of a model. */
export interface GenerateDefaults {
  /** Width of the frames. Multiple of 8, 8 to 16384, in pixels. Default: the model's own. */
  width: number;
  /** Height of the frames. Multiple of 8, 8 to 16384, in pixels. Default: the model's own. */
  height: number;
  /** Number of frames. More than `clipFrames` are made clip by clip, each going on from the last frames of the one
   *  before. Whole number, 1 to 4096. Default: the model's own. */
  numFrames: number;
  /** Frames that are denoised at a time, at most. From `numFrames` on all of them are, whatever the model was
   *  trained for, as diffusers does. Whole number, 3 to 4096. Default: the model's own. */
  clipFrames: number;
  /** Number of denoising steps. Where `sigmas` are given and `steps` are not, the sigmas decide. Whole number, 1 to
   *  10000. Default: 25, for small models such as tiny-svd 10, for distilled ones 4. */
  steps: number;
  /** Frames per second, told to the model and to the file. Whole number, 1 to 240, in frames per second. Default: 7. */
  fps: number;
  /** How much moves; 1 to 255 is what models were trained with. Number, 0 to 1000. Default: 127. */
  motionBucketId: number;
  /** Noise added to the picture before it is encoded; more means freer motion. Number, 0 to 100. Default: 0.02. */
  noiseAugStrength: number;
  /** Guidance scale of the first frame. Number, 0 to 1000. Default: 1. */
  minGuidance: number;
  /** Guidance scale of the last frame, or of the middle one of a triangle. At 1 or less there is no guidance, and a
   *  step costs half. Number, 0 to 1000. Default: 3, for small models such as tiny-svd 2, for distilled ones 1. */
  maxGuidance: number;
}

/** How to open a model, with all defaults. */
export interface LoadValues {
  /** What computes: `cpu`, `cuda` for an NVIDIA GPU, `cuda:1` for the second of several, or `auto` for a GPU if one
   *  can be used, else the CPU. Default: cpu. */
  device: DeviceName;
  /** Several devices that share each generation: GPUs by number (`0`, `1`) or name (`cuda:0`), or `cpu` several
   *  times, which divides the threads. The frames are those of one device, within rounding. Default: one device. */
  devices: readonly string[] | undefined;
  /** Element type of weights and activations. On the CPU activations are always float32. Default: float16 on a GPU,
   *  float32 on the CPU. */
  dtype: Precision;
  /** Which layers of the UNet are computed in 8 bits: `full` none, `fp8` in floats, `int8` in integers, `mixed8`
   *  each in the type that suits it. With `fp8` the decoder's convolutions are too. The frames differ a little;
   *  `calibration` makes it faster and the difference smaller. Default: full. */
  precision: LayerPrecision;
  /** What `precision` knows of the layers' inputs: a table that `vd-generate calibrate` made of this model, or
   *  `none`. A table of another model is refused. Default: calibration.json beside the model, where there is one. */
  calibration: string | undefined;
  /** How 3x3 convolutions of many channels are computed on a GPU in float16: `direct`, or with `winograd`'s
   *  transforms, which take less time and more memory while they are used. `auto` takes those of the UNet and the
   *  decoder, of the UNet alone, or of its smaller filters, as far as its memory allows, on a Hopper GPU where the
   *  memory use is `full`. The frames differ by rounding. Default: auto. */
  convolutions: Convolutions;
  /** CPU threads. The frames do not depend on them. Whole number, 1 to 1024. Default: VD_THREADS, or all cores. */
  threads: number | undefined;
  /** How exactly the CPU multiplies in linear layers, convolutions and attention: `exact` as float32 has it, `fast`
   *  with three products of bfloat16 parts, `bf16` with one. `fast` needs AMX, `bf16` AMX or AVX512_BF16: elsewhere
   *  products are exact, and a warning says so. Default: exact. */
  cpuMath: CpuMath | undefined;
  /** Another UNet in place of the model's own, such as AnimateLCM-SVD-xt.safetensors. A folder that diffusers saved,
   *  or one .safetensors file with the names of diffusers or the original ones, alone or in a whole checkpoint.
   *  Default: the model's own. */
  unet: string | undefined;
  /** Whether the model is distilled for few steps without guidance. By default it then takes 4 steps of `animatelcm`
   *  without guidance, as AnimateLCM-SVD does. Weights do not tell. Default: yes for a scheduler of such models, or
   *  where a name says lcm or tcd. */
  distilled: boolean | undefined;
}

/** What to generate, with all defaults. */
export interface GenerateValues {
  /** Width of the frames. Multiple of 8, 8 to 16384, in pixels. Default: the model's own. */
  width: number;
  /** Height of the frames. Multiple of 8, 8 to 16384, in pixels. Default: the model's own. */
  height: number;
  /** Takes the size from the picture's shape: the nearest that suits the model, with about as many pixels as `width`
   *  and `height`. Default: false. */
  autoSize: boolean;
  /** How the picture comes into the frames' shape: `cover` cuts it, `contain` adds black bars, `stretch` distorts
   *  it, as diffusers does. Default: cover. */
  fit: PictureFit;
  /** The point that stays nearest to the middle when `cover` cuts: `50%,30%` from the left and from above, or top,
   *  bottom, left, right, top-left and so on. Default: center. */
  focus: string;
  /** Number of frames. More than `clipFrames` are made clip by clip, each going on from the last frames of the one
   *  before. Whole number, 1 to 4096. Default: the model's own. */
  numFrames: number;
  /** Frames that are denoised at a time, at most. From `numFrames` on all of them are, whatever the model was
   *  trained for, as diffusers does. Whole number, 3 to 4096. Default: the model's own. */
  clipFrames: number;
  /** Frames that a clip takes over from the one before, unchanged: more hold motion and colours better and cost more
   *  clips. Whole number, 1 to 4096, in frames. Default: 4. */
  overlap: number;
  /** How much of the drift of colours is taken back where clips follow each other: 0 leaves all of it. Number, 0 to
   *  1. Default: 1. */
  holdColours: number;
  /** Makes a video whose last frame leads to its first. Default: false. */
  loop: boolean;
  /** Shows the frames there and back, so that the video loops: 2 · `numFrames` − 2 of them. Default: false. */
  boomerang: boolean;
  /** What makes a frame between every two, for twice as many a second: `blend` takes the mean of their pixels,
   *  `latent` the mean of their latents, `denoise` has the model make it, knowing both. Default: none. */
  interpolation: Interpolation;
  /** Number of denoising steps. Where `sigmas` are given and `steps` are not, the sigmas decide. Whole number, 1 to
   *  10000. Default: 25, for small models such as tiny-svd 10, for distilled ones 4. */
  steps: number;
  /** Frames per second, told to the model and to the file. Whole number, 1 to 240, in frames per second. Default: 7. */
  fps: number;
  /** How much moves; 1 to 255 is what models were trained with. Number, 0 to 1000. Default: 127. */
  motionBucketId: number;
  /** Noise added to the picture before it is encoded; more means freer motion. Number, 0 to 100. Default: 0.02. */
  noiseAugStrength: number;
  /** Guidance scale of the first frame. Number, 0 to 1000. Default: 1. */
  minGuidance: number;
  /** Guidance scale of the last frame, or of the middle one of a triangle. At 1 or less there is no guidance, and a
   *  step costs half. Number, 0 to 1000. Default: 3, for small models such as tiny-svd 2, for distilled ones 1. */
  maxGuidance: number;
  /** How guidance runs over the frames: `linear` from the least to the most, `triangle` to the most and back.
   *  Default: linear. */
  guidance: GuidanceShape;
  /** Noise level below which there is no guidance: those calls of the denoiser cost half. Number, 0 to 1000000.
   *  Default: guidance at all noise levels. */
  guidanceMinSigma: number | undefined;
  /** Noise level above which there is no guidance: those calls of the denoiser cost half. Number, 0 to 1000000.
   *  Default: guidance at all noise levels. */
  guidanceMaxSigma: number | undefined;
  /** Calls of the denoiser from one that computes its inner blocks to the next; 1 for every call. The others reuse
   *  what those blocks gave, as DeepCache does. Whole number, 1 to 10000, in calls. Default: 1. */
  featureInterval: number;
  /** Skips calls of the denoiser until its input has changed by this part of itself; 0 skips none. The changes are
   *  measured and added up from the last call on, as TeaCache does; meanwhile steps use the last data prediction.
   *  The same generation skips the same calls. Number, 0 to 100. Default: 0. */
  skipThreshold: number;
  /** Saves work where little of it is seen. Sets `guidanceMinSigma` 0.2 and `skipThreshold` 0.02, where those
   *  options are not given. Default: false. */
  fast: boolean;
  /** Method of the denoising steps. The class names of diffusers are taken too. Default: the model's own. */
  sampler: SamplerName | SchedulerClassName | undefined;
  /** Noise levels instead of the model's, falling, ending in 0. */
  sigmas: readonly number[] | undefined;
  /** Decides the noise: the same seed gives the same bits. Whole number, 0 to 2^64 − 1. Default: random. */
  seed: bigint | undefined;
  /** Which of torch's generators gives the noise that samplers add between steps: the CPU's, drawn on the host, or
   *  that of a GPU, drawn on the device within the step. The first latents come from the CPU's. Default: cpu. */
  stepNoise: StepNoise;
  /** What is made: `video`, or `latent` for the clean latents alone, without decoding them. Default: video. */
  outputType: OutputType;
  /** How much of a GPU's memory is used: at most 10 GiB with `full`, 6 GiB with `low`, which keeps only the weights
   *  of the stage that runs, 4 GiB with `lowest`, which streams weights from page-locked memory of the machine ahead
   *  of their use, and keeps them there for the next generation if there is room. The less, the longer it takes; the
   *  frames are the same. On the CPU `lowest` takes the least memory that there is. Default: full. */
  memory: MemoryUse;
  /** Frames that are decoded at a time: fewer take less memory, and the frames are the same. Whole number, 1 to
   *  4096, in frames. Default: as many as the device's memory allows. */
  decodeChunk: number | undefined;
  /** Decodes each chunk as a clip of its own, so that frames on both sides of a border do not see each other: what
   *  diffusers' decode_chunk_size does. Default: false. */
  isolateDecodeChunks: boolean;
  /** A folder for the state of this generation, made if it is not there: after each step latents, what the sampler
   *  remembers and the random numbers' state are on the disk whole, and so are the encoded picture and decoded
   *  frames. The same call after a crash goes on from there, with the same bits in the end; without a `seed` it
   *  takes the state's. A state of other options, another picture, model, device or version is refused, and so is
   *  one that another generation works on. The state is removed once the generation has succeeded. */
  resume: string | undefined;
  /** Leaves the state in `resume` after success, with the finished frames, until `removeState(folder)`: for programs
   *  that still have to write the video to a file. Default: false. */
  keepState: boolean;
  /** Steps between two previews. Whole number, 1 to 10000, in steps. Default: 5. */
  previewEvery: number;
}
