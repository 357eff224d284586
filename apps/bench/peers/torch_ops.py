"""PyTorch's own versions of ops, on channels-last operands as vd-bench names and shapes them."""
import operator

import torch
import torch.nn.functional as F

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i8": torch.int8, "f8e4m3": torch.float8_e4m3fn}


def stored(pattern, dtype):
    """The numbers of a pattern in another type, limited where that has 8 bits."""
    if dtype == torch.int8:
        return pattern.round().clamp(-127, 127).to(dtype)
    return pattern.clamp(-448, 448).to(dtype) if dtype == torch.float8_e4m3fn else pattern.to(dtype)


ACTIVATIONS = {"none": lambda x: x, "silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
               "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x), "relu": F.relu}


NORM_EPS = 1e-5  # of the norm in conv_norm_act
GATES = {"geglu": F.gelu, "swiglu": F.silu}


def activated(y, attrs):
    act = attrs.get("act", "none")
    if act in GATES:
        value, gate = y.chunk(2, dim=-1)
        return value * GATES[act](gate)
    return ACTIVATIONS[act](y)


def epilogue(y, t, attrs):
    if "frameBias" in t:
        shape = t["frameBias"].shape
        y = y + t["frameBias"].reshape(shape[0], shape[1], *[1] * (y.dim() - 3), shape[2])
    y = activated(y, attrs)
    # A product by one would be a pass over memory that nobody asked for.
    if attrs.get("outScale", 1) != 1:
        y = y * attrs["outScale"]
    for name in ("residual", "residual2"):
        if name in t:
            y = torch.add(y, t[name], alpha=attrs.get(f"{name}Scale", 1))
    return y


def heads_first(x, heads):
    """[B,S,heads·D] as [B,heads,S,D], a view: the fused kernels take four dimensions and any strides but the last."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def attention_mask(t, clips, frames, dtype):
    """The mask as scaled_dot_product_attention wants it for clips·frames rows, or None: flags as booleans, summands in q's type."""
    if "mask" not in t:
        return None
    mask = t["mask"].bool() if t["mask"].dtype == torch.uint8 else t["mask"].to(dtype)
    return mask.repeat_interleave(frames, 0) if mask.shape[0] == clips > 1 else mask


def attention(t, attrs):
    for name in ("cuQ", "cuK", "normQ", "normK", "rotaryQ", "rotaryK"):
        if name in t:
            raise NotImplementedError(f"scaled_dot_product_attention has no {name}")
    if any(attrs.get("window", [])):
        raise NotImplementedError("scaled_dot_product_attention has no windows")
    isTime = attrs.get("axis", "space") == "time"
    q, k, v = t["q"], t["k"], t["v"]
    if isTime and "mask" in t:
        raise NotImplementedError("masks over time are not compared")
    mask = attention_mask(t, q.shape[0], q.shape[1], q.dtype)

    def attend(q, k, v):
        y = F.scaled_dot_product_attention(*(heads_first(x, attrs["heads"]) for x in (q, k, v)), attn_mask=mask,
                                           scale=attrs["scale"], is_causal=attrs.get("causal", False))
        return y.transpose(1, 2).flatten(2)

    if not isTime:
        return attend(*(x.flatten(0, 1) for x in (q, k, v))).reshape(q.shape)
    # A batch at a time, where pixels are a dimension without copies.
    return torch.stack([attend(*(x[b].transpose(0, 1) for x in (q, k, v))).transpose(0, 1) for b in range(q.shape[0])])


def conv_frames(t, attrs):
    """A convolution that sees one frame at a time, as PyTorch does it fastest: in two dimensions."""
    b, f, h, w, c = t["x"].shape
    x = t["x"].reshape(b * f, h, w, c).permute(0, 3, 1, 2)
    if attrs.get("upsample"):
        x = F.interpolate(x, scale_factor=2, mode="nearest")
    _, _, top, bottom, left, right = attrs.get("padding", [0] * 6)
    padding = (top, left)
    if (top, left) != (bottom, right):
        x, padding = F.pad(x, (left, right, top, bottom)), 0
    weight = t["weight"].squeeze(2).contiguous(memory_format=torch.channels_last)
    stride = attrs.get("stride", [1, 1, 1])[1:]
    if attrs.get("transposed"):
        y = F.conv_transpose2d(x, weight, t.get("bias"), stride=stride, padding=padding)
    else:
        y = F.conv2d(x, weight, t.get("bias"), stride=stride, padding=padding, groups=attrs.get("groups", 1))
    y = y.permute(0, 2, 3, 1)
    return epilogue(y.reshape(b, f, *y.shape[1:]), t, attrs)


def conv(t, attrs):
    if "past" in t:
        t = {**t, "x": torch.cat([t["past"], t["x"]], dim=1)}
    if t["weight"].shape[2] == 1 and attrs.get("stride", [1])[0] == 1 and not any(attrs.get("padding", [0, 0])[:2]):
        return conv_frames(t, attrs)
    x = t["x"].permute(0, 4, 1, 2, 3)
    if attrs.get("upsample"):
        x = F.interpolate(x, scale_factor=(1, 2, 2), mode="nearest")
    front, back, top, bottom, left, right = attrs.get("padding", [0] * 6)
    if attrs.get("framePadding") == "replicate" and front + back > 0:
        x, front, back = F.pad(x, (0, 0, 0, 0, front, back), mode="replicate"), 0, 0
    padding = (front, top, left)
    if (front, top, left) != (back, bottom, right):
        x, padding = F.pad(x, (left, right, top, bottom, front, back)), 0
    y = F.conv3d(x, t["weight"], t.get("bias"), stride=attrs.get("stride", [1, 1, 1]), padding=padding, groups=attrs.get("groups", 1))
    return epilogue(y.permute(0, 2, 3, 4, 1), t, attrs)


def conv_norm_act(t, attrs):
    """Convolution, batch norm and activation as a model writes them: the same function with the bias as the norm's."""
    act, plain = attrs["act"], {**attrs, "act": "none"}
    y = conv({"x": t["x"], "weight": t["weight"]}, plain)
    b, f, h, w, c = y.shape
    y = F.batch_norm(y.reshape(b * f, h, w, c).permute(0, 3, 1, 2), t["mean"], t["variance"], t["scale"], t["bias"], eps=NORM_EPS)
    return ACTIVATIONS[act](y.permute(0, 2, 3, 1).reshape(b, f, h, w, c))


def prepared(op, operands):
    """Operands as a model would keep them: weights in the layout that cuDNN wants, the picture's rows for guidance."""
    if op == "sampler_step":
        frames = operands["x"].shape[1]
        image = operands["image"].expand(-1, frames, -1, -1, -1)
        rows = [torch.zeros_like(image), image] if "guidance" in operands else [image]
        return {**operands, "imageRows": torch.cat(rows)}
    if op not in ("conv", "conv_norm_act"):
        return operands
    weight = operands["weight"]
    if weight.shape[2] == 1:
        weight = weight.squeeze(2).contiguous(memory_format=torch.channels_last).unsqueeze(2)
    else:
        weight = weight.contiguous(memory_format=torch.channels_last_3d)
    statistics = {}
    if op == "conv_norm_act":
        scale = torch.ones_like(operands["bias"])
        statistics = {"mean": torch.zeros_like(scale), "variance": scale * (1 - NORM_EPS), "scale": scale}
    return {**operands, **statistics, "weight": weight}


def linear(t, attrs):
    x = torch.cat([t["x"], t["x2"]], dim=-1) if "x2" in t else t["x"]
    return epilogue(F.linear(x, t["weight"], t.get("bias")), t, attrs)


def linear_q8(t, attrs):
    """torch._scaled_mm for float8, torch._int_mm and two products by the scales for integers, then what PyTorch does for the tail."""
    x, weight = t["x"].flatten(0, 2), t["weight"]
    if t["xScale"].shape[-1] > 1 or t["weightScale"].shape[-1] > 1:
        raise NotImplementedError("scales of blocks are not compared")
    if t["xScale"].shape[:3] != t["x"].shape[:3] or t["weightScale"].shape[0] != weight.shape[0]:
        raise NotImplementedError("only scales of all rows are compared")
    xScale, weightScale = t["xScale"].reshape(-1, 1), t["weightScale"].reshape(1, -1)
    dtype = t.get("residual", t.get("bias", torch.empty(0, dtype=torch.float16))).dtype
    if x.dtype == torch.int8:
        y = (torch._int_mm(x, weight.t()) * xScale * weightScale).to(dtype)
    else:
        y = torch._scaled_mm(x, weight.t(), scale_a=xScale, scale_b=weightScale, out_dtype=torch.bfloat16, use_fast_accum=False).to(dtype)
    if "bias" in t:
        y = y + t["bias"]
    return epilogue(y.reshape(*t["x"].shape[:3], -1), t, attrs)


def quantize(t, attrs):
    """The launches that dynamic scales are without fusion, to float8."""
    x = t["x"]
    if attrs.get("per") == "block":
        x = x.unflatten(-1, (-1, 128))
    magnitudes = x.abs().amax(dim=None if attrs.get("per", "tensor") == "tensor" else -1, keepdim=True)
    scale = (magnitudes.float() / 448).clamp_min(2.0**-126)
    return (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn).reshape(t["x"].shape)


def group_norm(t, attrs):
    x = torch.cat([t["x"], t["x2"]], dim=-1) if "x2" in t else t["x"]
    b, f, h, w, c = x.shape
    planes = x.permute(0, 4, 1, 2, 3) if attrs.get("joinFrames") else x.reshape(b * f, h, w, c).permute(0, 3, 1, 2)
    y = F.group_norm(planes, attrs["groups"], t["weight"], t["bias"], attrs["eps"])
    y = y.permute(0, 2, 3, 4, 1) if attrs.get("joinFrames") else y.permute(0, 2, 3, 1).reshape(x.shape)
    return activated(y, attrs)


def modulated(y, t):
    """What adaptive norms do, as models write it."""
    if "scale" in t:
        y = y * (1 + t["scale"])
    return y + t["shift"] if "shift" in t else y


def layer_norm(t, attrs):
    y = F.layer_norm(t["x"], t["x"].shape[-1:], t.get("weight"), t.get("bias"), attrs["eps"])
    return modulated(y, t)


def layer_norm_linear(t, attrs):
    """Both as a model calls them, one after the other."""
    norm = {"x": t["x"], "weight": t.get("normWeight"), "bias": t.get("normBias")}
    return linear({**t, "x": layer_norm(norm, attrs)}, attrs)


def rms_norm(t, attrs):
    return modulated(F.rms_norm(t["x"], t["x"].shape[-1:], t.get("weight"), attrs["eps"]), t)


def batch_norm(t, attrs):
    x = t["x"].permute(0, 4, 1, 2, 3)
    y = F.batch_norm(x, t["mean"], t["variance"], t.get("weight"), t.get("bias"), eps=attrs["eps"])
    return activated(y.permute(0, 2, 3, 4, 1), attrs)


def pool(t, attrs):
    x = t["x"].permute(0, 4, 1, 2, 3)
    kernel, stride = attrs["kernel"], attrs.get("stride", [1, 1, 1])
    front, back, top, bottom, left, right = attrs.get("padding", [0] * 6)
    if (front, top, left) != (back, bottom, right):
        raise NotImplementedError("PyTorch pads pools alike on both sides")
    padding = (front, top, left)
    if attrs["mode"] == "max":
        y = F.max_pool3d(x, kernel, stride, padding)
    else:
        y = F.avg_pool3d(x, kernel, stride, padding, count_include_pad=attrs.get("countIncludePad", True))
    return y.permute(0, 2, 3, 4, 1)


UNARY = {"neg": torch.neg, "abs": torch.abs, "square": torch.square, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "exp": torch.exp,
         "log": torch.log, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu}
BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "min": torch.minimum,
          "max": torch.maximum}


