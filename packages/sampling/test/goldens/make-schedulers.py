"""Writes schedulers.json and schedulers.safetensors beside this file, from diffusers' own scheduler classes.

Needs Python with torch, numpy, scipy, safetensors and diffusers (written with huggingface/diffusers@58eb52c, torch 2.13
on an x86-64 CPU). The form is that of the fixtures: every class with settings that the committed fixtures leave out.
"""

import importlib
import json
from pathlib import Path

import torch
from safetensors.torch import save_file

MODEL = {"formula": "out = tanh(a*model_in + b*t_normalised)", "a": 0.7, "b": 0.9}
MODULES = {
    "EulerDiscreteScheduler": "euler_discrete",
    "EulerAncestralDiscreteScheduler": "euler_ancestral_discrete",
    "HeunDiscreteScheduler": "heun_discrete",
    "DDIMScheduler": "ddim",
    "DPMSolverMultistepScheduler": "dpmsolver_multistep",
    "UniPCMultistepScheduler": "unipc_multistep",
    "LCMScheduler": "lcm",
    "EDMEulerScheduler": "edm_euler",
    "TCDScheduler": "tcd",
}
SD = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}
COSINE = {"beta_schedule": "squaredcos_cap_v2"}
V = {"prediction_type": "v_prediction"}
CUSTOM = [499, 400, 333, 250, 120, 20, 1]
TRAINED = [0.002 + 0.02 * (i / 50) ** 2 for i in range(50)]


def euler_cases():
    name = "EulerDiscreteScheduler"
    churn = {"step_args": {"s_churn": 40.0, "s_noise": 1.003}}
    yield "euler_v_trailing_zsnr", name, 6, {**SD, **V, "timestep_spacing": "trailing", "rescale_betas_zero_snr": True}
    yield "euler_beta_sigma_min", name, 7, {**SD, "use_beta_sigmas": True, "final_sigmas_type": "sigma_min"}
    yield "euler_log_linear", name, 5, {**COSINE, "interpolation_type": "log_linear", "timestep_spacing": "leading"}
    yield "euler_exponential_range", name, 6, {**SD, "use_exponential_sigmas": True, "sigma_min": 0.05, "sigma_max": 12.0}
    yield "euler_custom_timesteps", name, 7, {**SD}, {"custom_timesteps": CUSTOM}
    yield "euler_custom_sigmas", name, 4, {**SD}, {"custom_sigmas": [14.0, 5.0, 1.5, 0.2, 0.0]}
    yield "euler_trained_betas", name, 4, {"num_train_timesteps": 50, "trained_betas": TRAINED}
    yield "euler_sample_churn", name, 5, {**SD, "prediction_type": "sample", "use_karras_sigmas": True}, churn
    yield "euler_eps_churn_fp16", name, 5, {**SD, "use_karras_sigmas": True}, {**churn, "dtype": "float16"}
    ancestral = "EulerAncestralDiscreteScheduler"
    yield "euler_a_zsnr", ancestral, 5, {**SD, **V, "timestep_spacing": "leading", "rescale_betas_zero_snr": True}
    yield "euler_a_fp16", ancestral, 5, {**SD}, {"dtype": "float16"}
    edm = "EDMEulerScheduler"
    yield "edm_sigma_min_churn", edm, 5, {"sigma_data": 1.0, "rho": 5.0, "final_sigmas_type": "sigma_min"}, churn
    yield "edm_ramp_bf16", edm, 4, {**V}, {"custom_sigmas": [0.0, 0.3, 0.7, 1.0], "dtype": "bfloat16"}


def heun_cases():
    name = "HeunDiscreteScheduler"
    yield "heun_exp_schedule", name, 4, {"beta_schedule": "exp", "timestep_spacing": "trailing"}
    yield "heun_sample_clip", name, 4, {**SD, "prediction_type": "sample", "clip_sample": True}
    yield "heun_beta_v", name, 5, {**SD, **V, "use_beta_sigmas": True}
    yield "heun_exponential_fp16", name, 4, {**SD, "use_exponential_sigmas": True}, {"dtype": "float16"}
    yield "heun_custom", name, 7, {**SD}, {"custom_timesteps": CUSTOM}


def ddim_cases():
    name = "DDIMScheduler"
    full = {"step_args": {"eta": 1.0}}
    threshold = {"thresholding": True, "sample_max_value": 1.5, "dynamic_thresholding_ratio": 0.8}
    yield "ddim_clip", name, 6, {**SD, "clip_sample": True, "clip_sample_range": 0.8}, full
    clipped = {"step_args": {"use_clipped_model_output": True}}
    yield "ddim_threshold", name, 6, {**SD, **V, **threshold}, clipped
    yield "ddim_sample_zsnr", name, 5, {**COSINE, "prediction_type": "sample", "rescale_betas_zero_snr": True, "timestep_spacing": "trailing"}
    yield "ddim_linspace_fp16", name, 7, {**SD, "timestep_spacing": "linspace", "clip_sample": False}, {**full, "dtype": "float16"}


