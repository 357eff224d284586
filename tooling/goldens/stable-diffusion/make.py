"""Writes fixtures/stable-diffusion: a small random Stable Diffusion in diffusers' folder layout, and goldens of its parts.

    python3 tooling/goldens/stable-diffusion/make.py OUT

Needs Python with torch, transformers and diffusers. Everything is computed on the CPU: networks in float32, streams in
float64. `meaning.versions` of the JSON says what wrote it.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from diffusers import AutoencoderKL, AutoencoderTiny, LCMScheduler, UNet2DConditionModel
from diffusers import __version__ as diffusers_version
from safetensors.torch import save_file
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

CORPUS = (
    "a photo of an astronaut riding a horse on mars, highly detailed, 8k. the painting of the cat's hat; it's the "
    "cats' house! we've seen they'll dance, i'd say. señor niño über straße 東京 мир 123 2024 @#$ ... the the the and"
)
PROMPTS = [
    "",
    "a photo of the cat",
    "  A  Photo\tof\nTHE   CAT!!  ",
    "It's the cat's hat; we've 2024 ideas, I'd say.",
    "señor niño über Straße",
    "cafe\u0301 and café",
    "東京の猫 мир ΣΊΣΥΦΟΣ İstanbul",
    "🐱🚀 a cat 👩‍👩‍👧 on mars",
    "tabs\u00a0and\u2003spaces\u200bzero",
    "<|endoftext|> inside <|startoftext|> marks",
    "x²³ ½ ① ٣ 12345",
    "the cat " * 60,
    "\u0000\u0007 control \ufffd",
]
SD1_UNET = dict(
    sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(32, 64), norm_num_groups=16,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    attention_head_dim=4, cross_attention_dim=24,
)
SD2_UNET = dict(
    sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(32, 32, 64),
    norm_num_groups=8, down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"), attention_head_dim=(1, 2, 4),
    cross_attention_dim=24, use_linear_projection=True, upcast_attention=True, time_cond_proj_dim=16,
    transformer_layers_per_block=(1, 2, 1), downsample_padding=0, mid_block_scale_factor=1.5, flip_sin_to_cos=False,
    freq_shift=1,
)
VAE = dict(
    block_out_channels=(32, 32), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    layers_per_block=1, latent_channels=4, norm_num_groups=32, sample_size=32, scaling_factor=0.18215,
)
TINY = dict(
    encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8), num_encoder_blocks=(1, 2),
    num_decoder_blocks=(2, 1), latent_channels=4,
)
TEXT = dict(
    hidden_size=24, intermediate_size=48, num_hidden_layers=2, num_attention_heads=3, max_position_embeddings=77,
    projection_dim=24,
)
SCHEDULER = dict(
    beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", num_train_timesteps=1000,
    original_inference_steps=50, timestep_scaling=10.0, prediction_type="epsilon", set_alpha_to_one=False, steps_offset=1,
    clip_sample=False,
)


def characters_of_bytes():
    prints = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in prints]
    return {**{b: chr(b) for b in prints}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def train_merges(count):
    """Byte pairs of the corpus by frequency, the first of equals in the order of their text."""
    names = characters_of_bytes()
    words = [[names[b] for b in word.encode()] for word in CORPUS.lower().split()]
    words = [[*word[:-1], word[-1] + "</w>"] for word in words]
    merges = []
    while len(merges) < count:
        pairs = {}
        for word in words:
            for pair in zip(word, word[1:]):
                pairs[pair] = pairs.get(pair, 0) + 1
        if not pairs:
            break
        best = max(sorted(pairs), key=lambda pair: pairs[pair])
        merges.append(best)
        for word in words:
            i = 0
            while i + 1 < len(word):
                if (word[i], word[i + 1]) == best:
                    word[i : i + 2] = ["".join(best)]
                i += 1
    return merges


def write_tokenizer(folder):
    folder.mkdir(parents=True, exist_ok=True)
    merges = train_merges(120)
    letters = list(characters_of_bytes().values())
    tokens = [*letters, *(letter + "</w>" for letter in letters), *("".join(pair) for pair in merges)]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    vocab = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = {
        "tokenizer_class": "CLIPTokenizer", "model_max_length": 77, "bos_token": "<|startoftext|>",
        "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2))
    return vocab


def randomize(model, generator):
    """Random numbers that float16 holds, such that every part of a network has its say."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.dim() > 1 and "embedding" not in name.split(".")[-2]:
                p.copy_(noise / p[0].numel() ** 0.5)
            else:
                centre = 1.0 if p.dim() == 1 and name.endswith("weight") else 0.0
                p.copy_(centre + (0.2 if p.dim() == 1 else 0.5) * noise)
            p.copy_(p.half().float())
    return model.eval()


