"""Runs parts of Stable Video Diffusion with PyTorch and diffusers for vd-bench, which asks by JSON lines on standard
input and reads answers on standard output; whatever libraries print goes to standard error. Each request has an `id` and a
`cmd`; each answer has the same `id` and either `ok: true` with results or `ok: false` with a `reason`."""
import gc
import importlib.util
import json
import math
import os
import sys
import tempfile
import time

ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

if importlib.util.find_spec("importlib_metadata") is None:
    import importlib.metadata
    sys.modules["importlib_metadata"] = importlib.metadata

import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

import torch_ops  # noqa: E402
from launches import count_launches  # noqa: E402

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
SUBFOLDERS = {"unet": "unet", "vae": "vae", "encode": "vae", "clip": "image_encoder"}


def classes():
    from diffusers import AutoencoderKLTemporalDecoder, UNetSpatioTemporalConditionModel
    from transformers import CLIPVisionModelWithProjection

    return {"unet": UNetSpatioTemporalConditionModel, "vae": AutoencoderKLTemporalDecoder,
            "image_encoder": CLIPVisionModelWithProjection}


def version_of(name):
    try:
        return __import__(name).__version__
    except Exception:
        return None


def exact_float32(on):
    """The reference must not round to TF32."""
    torch.backends.cuda.matmul.allow_tf32 = not on
    torch.backends.cudnn.allow_tf32 = not on


def weight_bytes(module):
    return sum(p.numel() * p.element_size() for p in module.parameters())