def dpm_cases():
    name = "DPMSolverMultistepScheduler"
    low = {"final_sigmas_type": "sigma_min"}
    for algorithm, extra in (("dpmsolver++", {}), ("dpmsolver", low), ("sde-dpmsolver++", {}), ("sde-dpmsolver", low)):
        for order in (1, 2, 3) if algorithm != "sde-dpmsolver" else (1, 2):
            for solver in ("midpoint", "heun") if order == 2 else ("midpoint",):
                config = {**SD, **extra, "algorithm_type": algorithm, "solver_order": order, "solver_type": solver}
                yield f"{algorithm}_{order}_{solver}", name, 6, config
    yield "dpmpp_3m_karras", name, 16, {**SD, "solver_order": 3, "use_karras_sigmas": True}
    yield "dpmpp_lu", name, 7, {**SD, **V, "use_lu_lambdas": True, "timestep_spacing": "trailing"}
    yield "dpmpp_exponential", name, 9, {**SD, "use_exponential_sigmas": True, "euler_at_final": True, **low}
    yield "dpmpp_beta", name, 9, {**SD, "use_beta_sigmas": True, "lower_order_final": False, **low}
    yield "dpmpp_cosine_lu", name, 6, {**COSINE, "use_lu_lambdas": True}
    yield "dpmpp_flow", name, 6, {"use_flow_sigmas": True, "flow_shift": 3.0, "prediction_type": "flow_prediction"}
    dynamic = {"use_flow_sigmas": True, "use_dynamic_shifting": True, "prediction_type": "flow_prediction"}
    yield "dpmpp_flow_dynamic", name, 6, dynamic, {"mu": 0.8}
    yield "dpmpp_clipped", name, 6, {**SD, "lambda_min_clipped": -3.0, "timestep_spacing": "leading", "steps_offset": 1}
    threshold = {"thresholding": True, "sample_max_value": 2.0, "dynamic_thresholding_ratio": 0.9}
    yield "dpmpp_threshold", name, 6, {**SD, **threshold}
    yield "dpm_threshold", name, 6, {**SD, **threshold, **low, "algorithm_type": "dpmsolver"}
    yield "dpmpp_custom", name, 7, {**SD}, {"custom_timesteps": CUSTOM}
    yield "dpmpp_zsnr", name, 5, {**SD, **V, "rescale_betas_zero_snr": True, "timestep_spacing": "trailing"}
    yield "sde_dpmpp_fp16", name, 6, {**SD, "algorithm_type": "sde-dpmsolver++"}, {"dtype": "float16"}


def unipc_cases():
    name = "UniPCMultistepScheduler"
    low = {"final_sigmas_type": "sigma_min"}
    yield "unipc_order3_karras", name, 12, {**SD, "solver_order": 3, "use_karras_sigmas": True}
    yield "unipc_order1", name, 5, {**SD, **V, "solver_order": 1}
    yield "unipc_eps_bh1", name, 6, {**SD, **low, "predict_x0": False, "solver_type": "bh1"}
    yield "unipc_v_eps_order3", name, 7, {**SD, **V, **low, "predict_x0": False, "solver_order": 3}
    yield "unipc_no_corrector", name, 6, {**SD, "disable_corrector": [0, 2]}
    yield "unipc_no_lower_final", name, 6, {**SD, **low, "lower_order_final": False}
    yield "unipc_exponential", name, 6, {**SD, **low, "use_exponential_sigmas": True}
    yield "unipc_beta", name, 6, {**SD, "use_beta_sigmas": True}
    flow = {"use_flow_sigmas": True, "prediction_type": "flow_prediction"}
    yield "unipc_flow", name, 6, {**flow, "flow_shift": 5.0}
    yield "unipc_flow_terminal", name, 6, {**flow, "use_dynamic_shifting": True, "shift_terminal": 0.1}, {"mu": 0.7}
    linear = {**flow, "use_dynamic_shifting": True, "time_shift_type": "linear"}
    yield "unipc_flow_linear_shift", name, 5, linear, {"mu": 2.0}
    yield "unipc_flow_karras", name, 6, {**flow, **low, "use_karras_sigmas": True}
    yield "unipc_flow_custom", name, 4, flow, {"custom_sigmas": [1.0, 0.8, 0.5, 0.2]}
    yield "unipc_range", name, 6, {**SD, "use_karras_sigmas": True, "sigma_min": 0.05, "sigma_max": 12.0}
    threshold = {"thresholding": True, "sample_max_value": 2.0, "dynamic_thresholding_ratio": 0.9}
    yield "unipc_threshold", name, 5, {**SD, **threshold}
    yield "unipc_fp16", name, 6, {**SD, "solver_order": 3}, {"dtype": "float16"}