def save_model(model, folder, config, name):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"_class_name": type(model).__name__, **config}, indent=2))
    weights = {key: value.half().contiguous() for key, value in model.state_dict().items() if value.is_floating_point()}
    save_file(weights, str(folder / name))


def text_states(model, ids):
    return model(torch.tensor([ids]))[0]


def stream_frames(parts, mode, guidance, delta, steps, strength, pictures, prompts):
    """What StreamDiffusion's batch of steps makes of pictures, with its kinds of guidance, in float64.

    Source: cumulo-autumn/StreamDiffusion@b623251 src/streamdiffusion/pipeline.py, from its description there. The batch
    begins filled with the first picture instead of zeros.
    """
    unet, vae, scheduler = parts["unet"].double(), parts["vae"].double(), parts["scheduler"]
    scheduler.set_timesteps(steps, strength=strength)
    timesteps = scheduler.timesteps
    alpha_bar = scheduler.alphas_cumprod.double()[timesteps]
    shape = (-1, 1, 1, 1)
    signal, noise = alpha_bar.sqrt().view(shape), (1 - alpha_bar).sqrt().view(shape)
    scaled = timesteps.double() * SCHEDULER["timestep_scaling"]
    skip = (0.25 / (scaled**2 + 0.25)).view(shape)
    out = (scaled / (scaled**2 + 0.25).sqrt()).view(shape)
    ones = torch.ones_like(signal[:1])
    next_signal, next_noise = torch.cat([signal[1:], ones]), torch.cat([noise[1:], ones])
    init = torch.randn((steps, 4, 16, 16), generator=torch.Generator().manual_seed(3)).double()
    stock, buffer, frames = torch.zeros_like(init), None, []
    text, negative = (states.double() for states in prompts)
    step = lambda x, prediction: skip * x + out * (x - noise * prediction) / signal
    for picture in pictures:
        latents = vae.encode(picture.double()).latent_dist.mode() * VAE["scaling_factor"]
        if buffer is None:
            buffer = signal[1:] * latents + noise[1:] * init[1:]
        x = torch.cat([signal[:1] * latents + noise[:1] * init[:1], buffer])
        if steps > 1:
            stock = torch.cat([init[:1], stock[:-1]])
        rows, contexts, times = [x], [text.expand(steps, -1, -1)], [timesteps]
        guided = mode != "none" and guidance > 1
        extra = {"initialize": 1, "full": steps}.get(mode, 0) if guided else 0
        rows.insert(0, x[:extra])
        contexts.insert(0, negative.expand(extra, -1, -1))
        times.insert(0, timesteps[:extra])
        everything = unet(torch.cat(rows), torch.cat(times), torch.cat(contexts)).sample
        without, prediction = everything[:extra], everything[extra:]
        if guided:
            if mode == "initialize":
                stock = torch.cat([without, stock[1:]])
            base = without if mode == "full" else delta * stock
            prediction = base + guidance * (prediction - base)
        denoised = step(x, prediction)
        if guided and mode != "full":
            change = next_signal * step(noise * stock, prediction) / next_noise
            stock = torch.cat([init[1:], init[:1]]) + change
        buffer = signal[1:] * denoised[:-1] + noise[1:] * init[1:]
        frames.append(vae.decode(denoised[-1:] / VAE["scaling_factor"]).sample)
    unet.float(), vae.float()
    return {"timesteps": timesteps.tolist(), "frames": torch.cat(frames).float(), "buffer": buffer.float()}