class Peer:
    """Parts of a model with PyTorch; peers of other models change what is theirs."""
    libraries = ("diffusers", "transformers")

    def __init__(self):
        self.modules = {}
        self.compiled = {}
        self.inputs = {}
        self.outputs = {}
        self.pipeline = None

    def hello(self, _):
        cuda = torch.cuda.is_available()
        return {"device": torch.cuda.get_device_name() if cuda else "CPU", "cuda": cuda, "versions": {
            "python": sys.version.split()[0], "torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(), **{name: version_of(name) for name in self.libraries}}}

    def open(self, request):
        self.model, self.device = request["model"], request["device"]
        self.dtype = DTYPES[request["dtype"]]
        if self.device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("PyTorch sees no GPU")
        if self.device == "cpu" and request.get("threads"):
            torch.set_num_threads(request["threads"])
        torch.set_grad_enabled(False)
        return {}

    def variant(self, folder):
        names = os.listdir(os.path.join(self.model, folder))
        return "fp16" if any(".fp16." in name for name in names) else None

    def read(self, folder, dtype):
        cls = classes()[folder]
        options = {"variant": self.variant(folder), "torch_dtype": dtype}
        return cls.from_pretrained(self.model, subfolder=folder, **options).to(self.device).eval()

    def folder(self, part):
        return SUBFOLDERS[part]

    def module(self, folder):
        if folder not in self.modules:
            self.modules[folder] = self.read(folder, self.dtype)
        return self.modules[folder]

    def load(self, part):
        """Brings what a part needs to the device, before it is timed."""
        self.module(self.folder(part))

    def upcasts(self, part, vae):
        return part == "encode" and getattr(vae.config, "force_upcast", False)

    def call(self, part, mode, module, inputs):
        """The part as its caller in the pipeline calls it. inputs: already on the device."""
        dtype = next(module.parameters()).dtype
        x = {name: t.to(dtype) for name, t in inputs.items()}
        if part == "unet":
            run = self.compiled_of("unet", module) if mode == "compile" else module
            return run(x["sample"], inputs["timestep"].reshape(()), encoder_hidden_states=x["context"],
                       added_time_ids=x["added_time_ids"], return_dict=False)[0]
        if part == "vae":
            if mode == "compile":
                module.decoder = self.compiled_of("decoder", self.plain_decoder(module))
            elif "decoder" in self.compiled:
                module.decoder = self.plain_decoder(module)
            z = x["latents"] / module.config.scaling_factor
            return module.decode(z, num_frames=z.shape[0]).sample
        if part == "encode":
            return module.encode(x["image"]).latent_dist.parameters
        return module(x["pixels"]).image_embeds

    def plain_decoder(self, vae):
        return getattr(vae.decoder, "_orig_mod", vae.decoder)

    def compiled_of(self, name, module):
        if name not in self.compiled:
            self.compiled[name] = torch.compile(module)
        return self.compiled[name]

    def load_inputs(self, path):
        return {name: t.to(self.device) for name, t in load_file(path).items()}

    def once(self, request):
        part, mode = request["part"], request["mode"]
        if part == "e2e":
            return self.generate(request)
        module = self.module(self.folder(part))
        upcast = self.upcasts(part, module) and self.dtype != torch.float32
        if upcast:
            module.to(torch.float32)
        try:
            return self.call(part, mode, module, self.inputs[part])
        finally:
            if upcast:
                module.to(self.dtype)

    def timed(self, request):
        self.synchronize()
        start = time.perf_counter()
        output = self.once(request)
        self.synchronize()
        return (time.perf_counter() - start) * 1e6, output

    def synchronize(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def prepare(self, request):
        """Loads the part, warms it up (which compiles it) and keeps its output."""
        part = request["part"]
        start = time.perf_counter()
        if part != "e2e":
            self.inputs[part] = self.load_inputs(request["inputs"])
            self.load(part)
        self.synchronize()
        load_us = (time.perf_counter() - start) * 1e6
        # Its result goes at once: the memory of the second run is that of one result.
        first_us = self.timed({**request, "steps": 2})[0]
        others = self.unused_bytes(part)
        if self.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        _, output = self.timed({**request, "steps": 2})
        self.outputs[part, request["mode"]] = output
        result = {"loadUs": load_us, "firstUs": first_us}
        if self.device != "cuda":
            return {**result, "peakBytes": None}
        return {**result, "peakBytes": torch.cuda.max_memory_allocated() - others,
                "reservedBytes": torch.cuda.max_memory_reserved()}

    def unused_bytes(self, part):
        """Weights on the device that a part does not use."""
        needed = None if part == "e2e" else self.folder(part)
        if needed is None:
            return 0
        return sum(weight_bytes(module) for name, module in self.modules.items() if name != needed)

    def run(self, request):
        return {"timesUs": [self.timed(request)[0] for _ in range(request["repeats"])]}

    def output(self, request):
        self.save(self.outputs.pop((request["part"], request["mode"])), request["path"])
        return {}

    def save(self, tensor, path):
        save_file({"output": tensor.float().cpu().contiguous()}, path)

    def reference(self, request):
        """The same weights and inputs in float32, without TF32."""
        part = request["part"]
        inputs = self.load_inputs(request["inputs"])
        # Weights and inputs as the half-precision run sees them.
        rounded = {name: t.to(self.dtype).float() if name != "timestep" and part != "encode" else t
                   for name, t in inputs.items()}
        exact_float32(True)
        module = self.read(self.folder(part), torch.float32)
        try:
            self.save(self.call(part, "eager", module, rounded), request["path"])
        finally:
            del module
            exact_float32(False)
            self.collect()
        return {}

    def collect(self):
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()

    def release(self, request):
        part = request["part"]
        self.inputs.pop(part, None)
        for key in [key for key in self.outputs if key[0] == part]:
            del self.outputs[key]
        self.collect()
        return {}

    def pipe(self):
        if self.pipeline is None:
            from diffusers import EulerDiscreteScheduler, StableVideoDiffusionPipeline
            from transformers import CLIPImageProcessor

            self.pipeline = StableVideoDiffusionPipeline(
                vae=self.module("vae"), image_encoder=self.module("image_encoder"), unet=self.module("unet"),
                scheduler=EulerDiscreteScheduler.from_pretrained(self.model, subfolder="scheduler"),
                feature_extractor=CLIPImageProcessor.from_pretrained(self.model, subfolder="feature_extractor"))
            self.pipeline.set_progress_bar_config(disable=True)
        return self.pipeline

    def generate(self, request):
        """From the picture's file to frames in host memory."""
        from PIL import Image

        pipe = self.pipe()
        unet, vae = self.module("unet"), self.module("vae")
        decoder = self.plain_decoder(vae)
        compile_it = request["mode"] == "compile"
        pipe.unet = self.compiled_of("unet", unet) if compile_it else unet
        vae.decoder = self.compiled_of("decoder", decoder) if compile_it else decoder
        frames = pipe(Image.open(request["image"]).convert("RGB"), height=request["height"], width=request["width"],
                      num_frames=request["frames"], num_inference_steps=request["steps"],
                      min_guidance_scale=1.0, max_guidance_scale=3.0, fps=7, motion_bucket_id=127,
                      noise_aug_strength=0.02, decode_chunk_size=request["frames"],
                      generator=torch.manual_seed(request["seed"]), output_type="np").frames[0]
        return torch.from_numpy(frames)

    def first_call(self, request):
        """Opens the pipeline, begins a generation and stops before the denoiser's first call."""
        def stop(*_):
            self.synchronize()
            raise FirstCall

        hook = self.pipe().unet.register_forward_pre_hook(stop)
        try:
            self.generate({**request, "mode": "eager"})
        except FirstCall:
            return {}
        finally:
            hook.remove()

    def operands(self, request):
        """The operands of an op, from patterns that fill them: every contender computes on the same numbers."""
        dtype = torch_ops.DTYPES[request["dtype"]]
        patterns = load_file(request["inputs"])
        keep = ("coefficients", "inputScale", "x") if request["op"] == "sampler_step" else ()
        own = {name: torch_ops.DTYPES[each] for name, each in request.get("dtypes", {}).items()}
        made = {}
        for name, dims in request["dims"].items():
            wanted = own.get(name, torch.float32 if name in keep else dtype)
            pattern, count = torch_ops.stored(patterns[name].to(self.device), wanted), math.prod(dims)
            made[name] = pattern.repeat(-(-count // pattern.numel()))[:count].reshape(dims).contiguous()
        return torch_ops.prepared(request["op"], made)

    def op_prepare(self, request):
        """One op over `numSets` copies of its operands, `passes` times."""
        function = torch_ops.OPS.get(request["op"])
        if function is None:
            raise NotImplementedError(f"PyTorch has no counterpart of {request['op']} here")
        first = self.operands(request)
        sets = [first] + [{name: t.clone() for name, t in first.items()} for _ in range(request["numSets"] - 1)]
        attrs, passes = request["attrs"], request["passes"]

        def op():
            results = [function(each, attrs) for each in sets]
            for _ in range(passes - 1):  # for their time alone: results that nobody keeps give their memory back
                for each in sets:
                    function(each, attrs)
            return results

        self.op, self.op_calls = op, passes * len(sets)
        results, first_us = self.timed_op(self.op)
        if "output" in request:
            self.save(results[0], request["output"])
        return {"firstUs": first_us}

    def timed_op(self, run):
        """What `run` returns, and how long one of its calls took, in µs."""
        self.synchronize()
        start = time.perf_counter()
        results = run()
        self.synchronize()
        return results, (time.perf_counter() - start) * 1e6 / self.op_calls

    def op_capture(self, _):
        """Captures the op that was prepared as a graph."""
        if self.device != "cuda":
            raise NotImplementedError("only a GPU has graphs")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.op()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.graph_results = self.op()
        return {"firstUs": self.timed_op(self.graph.replay)[1]}

    def op_run(self, request):
        run = self.graph.replay if request.get("graph") else self.op
        return {"timesUs": [self.timed_op(run)[1] for _ in range(request["repeats"])]}

    def op_count(self, _):
        """What one call puts on the GPU: kernels, copies and fills, as PyTorch's profiler (CUPTI) saw them."""
        if self.device != "cuda":
            raise NotImplementedError("launches are counted on a GPU")
        for _ in range(2):  # The first session also sets the tracer up.
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
                self.op()
                self.synchronize()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            profile.export_chrome_trace(path)
            with open(path) as file:
                return {"launches": count_launches(json.load(file)) / self.op_calls}

    def op_release(self, _):
        self.op = self.graph = self.graph_results = None
        self.collect()
        return {}


class FirstCall(Exception):
    """The denoiser was about to be called."""


def answer(value):
    ANSWERS.write(json.dumps(value) + "\n")
    ANSWERS.flush()


def reason_of(error):
    text = str(error).strip().split("\n")[0][:400]
    return f"{type(error).__name__}: {text}"


def main(peer):
    for line in sys.stdin:
        request = json.loads(line)
        if request["cmd"] == "exit":
            break
        try:
            result = getattr(peer, request["cmd"])(request)
            answer({"id": request["id"], "ok": True, **result})
        except Exception as error:
            answer({"id": request["id"], "ok": False, "reason": reason_of(error)})
            peer.collect()


if __name__ == "__main__":
    main(Peer())
