"""Times PyTorch on the shapes of gpu_bench, for ratios from one run on one machine. peers.py OUT.json [TEXT...]"""
import json
import sys

import torch
import torch.nn.functional as F

HALF = torch.float16


def time_us(run, repeats=9):
    for _ in range(3):
        run()
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def batch(runs):
        start.record()
        for _ in range(runs):
            run()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1000 / runs

    guess = batch(2)
    runs = 20 if guess < 100 else 5 if guess < 400 else 1
    return sorted(batch(runs) for _ in range(repeats))[repeats // 2]


def rand(*shape):
    return torch.randn(*shape, device="cuda", dtype=HALF)


def conv(x, k, kernel, padding, stride=1):
    n, c, h, w = x
    x = rand(n, c, h, w).to(memory_format=torch.channels_last)
    weight = (rand(k, c, *kernel) / 30).to(memory_format=torch.channels_last)
    bias = rand(k)
    return lambda: F.conv2d(x, weight, bias, stride=stride, padding=padding)


def conv3d(x, k):
    b, c, f, h, w = x
    x = rand(b, c, f, h * w, 1).squeeze(-1)
    weight, bias = rand(k, c, 3, 1) / 30, rand(k)
    x, weight = x.to(memory_format=torch.channels_last), weight.to(memory_format=torch.channels_last)
    return lambda: F.conv2d(x, weight, bias, padding=(1, 0))


def linear(m, k, n):
    x, weight, bias = rand(m, k), rand(n, k) / 30, rand(n)
    return lambda: F.linear(x, weight, bias)


def attention(b, h, s, d, l=None):
    q, k, v = rand(b, h, s, d), rand(b, h, l or s, d), rand(b, h, l or s, d)
    backends = [torch.nn.attention.SDPBackend.CUDNN_ATTENTION, torch.nn.attention.SDPBackend.FLASH_ATTENTION,
                torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION]
    best = None
    for backend in backends:
        try:
            with torch.nn.attention.sdpa_kernel(backend):
                us = time_us(lambda: F.scaled_dot_product_attention(q, k, v))
            best = us if best is None else min(best, us)
        except RuntimeError:
            pass
    return best


def main():
    out, only = sys.argv[1], sys.argv[2:]
    torch.backends.cudnn.benchmark = True
    three, one = (3, 3), (1, 1)
    cases = {
        "conv.unet.3x3.320": lambda: conv((50, 320, 72, 128), 320, three, 1),
        "conv.unet.3x3.640": lambda: conv((50, 640, 36, 64), 640, three, 1),
        "conv.unet.3x3.1280": lambda: conv((50, 1280, 18, 32), 1280, three, 1),
        "conv.unet.3x3.1280.low": lambda: conv((50, 1280, 9, 16), 1280, three, 1),
        "conv.unet.3x3.960-320": lambda: conv((50, 960, 72, 128), 320, three, 1),
        "conv.unet.temporal.320": lambda: conv3d((2, 320, 25, 72, 128), 320),
        "conv.unet.temporal.640": lambda: conv3d((2, 640, 25, 36, 64), 640),
        "conv.unet.temporal.1280": lambda: conv3d((2, 1280, 25, 18, 32), 1280),
        "conv.unet.conv_in": lambda: conv((50, 8, 72, 128), 320, three, 1),
        "conv.unet.conv_out": lambda: conv((50, 320, 72, 128), 4, three, 1),
        "conv.unet.down.320": lambda: conv((50, 320, 72, 128), 320, three, 1, 2),
        "conv.unet.shortcut.960-320": lambda: conv((50, 960, 72, 128), 320, one, 0),
        "conv.vae.3x3.128": lambda: conv((25, 128, 576, 1024), 128, three, 1),
        "conv.vae.3x3.256": lambda: conv((25, 256, 288, 512), 256, three, 1),
        "conv.vae.3x3.512": lambda: conv((25, 512, 144, 256), 512, three, 1),
        "conv.vae.conv_out": lambda: conv((25, 128, 576, 1024), 3, three, 1),
    }
    for m, k, n in [(460800, 320, 320), (460800, 320, 960), (460800, 320, 2560), (460800, 1280, 320), (115200, 640, 640),
                    (115200, 640, 1920), (115200, 640, 5120), (115200, 2560, 640), (28800, 1280, 1280), (28800, 1280, 10240),
                    (28800, 5120, 1280), (8192, 8192, 8192)]:
        cases[f"linear.m{m}.k{k}.n{n}"] = lambda m=m, k=k, n=n: linear(m, k, n)
    shapes = {"spatial.s9216": (50, 5, 9216, 64), "spatial.s2304": (50, 10, 2304, 64), "spatial.s576": (50, 20, 576, 64),
              "spatial.s144": (50, 20, 144, 64), "temporal.s9216": (18432, 5, 25, 64), "temporal.s2304": (4608, 10, 25, 64),
              "temporal.s576": (1152, 20, 25, 64), "vae.d512": (4, 1, 9216, 512), "clip.d80": (1, 16, 257, 80),
              "seed.2x8x64x64": (2, 8, 64, 64), "seed.4x12x128x64": (4, 12, 128, 64), "seed.2x16x256x64": (2, 16, 256, 64),
              "seed.2x8x77x64": (2, 8, 77, 64)}
    results = {}
    for name, make in cases.items():
        if not only or any(text in name for text in only):
            results[name] = time_us(make())
            torch.cuda.empty_cache()
    for name, shape in shapes.items():
        if not only or any(text in "attention." + name for text in only):
            results["attention." + name] = attention(*shape)
            torch.cuda.empty_cache()
    for c, (h, w) in {320: (72, 128), 640: (36, 64), 1280: (18, 32)}.items():
        if not only or any(text in "norm" for text in only):
            x, g = rand(50, c, h, w), rand(c)
            results[f"group_norm.unet.{c}"] = time_us(lambda: F.silu(F.group_norm(x, 32, g, g)))
            t = rand(50 * h * w, c)
            results[f"layer_norm.{50 * h * w}x{c}"] = time_us(lambda: F.layer_norm(t, (c,), g, g))
    json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "us": results}, open(out, "w"), indent=1)
    for name, us in results.items():
        print(f"{name:40s} {us:10.1f}" if us is not None else f"{name} none")


main()