@torch.no_grad()
def main():
    out = Path(sys.argv[1])
    model_dir = out / "model"
    generator = torch.Generator().manual_seed(0)
    random = lambda *shape: torch.randn(shape, generator=generator)
    tensors, cases = {}, {}

    vocab = write_tokenizer(model_dir / "tokenizer")
    tokenizer = CLIPTokenizer.from_pretrained(str(model_dir / "tokenizer"))
    encode = lambda prompt: tokenizer(prompt, padding="max_length", max_length=77, truncation=True).input_ids
    cases["vae"] = {"config": VAE}
    cases["tokenizer"] = [{"prompt": prompt, "tokens": encode(prompt)} for prompt in PROMPTS]

    end = vocab["<|endoftext|>"]
    text_config = {**TEXT, "vocab_size": len(vocab), "eos_token_id": end, "pad_token_id": end}
    for name, act in [("text_sd1", "quick_gelu"), ("text_sd2", "gelu")]:
        config = {**text_config, "hidden_act": act}
        model = randomize(CLIPTextModel(CLIPTextConfig(**config)), generator)
        ids = encode(PROMPTS[3])
        cases[name] = {"config": config, "tokens": ids}
        tensors[f"{name}.out.states"] = text_states(model, ids)
        if name == "text_sd1":
            text_model = model
            save_model(model, model_dir / "text_encoder", config, "model.safetensors")
        else:
            tensors |= {f"{name}.w.{key}": value.half() for key, value in model.state_dict().items() if value.is_floating_point()}

    for name, config, size in [("unet_sd1", SD1_UNET, (16, 16)), ("unet_sd2", SD2_UNET, (10, 6))]:
        unet = randomize(UNet2DConditionModel(**config), generator)
        cases[name] = {"config": config}
        sample, states = random(2, 4, *size), random(2, 7, 24)
        timestep = torch.tensor([999.0, 341.0])
        guidance = random(2, 16) if "time_cond_proj_dim" in config else None
        result = unet(sample, timestep, states, timestep_cond=guidance).sample
        tensors |= {f"{name}.in.sample": sample, f"{name}.in.states": states, f"{name}.in.timestep": timestep}
        tensors[f"{name}.out.sample"] = result
        if guidance is not None:
            tensors[f"{name}.in.guidance"] = guidance
            tensors |= {f"{name}.w.{key}": value.half() for key, value in unet.state_dict().items()}
        else:
            sd1 = unet
            save_model(unet, model_dir / "unet", config, "diffusion_pytorch_model.safetensors")

    vae = randomize(AutoencoderKL(**VAE), generator)
    save_model(vae, model_dir / "vae", VAE, "diffusion_pytorch_model.safetensors")
    picture, latents = random(1, 3, 32, 32).clamp(-1, 1), random(1, 4, 16, 16)
    tensors |= {"vae.in.picture": picture, "vae.in.latents": latents}
    tensors["vae.out.moments"] = vae.encode(picture).latent_dist.parameters
    tensors["vae.out.picture"] = vae.decode(latents).sample

    tiny = randomize(AutoencoderTiny(**TINY), generator)
    save_model(tiny, model_dir / "tiny_vae", TINY, "diffusion_pytorch_model.safetensors")
    tensors |= {"tiny.out.latents": tiny.encode(picture).latents, "tiny.out.picture": tiny.decode(latents).sample}

    scheduler = LCMScheduler(**SCHEDULER)
    (model_dir / "scheduler").mkdir(parents=True, exist_ok=True)
    config = {"_class_name": "LCMScheduler", **SCHEDULER}
    (model_dir / "scheduler/scheduler_config.json").write_text(json.dumps(config, indent=2))
    pictures = [random(1, 3, 32, 32).clamp(-1, 1) for _ in range(4)]
    tensors["stream.in.pictures"] = torch.cat(pictures)
    tensors["stream.in.noise"] = torch.randn((3, 4, 16, 16), generator=torch.Generator().manual_seed(3))
    states = [text_states(text_model, encode(prompt)) for prompt in ("a photo of the cat", "the house")]
    parts = {"unet": sd1, "vae": vae, "scheduler": scheduler}
    for mode, guidance, delta, steps, strength in [
        ("none", 1.0, 1.0, 1, 0.5), ("none", 1.0, 1.0, 3, 0.8), ("self", 1.4, 0.7, 1, 0.5), ("self", 1.4, 0.7, 3, 0.8),
        ("initialize", 1.4, 0.9, 3, 0.8), ("full", 2.0, 1.0, 2, 1.0),
    ]:
        name = f"stream_{mode}_{steps}"
        made = stream_frames(parts, mode, guidance, delta, steps, strength, pictures, states)
        cases[name] = {
            "mode": mode, "guidance": guidance, "delta": delta, "steps": steps, "strength": strength, "seed": 3,
            "prompt": "a photo of the cat", "negative": "the house", "timesteps": made["timesteps"],
        }
        tensors[f"{name}.out.frames"] = made["frames"]
        if steps > 1:
            tensors[f"{name}.out.buffer"] = made["buffer"]

    classes = {
        "unet": ["diffusers", "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"],
        "text_encoder": ["transformers", "CLIPTextModel"], "tokenizer": ["transformers", "CLIPTokenizer"],
        "scheduler": ["diffusers", "LCMScheduler"],
    }
    index = {"_class_name": "StableDiffusionPipeline", **classes}
    (model_dir / "model_index.json").write_text(json.dumps(index, indent=2))
    versions = {"torch": torch.__version__, "transformers": transformers.__version__, "diffusers": diffusers_version}
    about = {
        "kind": "stable-diffusion",
        "meaning": {"versions": versions, "model": "model"},
        "tolerance": {
            "float32": {"rel_l2": 2e-5},
            "float16": {"rel_l2": 2e-2},
            "bfloat16": {"rel_l2": 1e-1},
            "stream_float32": {"rel_l2": 1e-4},
            "stream_float16": {"rel_l2": 1e-1},
        },
        "cases": cases,
    }
    (out / "stable-diffusion.json").write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")
    save_file({key: value.contiguous() for key, value in tensors.items()}, str(out / "stable-diffusion.safetensors"))


main()
