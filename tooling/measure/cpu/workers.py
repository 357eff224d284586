"""The Python peers of cpu.py. workers.py pytorch|onnxruntime WORK answers requests; workers.py export WORK makes the
ONNX models."""
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np


class Inputs:
    """The arrays that cpu.py wrote."""

    def __init__(self, work):
        self.work = Path(work)
        self.about = json.loads((self.work / "inputs.json").read_text())

    def array(self, name):
        dtype = np.uint8 if name.endswith("_u8") else np.float32
        return np.fromfile(self.work / f"{name}.bin", dtype).reshape(self.about["shapes"][name])

    def guided(self, rows):
        """The unconditional and the conditional row as the pipeline joins them, [1,F,C,h,w]."""
        unconditional, conditional = np.split(rows, 2)
        return unconditional + self.array("guidance").reshape(1, -1, 1, 1, 1) * (conditional - unconditional)


def same(values):
    return values


def torch_cases(inputs):
    """Per case a function that loads what it needs and returns: how to run it, and its result as an array."""
    import torch
    from diffusers import AutoencoderKLTemporalDecoder, StableVideoDiffusionPipeline, UNetSpatioTemporalConditionModel
    from PIL import Image
    from transformers import CLIPVisionModelWithProjection
    torch.set_num_threads(inputs.about["threads"])
    torch.set_grad_enabled(False)
    model, settings = inputs.about["model"], inputs.about["settings"]
    tensor = lambda name: torch.from_numpy(inputs.array(name))
    load = lambda kind, part: kind.from_pretrained(model, subfolder=part, torch_dtype=torch.float32).eval()

    def unet():
        net = load(UNetSpatioTemporalConditionModel, "unet")
        operands = [tensor(f"unet.first.{name}") for name in ("sample", "timestep", "encoder_hidden_states", "added_time_ids")]
        return lambda: net(*operands, return_dict=False)[0].numpy(), inputs.guided

    def decode():
        vae = load(AutoencoderKLTemporalDecoder, "vae")
        latents = tensor("latents.last").flatten(0, 1)

        def run():
            z = 1 / vae.config.scaling_factor * latents
            return vae.decode(z, num_frames=len(z), return_dict=False)[0].numpy()
        return run, same

    def encode():
        vae, image = load(AutoencoderKLTemporalDecoder, "vae"), tensor("vae.encode_input")
        return lambda: vae.encode(image).latent_dist.parameters.numpy(), same

    def clip():
        encoder, pixels = CLIPVisionModelWithProjection.from_pretrained(f"{model}/image_encoder"), tensor("clip.pixel_values")
        encoder = encoder.to(torch.float32).eval()
        return lambda: encoder(pixels).image_embeds.numpy(), same

    def pipeline():
        pipe = StableVideoDiffusionPipeline.from_pretrained(model, torch_dtype=torch.float32)
        pipe.set_progress_bar_config(disable=True)
        image = Image.fromarray(inputs.array("image_u8"))
        names = ["width", "height", "num_frames", "num_inference_steps", "min_guidance_scale", "max_guidance_scale", "fps",
                 "motion_bucket_id", "noise_aug_strength", "decode_chunk_size"]

        def run():
            generator = torch.Generator().manual_seed(settings["seed"])
            options = {name: settings[name] for name in names}
            frames = pipe(image, **options, generator=generator, output_type="np").frames[0]
            return (frames * 255).round().astype(np.uint8)
        return run, same
    return {"unet": unet, "decode": decode, "encode": encode, "clip": clip, "pipeline": pipeline}


def export(inputs):
    """unet.onnx and decode.onnx in the work folder, with the shapes of the inputs."""
    import torch
    from diffusers import AutoencoderKLTemporalDecoder, UNetSpatioTemporalConditionModel
    model = inputs.about["model"]
    tensor = lambda name: torch.from_numpy(inputs.array(name))

    class Unet(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = UNetSpatioTemporalConditionModel.from_pretrained(model, subfolder="unet", torch_dtype=torch.float32)

        def forward(self, sample, timestep, context, ids):
            return self.net(sample, timestep, context, ids, return_dict=False)[0]

    class Decode(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.vae = AutoencoderKLTemporalDecoder.from_pretrained(model, subfolder="vae", torch_dtype=torch.float32)

        def forward(self, latents):
            z = 1 / self.vae.config.scaling_factor * latents
            return self.vae.decode(z, num_frames=z.shape[0], return_dict=False)[0]

    first = tuple(tensor(f"unet.first.{name}") for name in ("sample", "timestep", "encoder_hidden_states", "added_time_ids"))
    for name, module, operands in (("unet", Unet(), first), ("decode", Decode(), (tensor("latents.last").flatten(0, 1),))):
        with torch.no_grad():
            torch.onnx.export(module.eval(), operands, inputs.work / f"{name}.onnx", dynamo=True, verbose=False)


def onnx_cases(inputs):
    import onnxruntime

    def session(name, *operands):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = inputs.about["threads"]
        options.inter_op_num_threads = 1
        made = onnxruntime.InferenceSession(str(inputs.work / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
        feed = {wanted.name: values for wanted, values in zip(made.get_inputs(), operands, strict=True)}
        return lambda: made.run(None, feed)[0]

    def unet():
        names = ("sample", "timestep", "encoder_hidden_states", "added_time_ids")
        return session("unet", *(inputs.array(f"unet.first.{name}") for name in names)), inputs.guided

    def decode():
        latents = inputs.array("latents.last")
        return session("decode", latents.reshape(-1, *latents.shape[2:])), same
    return {"unet": unet, "decode": decode}


def answer(inputs, name, cases):
    """One JSON line per request: {"case", "runs"} → {"seconds", "peakBytes"}."""
    ready = {}
    unit = 1 if sys.platform == "darwin" else 1024
    for line in sys.stdin:
        request = json.loads(line)
        case = request["case"]
        if case not in ready:
            run, finish = cases[case]()
            np.ascontiguousarray(finish(run())).tofile(inputs.work / f"{name}.{case}.bin")
            ready[case] = run
        seconds = []
        for _ in range(request["runs"]):
            start = time.perf_counter()
            ready[case]()
            seconds.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        print(json.dumps({"seconds": seconds, "peakBytes": peak}), flush=True)


def main():
    name, work = sys.argv[1:]
    inputs = Inputs(work)
    if name == "export":
        return export(inputs)
    return answer(inputs, name, torch_cases(inputs) if name == "pytorch" else onnx_cases(inputs))


if __name__ == "__main__":
    main()