def elementwise(t, attrs):
    """The launches that an expression is without fusion."""
    stack = []
    for instruction in attrs["code"]:
        if instruction in ("a", "b", "c", "d"):
            stack.append(t[instruction])
        elif instruction in ("k0", "k1", "k2", "k3"):
            stack.append(attrs["constants"][int(instruction[1])])
        elif instruction in BINARY:
            second = stack.pop()
            first = stack.pop()
            if instruction in ("min", "max") and not torch.is_tensor(second):
                stack.append(torch.clamp(first, **{"max" if instruction == "min" else "min": second}))
            else:
                stack.append(BINARY[instruction](first, second))
        else:
            stack.append((UNARY.get(instruction) or ACTIVATIONS[instruction])(stack.pop()))
    return stack[0]


def guided(t):
    plain, conditional = t["prediction"].chunk(2) if "guidance" in t else (None, t["prediction"])
    if plain is None:
        return conditional
    return plain + t["guidance"].reshape(1, -1, 1, 1, 1) * (conditional - plain)


def unit_noise(t, x):
    if "philox" not in t:
        return t.get("noise")
    low, high, *_ = (int(word) for word in t["philox"])
    generator = torch.Generator(x.device).manual_seed(((high & 0xFFFFFFFF) << 32) | (low & 0xFFFFFFFF))
    _, frames, height, width, channels = x.shape
    planes = torch.randn((1, frames, channels, height, width), device=x.device, generator=generator)
    return planes.permute(0, 1, 3, 4, 2)


