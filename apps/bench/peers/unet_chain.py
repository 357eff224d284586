"""Times one frame of the reference for real-time work, two pictures of 64 x 64, with PyTorch on a GPU: what `vd-live bench --random unet-chain-pair`
times. python3 unet_chain.py [--modes eager,captured,compile] [--dtype float16] [--frames 300] [--json FILE]

Modes: eager, planes as they come; captured, channels last and recorded as a CUDA graph; compile, torch.compile (max-autotune) of the same."""
import argparse
import json
import math
import platform
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

MULTIPLIERS = (1, 2, 4, 8, 16)
MIDDLE = (4, 4)
BASES = (192, 96)
CONVS = 4
HEADS = 16
TIME = 256
TEMPORAL = 192
STRIDE = 4
PARAMETERS = 880_260_393
PICTURES, SIDE = 2, 64
WARM = 20
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}


class Block(nn.Module):
    """Convolution, batch norm, SiLU, as often as CONVS says; the noise level is added before the last SiLU."""

    def __init__(self, cin, cout, inner=None, told=True):
        super().__init__()
        widths = [cin] + [inner or cout] * (CONVS - 1) + [cout]
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1, bias=False) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in widths[1:])
        self.time = nn.Linear(TIME, cout) if told else None

    def forward(self, x, told):
        for conv, norm in zip(self.convs[:-1], self.norms[:-1]):
            x = F.silu(norm(conv(x)))
        x = self.norms[-1](self.convs[-1](x))
        return F.silu(x if self.time is None else x + self.time(told)[:, :, None, None])


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        """What is added to x, [B,S,C]."""
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = Attention(width)
        self.feed = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        tokens = x.flatten(2).transpose(1, 2)
        tokens = tokens + self.attention(tokens)
        tokens = tokens + self.feed(tokens)
        return tokens.transpose(1, 2).unflatten(2, x.shape[2:])


