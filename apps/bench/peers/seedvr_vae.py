"""Runs SeedVR's own PyTorch code of its video autoencoder for vd-bench, by the lines of diffusers_peer.py. The code comes
from the user's checkout of https://github.com/ByteDance-Seed/SeedVR, set up as its projects/inference_seedvr2_3b.py does:
causal slicing, limits of memory, TF32 where the type is float32. Parts are `encode` and `decode`, both of the input `x`."""
import os
import sys

# First: it keeps standard output for answers, and SeedVR's log would else go there.
import diffusers_peer

import einops  # noqa: F401, E402  SeedVR's code needs it: what is missing is said before anything is loaded
import torch  # noqa: E402
import yaml  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

MODEL = "models/video_vae_v3/s8_c16_t4_inflation_sd3.yaml"
INFERENCE = "configs_3b/main.yaml"


def settings(folder, name):
    with open(os.path.join(folder, name)) as file:
        return yaml.safe_load(file)


def weights_of(path):
    """The tensors of a file, or of all files of a folder."""
    if not os.path.isdir(path):
        return load_file(path)
    files = sorted(name for name in os.listdir(path) if name.endswith(".safetensors"))
    return {key: t for name in files for key, t in load_file(os.path.join(path, name)).items()}


class SeedvrPeer(diffusers_peer.Peer):
    libraries = ("diffusers", "einops")

    def open(self, request):
        """seedvr: the checkout; model: the weights; config: arguments of the class beyond those of the published file."""
        super().open(request)
        diffusers_peer.exact_float32(False)
        self.checkout, self.arguments = request["seedvr"], request["config"]
        sys.path.insert(0, self.checkout)
        from common.distributed import advanced
        from models.video_vae_v3.modules import attn_video_vae

        # Its convolutions ask which processes there are: one, for which no process group has to be made.
        advanced._SEQUENCE_PARALLEL_GLOBAL_RANKS = [0]
        self.wrapper = attn_video_vae.VideoAutoencoderKLWrapper
        return {}

    def folder(self, part):
        return "vae"

    def read(self, _, dtype):
        published = {key: value for key, value in settings(self.checkout, MODEL).items() if key != "__object__"}
        run = settings(self.checkout, INFERENCE)["vae"]
        # On the device, where the random weights that it begins with are made faster.
        with torch.device(self.device):
            freeze = {"freeze_encoder": run["model"]["freeze_encoder"]}
            model = self.wrapper(**{**published, **freeze, **self.arguments})
        model.requires_grad_(False).eval().to(device=self.device, dtype=dtype)
        weights = weights_of(self.model)
        # Its convolutions do not report keys that are missing.
        unlike = sorted(set(weights) ^ set(model.state_dict()))
        if unlike:
            raise ValueError(f"weights and model differ in {len(unlike)} names: {', '.join(unlike[:3])}")
        model.load_state_dict(weights)
        model.set_causal_slicing(**run["slicing"])
        model.set_memory_limit(**run["memory_limit"])
        return model

    def load(self, part):
        super().load(part)
        self.modules["vae"].to(self.device)

    def load_inputs(self, path):
        """In the type that is measured, which has them exactly."""
        return {name: t.to(self.dtype) for name, t in super().load_inputs(path).items()}

    def upcasts(self, part, vae):
        return False

    def call(self, part, mode, module, inputs):
        x = inputs["x"].to(next(module.parameters()).dtype)
        return module.encode(x).posterior.parameters if part == "encode" else module.decode(x).sample

    def unused_bytes(self, part):
        vae = self.modules["vae"]
        return diffusers_peer.weight_bytes(vae.decoder if part == "encode" else vae.encoder)

    def release(self, request):
        """The weights wait in host memory, as in SeedVR's own inference; frames that convolutions kept go."""
        vae = self.modules.get("vae")
        if vae is not None:
            for module in vae.modules():
                if hasattr(module, "memory"):
                    module.memory = None
            vae.to("cpu")
        return super().release(request)


if __name__ == "__main__":
    diffusers_peer.main(SeedvrPeer())