def bounded(data, attrs):
    """As diffusers' schedulers clip and threshold (`_threshold_sample`)."""
    if attrs.get("bounds") == "clip":
        return data.clamp(-attrs.get("clipRange", 1.0), attrs.get("clipRange", 1.0))
    if attrs.get("bounds") != "threshold":
        return data
    rows = data.reshape(data.shape[0], -1)
    scale = torch.quantile(rows.abs(), attrs.get("quantile", 0.995), dim=1)
    scale = torch.clamp(scale, min=1, max=attrs.get("maxValue", 1.0)).unsqueeze(1)
    return (torch.clamp(rows, -scale, scale) / scale).reshape(data.shape)


def blended(data, t):
    if "previous" not in t:
        return data
    weight, threshold = t["blend"]
    previous = t["previous"].to(data.dtype)
    near = (data - previous).abs().amax(-1, keepdim=True) <= threshold
    return torch.where(near, torch.lerp(data, previous.expand_as(data), weight.to(data.dtype)), data)


def sampler_step(t, attrs):
    """The sequence of launches that one step is without fusion."""
    prediction, x, k = guided(t).float(), t["x"].float(), t["coefficients"]
    count = attrs.get("numHistory", 0)
    terms = [x, prediction, unit_noise(t, x), *(t["history"].split(1) if count else [])]

    def combined(row):
        return sum(k[row, i] * term for i, term in enumerate(terms) if term is not None)

    if k.shape[0] > count + 2:
        terms.append(blended(bounded(combined(count + 2), attrs), t))
    following = combined(0)
    for h in range(count):
        combined(2 + h)
    scaled = (following * t["inputScale"]).to(t["prediction"].dtype)
    rows = torch.cat([scaled, scaled]) if "guidance" in t else scaled
    torch.cat([rows, t["imageRows"]], dim=-1)
    return following


OPS = {f.__name__: f for f in (attention, conv, conv_norm_act, linear, linear_q8, quantize, group_norm, layer_norm, layer_norm_linear,
                               rms_norm, batch_norm, pool, elementwise, sampler_step)}