def distilled_cases():
    for name, short in (("LCMScheduler", "lcm"), ("TCDScheduler", "tcd")):
        yield f"{short}_sample", name, 4, {"prediction_type": "sample", "original_inference_steps": 25}
        yield f"{short}_custom", name, 7, {}, {"custom_timesteps": CUSTOM}
        yield f"{short}_original", name, 4, {**V}, {"original_inference_steps": 40}
        yield f"{short}_strength", name, 4, {}, {"strength": 0.6}
        yield f"{short}_fp16", name, 4, {}, {"dtype": "float16"}
    yield "lcm_clip", "LCMScheduler", 4, {"clip_sample": True, "timestep_scaling": 1.0}
    yield "lcm_threshold", "LCMScheduler", 4, {"thresholding": True, "sample_max_value": 1.5}
    yield "tcd_eta1", "TCDScheduler", 5, {**V}, {"step_args": {"eta": 1.0}}


class Draws:
    """Stands in for randn_tensor: hands out the rows of one noise tensor in turn."""

    def __init__(self, noise):
        self.noise, self.count = noise, 0

    def __call__(self, shape, generator=None, device=None, dtype=None, layout=None):
        self.count += 1
        return self.noise[self.count - 1].to(dtype)


def run(case, x, noise):
    module = importlib.import_module(f"diffusers.schedulers.scheduling_{MODULES[case['class']]}")
    module.randn_tensor = draws = Draws(noise)
    scheduler = getattr(module, case["class"])(**case["config"])
    dtype = getattr(torch, case["dtype"])
    arguments = {key: case[key] for key in ("mu", "original_inference_steps", "strength") if key in case}
    if "custom_sigmas" in case:
        sigmas = case["custom_sigmas"]
        arguments["sigmas"] = torch.tensor(sigmas) if case["class"].startswith("EDM") else __import__("numpy").array(sigmas)
    elif "custom_timesteps" in case:
        arguments["timesteps"] = case["custom_timesteps"]
    else:
        arguments["num_inference_steps"] = case["steps"]
    scheduler.set_timesteps(**arguments)
    sample = x.to(dtype) * scheduler.init_noise_sigma
    samples, outputs, drawn = [sample], [], []
    for call, t in enumerate(scheduler.timesteps):
        model_in = scheduler.scale_model_input(sample, t).float()
        time = torch.as_tensor(t / 1000 if case["t_normalised"] == "t/1000" else t, dtype=torch.float32)
        outputs.append(torch.tanh(MODEL["a"] * model_in + MODEL["b"] * time).to(dtype))
        before = draws.count
        sample = scheduler.step(outputs[-1], t, sample, **case["step_args"]).prev_sample
        samples.append(sample)
        drawn += [call] * (draws.count - before)
    case |= {"noise_drawn_at_call": drawn, "timesteps_dtype": str(scheduler.timesteps.dtype), "model_calls": len(outputs)}
    result = {"x": torch.stack(samples), "model_out": torch.stack(outputs), "timesteps": scheduler.timesteps}
    result["init_noise_sigma"] = torch.as_tensor(scheduler.init_noise_sigma, dtype=torch.float32)
    return result | ({"sigmas": scheduler.sigmas} if hasattr(scheduler, "sigmas") else {})


def main():
    generator = torch.Generator().manual_seed(20)
    x = torch.randn(2, 3, 2, 2, generator=generator)
    noise = torch.randn(20, *x.shape, generator=generator)
    tensors, cases = {"in.x": x, "in.noise": noise}, {}
    for family in (euler_cases, heun_cases, ddim_cases, dpm_cases, unipc_cases, distilled_cases):
        for name, class_name, steps, config, *more in family():
            case = {"class": class_name, "config": config, "steps": steps, "step_args": {}, "dtype": "float32"}
            case["t_normalised"] = "t" if class_name.startswith("EDM") else "t/1000"
            case |= more[0] if more else {}
            for part, tensor in run(case, x, noise).items():
                tensors[f"out.{name}.{steps}.{part}"] = tensor.contiguous()
            cases[f"{name}.{steps}"] = case
    here = Path(__file__).parent
    save_file(tensors, here / "schedulers.safetensors")
    description = {"kind": "schedulers", "model": MODEL, "cases": cases}
    (here / "schedulers.json").write_text(json.dumps(description, indent=1) + "\n")


if __name__ == "__main__":
    main()