class UNet(nn.Module):
    def __init__(self, base):
        super().__init__()
        widths = [base * factor for factor in MULTIPLIERS]
        self.first = Block(3, widths[0], told=False)
        self.down = nn.ModuleList(Block(a, b) for a, b in zip(widths, widths[1:]))
        self.down_attention = nn.ModuleList(Transformer(width) for width in widths[1:])
        middle = [widths[-1]] + [base * factor for factor in MIDDLE]
        self.middle = nn.ModuleList(Block(a, b) for a, b in zip(middle, middle[1:]))
        below, ups, attentions = middle[-1], [], []
        for level in reversed(range(len(widths) - 1)):
            cin, cout = widths[level] + below, widths[max(level - 1, 0)]
            ups.append(Block(cin, cout, inner=cin // 2))
            if level > 0:
                attentions.append(Transformer(cout))
            below = cout
        self.up, self.up_attention = nn.ModuleList(ups), nn.ModuleList(attentions)
        self.last = nn.Conv2d(below, 3, 1)

    def forward(self, x, told):
        skips = [self.first(x, told)]
        for block, attention in zip(self.down, self.down_attention):
            skips.append(attention(block(F.max_pool2d(skips[-1], 2), told)))
        x = skips.pop()
        for block in self.middle:
            x = block(x, told)
        for i, block in enumerate(self.up):
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            x = block(torch.cat([skips.pop(), x], 1), told)
            if i < len(self.up_attention):
                x = self.up_attention[i](x)
        return self.last(x)


class Temporal(nn.Module):
    """The means of squares of the frame and of the previous one see each other; what comes of it corrects the frame."""

    def __init__(self):
        super().__init__()
        self.embed, self.correct = nn.Linear(3, TEMPORAL), nn.Linear(TEMPORAL, 3)
        self.attention = Attention(TEMPORAL)

    def forward(self, frame, previous):
        both = torch.stack([F.avg_pool2d(x, STRIDE).permute(0, 2, 3, 1) for x in (frame, previous)], 3)
        tokens = self.embed(both)
        pairs = tokens.flatten(0, 2)
        token = (pairs + self.attention(pairs)).unflatten(0, tokens.shape[:3])[:, :, :, 0]
        small = self.correct(token).permute(0, 3, 1, 2)
        return frame + F.interpolate(small, scale_factor=STRIDE, mode="bilinear", align_corners=False)


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.unets = nn.ModuleList(UNet(base) for base in BASES)
        self.temporal = Temporal()

    def forward(self, x, previous, told):
        for unet in self.unets:
            x = unet(x, told)
        return self.temporal(x, previous)


def frame_of(network, levels, noise, newest, told, weight):
    """Pictures in 8 bits to pictures in 8 bits, by one step from noise level 1; the newest frame is kept in place."""
    dtype = next(network.parameters()).dtype
    noisy = levels.float() / 127.5 - 1 + noise
    data = network((noisy * math.sqrt(0.5)).to(dtype), newest.to(dtype), told).float()
    data = data + weight * (newest - data)
    newest.copy_(data.clamp(-1, 1))
    return ((data / 2 + 0.5).clamp(0, 1) * 255).round().to(torch.uint8)


def captured(run):
    """The same as a CUDA graph, which leaves its result in one place."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = run()

    def replay():
        graph.replay()
        return result

    return replay


def times_of(ms):
    ms = sorted(ms)
    at = lambda part: ms[max(0, math.ceil(part * len(ms)) - 1)]  # noqa: E731
    return {"mean": sum(ms) / len(ms), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": ms[-1]}


def measure(mode, dtype, frames):
    torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(0)
    network = Chain().to("cuda", dtype).eval()
    parameters = sum(p.numel() for p in network.parameters())
    assert parameters == PARAMETERS, parameters
    dims = (PICTURES, 3, SIDE, SIDE)
    layout = torch.contiguous_format if mode == "eager" else torch.channels_last
    network = network.to(memory_format=layout)
    noise, newest = (x.to(memory_format=layout) for x in (torch.randn(dims, device="cuda"), torch.zeros(dims, device="cuda")))
    told = F.silu(torch.randn(1, TIME, device="cuda")).to(dtype)
    levels = torch.empty(dims, dtype=torch.uint8, device="cuda", memory_format=layout)
    pushed = [torch.randint(256, dims, dtype=torch.uint8).to(memory_format=layout).pin_memory() for _ in range(2)]
    shown = torch.empty(dims, dtype=torch.uint8).to(memory_format=layout).pin_memory()
    module = torch.compile(network, mode="max-autotune-no-cudagraphs") if mode == "compile" else network
    run = lambda: frame_of(module, levels, noise, newest, told, 0.0)  # noqa: E731
    if mode != "eager":
        run()
        run = captured(run)
    ms = []
    for i in range(WARM + frames):
        begun = time.perf_counter()
        levels.copy_(pushed[i % 2], non_blocking=True)
        shown.copy_(run(), non_blocking=True)
        torch.cuda.synchronize()
        ms.append(1000 * (time.perf_counter() - begun))
    timed = ms[WARM:]
    return {"mode": mode, "frames": frames, "fps": 1000 * frames / sum(timed), "frameMs": times_of(timed),
            "parameters": parameters, "deviceBytes": torch.cuda.max_memory_reserved()}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--modes", default="eager,captured,compile")
    options.add_argument("--dtype", default="float16", choices=DTYPES)
    options.add_argument("--frames", type=int, default=300)
    options.add_argument("--json")
    asked = options.parse_args()
    torch.set_grad_enabled(False)
    torch.backends.cudnn.benchmark = True
    results = []
    for mode in asked.modes.split(","):
        try:
            results.append(measure(mode, DTYPES[asked.dtype], asked.frames))
        except Exception as error:
            results.append({"mode": mode, "reason": f"{type(error).__name__}: {error}"})
        torch.cuda.empty_cache()
        print(json.dumps(results[-1]), flush=True)
    if asked.json:
        about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "python": platform.python_version()}
        with open(asked.json, "w") as file:
            json.dump({**about, "dtype": asked.dtype, "pictures": PICTURES, "side": SIDE, "results": results}, file, indent=2)


if __name__ == "__main__":
    main()
