"""Writes schedulers.json and schedulers.safetensors beside this file, from diffusers' own scheduler classes.

Needs Python with torch, numpy, scipy, safetensors, torchsde, diffusers and k-diffusion (written with
huggingface/diffusers@58eb52c, crowsonkb/k-diffusion@4601bf0, torch 2.13 on an x86-64 CPU). The form is that of the
fixtures: every class with settings that the committed fixtures leave out.
"""

import importlib
import json
from pathlib import Path

import numpy as np
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
    "PNDMScheduler": "pndm",
    "LMSDiscreteScheduler": "lms_discrete",
    "IPNDMScheduler": "ipndm",
    "DDPMScheduler": "ddpm",
    "KDPM2DiscreteScheduler": "k_dpm_2_discrete",
    "KDPM2AncestralDiscreteScheduler": "k_dpm_2_ancestral_discrete",
    "DPMSolverSDEScheduler": "dpmsolver_sde",
    "DPMSolverSinglestepScheduler": "dpmsolver_singlestep",
    "DEISMultistepScheduler": "deis_multistep",
    "EDMDPMSolverMultistepScheduler": "edm_dpmsolver_multistep",
    "FlowMatchEulerDiscreteScheduler": "flow_match_euler_discrete",
    "FlowMatchHeunDiscreteScheduler": "flow_match_heun_discrete",
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


def pseudo_cases():
    name = "PNDMScheduler"
    yield "pndm_skip", name, 7, {**SD, "skip_prk_steps": True, "steps_offset": 1}
    yield "pndm_prk", name, 8, {**SD}
    yield "pndm_prk_v", name, 5, {**SD, **V, "timestep_spacing": "linspace", "set_alpha_to_one": True}
    yield "pndm_skip_v_trailing", name, 6, {**SD, **V, "skip_prk_steps": True, "timestep_spacing": "trailing"}
    yield "pndm_one", name, 1, {**SD, "skip_prk_steps": True}
    yield "pndm_two", name, 2, {**COSINE, "skip_prk_steps": True}
    yield "pndm_fp16", name, 6, {**SD, "skip_prk_steps": True}, {"dtype": "float16"}
    name = "IPNDMScheduler"
    yield "ipndm", name, 7, {}, {"t_normalised": "t"}
    yield "ipndm_three", name, 3, {}, {"t_normalised": "t"}
    yield "ipndm_begin", name, 6, {}, {"t_normalised": "t", "begin_step": 2, "adds_noise": False}
    name = "LMSDiscreteScheduler"
    yield "lms", name, 7, {**SD}
    yield "lms_karras_v", name, 8, {**SD, **V, "use_karras_sigmas": True}
    yield "lms_sample_leading", name, 5, {**SD, "prediction_type": "sample", "timestep_spacing": "leading", "steps_offset": 1}
    yield "lms_exponential", name, 6, {**COSINE, "use_exponential_sigmas": True, "timestep_spacing": "trailing"}
    yield "lms_beta_fp16", name, 5, {**SD, "use_beta_sigmas": True}, {"dtype": "float16"}


def ddpm_cases():
    name = "DDPMScheduler"
    off = {"clip_sample": False}
    yield "ddpm", name, 6, {**SD}
    yield "ddpm_large_v", name, 6, {**SD, **V, **off, "variance_type": "fixed_large", "timestep_spacing": "trailing"}
    yield "ddpm_small_log", name, 5, {**SD, **off, "variance_type": "fixed_small_log", "timestep_spacing": "linspace"}
    yield "ddpm_sample_range", name, 5, {**SD, "prediction_type": "sample", "clip_sample_range": 0.7, "steps_offset": 1}
    yield "ddpm_laplace", name, 5, {**V, **off, "beta_schedule": "laplace"}
    yield "ddpm_sigmoid", name, 5, {**off, "beta_schedule": "sigmoid"}
    yield "ddpm_threshold", name, 5, {**SD, "thresholding": True, "sample_max_value": 1.5}
    yield "ddpm_custom", name, 7, {**SD, **off}, {"custom_timesteps": CUSTOM}
    yield "ddpm_zsnr", name, 5, {**SD, **V, **off, "rescale_betas_zero_snr": True, "timestep_spacing": "trailing"}
    yield "ddpm_fp16", name, 6, {**SD, **off}, {"dtype": "float16"}


def dpm2_cases():
    for name, short in (("KDPM2DiscreteScheduler", "kdpm2"), ("KDPM2AncestralDiscreteScheduler", "kdpm2_a")):
        yield f"{short}", name, 6, {**SD}
        yield f"{short}_karras_v", name, 5, {**SD, **V, "use_karras_sigmas": True}
        yield f"{short}_exponential", name, 5, {"use_exponential_sigmas": True, "timestep_spacing": "trailing"}
        yield f"{short}_beta_leading", name, 5, {**SD, "use_beta_sigmas": True, "timestep_spacing": "leading"}
        yield f"{short}_begin", name, 6, {**SD}, {"begin_step": 2}
        yield f"{short}_fp16", name, 5, {**SD}, {"dtype": "float16"}
    name = "DPMSolverSDEScheduler"
    yield "dpmpp_sde", name, 6, {**SD}
    yield "dpmpp_sde_karras_v", name, 5, {**SD, **V, "use_karras_sigmas": True}, {"step_args": {"s_noise": 1.02}}
    yield "dpmpp_sde_exponential", name, 5, {**SD, "use_exponential_sigmas": True, "timestep_spacing": "leading"}
    yield "dpmpp_sde_begin", name, 6, {**SD}, {"begin_step": 2}


def singlestep_cases():
    name = "DPMSolverSinglestepScheduler"
    low = {"final_sigmas_type": "sigma_min"}
    for algorithm, extra in (("dpmsolver++", {}), ("dpmsolver", low), ("sde-dpmsolver++", {})):
        for order in (1, 2, 3):
            for solver in ("midpoint", "heun") if order > 1 else ("midpoint",):
                config = {**SD, **extra, "algorithm_type": algorithm, "solver_order": order, "solver_type": solver}
                yield f"single_{algorithm}_{order}_{solver}", name, 6, config
    yield "single_order3_7", name, 7, {**SD, "solver_order": 3}
    yield "single_order3_8_low", name, 8, {**SD, **V, **low, "solver_order": 3, "use_karras_sigmas": True}
    yield "single_order2_5", name, 5, {**SD, "use_exponential_sigmas": True}
    yield "single_even_low", name, 6, {**SD, **low, "use_beta_sigmas": True, "lower_order_final": False}
    yield "single_cosine", name, 6, {**COSINE, "solver_order": 3}
    yield "single_clipped", name, 6, {**SD, "lambda_min_clipped": -3.0}
    yield "single_flow", name, 6, {"use_flow_sigmas": True, "flow_shift": 3.0, "prediction_type": "flow_prediction"}
    threshold = {"thresholding": True, "sample_max_value": 2.0, "dynamic_thresholding_ratio": 0.9}
    yield "single_threshold", name, 6, {**SD, **threshold}
    yield "single_custom", name, 7, {**SD}, {"custom_timesteps": CUSTOM}
    yield "single_begin", name, 7, {**SD, "solver_order": 3}, {"begin_step": 2}


def deis_cases():
    name = "DEISMultistepScheduler"
    yield "deis_order1", name, 5, {**SD, "solver_order": 1}
    yield "deis", name, 7, {**SD}
    yield "deis_order3_v", name, 8, {**SD, **V, "solver_order": 3, "timestep_spacing": "trailing"}
    yield "deis_order3_16", name, 16, {**SD, "solver_order": 3, "timestep_spacing": "leading", "steps_offset": 1}
    yield "deis_karras", name, 6, {**SD, "use_karras_sigmas": True}
    yield "deis_exponential_sample", name, 6, {**SD, "use_exponential_sigmas": True, "prediction_type": "sample"}
    yield "deis_beta", name, 6, {**SD, "use_beta_sigmas": True}
    yield "deis_flow", name, 6, {"use_flow_sigmas": True, "flow_shift": 2.0, "prediction_type": "flow_prediction"}
    threshold = {"thresholding": True, "sample_max_value": 2.0, "dynamic_thresholding_ratio": 0.9}
    yield "deis_threshold", name, 6, {**SD, **threshold}
    yield "deis_begin", name, 7, {**SD, "solver_order": 3}, {"begin_step": 3}


def edm_cases():
    name = "EDMDPMSolverMultistepScheduler"
    yield "edm_dpmpp_2m", name, 6, {}
    yield "edm_dpmpp_3m_v", name, 7, {**V, "solver_order": 3, "sigma_data": 1.0, "sigma_max": 700.0}
    yield "edm_dpmpp_heun", name, 6, {"solver_type": "heun", "sigma_schedule": "exponential"}
    yield "edm_dpmpp_low", name, 16, {"final_sigmas_type": "sigma_min", "rho": 5.0}
    yield "edm_dpmpp_sde", name, 6, {"algorithm_type": "sde-dpmsolver++"}
    yield "edm_dpmpp_begin", name, 6, {}, {"begin_step": 2}


def flow_cases():
    name = "FlowMatchEulerDiscreteScheduler"
    yield "flow_euler", name, 6, {}
    yield "flow_euler_shift", name, 5, {"shift": 3.0}
    yield "flow_euler_dynamic", name, 5, {"use_dynamic_shifting": True, "shift_terminal": 0.1}, {"mu": 0.7}
    yield "flow_euler_linear", name, 5, {"use_dynamic_shifting": True, "time_shift_type": "linear"}, {"mu": 1.8}
    yield "flow_euler_karras", name, 5, {"use_karras_sigmas": True}
    yield "flow_euler_exponential", name, 5, {"use_exponential_sigmas": True}
    yield "flow_euler_beta", name, 5, {"use_beta_sigmas": True}
    yield "flow_euler_inverted", name, 5, {"invert_sigmas": True}
    yield "flow_euler_stochastic", name, 5, {"stochastic_sampling": True}
    yield "flow_euler_sigmas", name, 4, {"shift": 2.0}, {"custom_sigmas": [1.0, 0.8, 0.5, 0.2]}
    yield "flow_euler_timesteps", name, 7, {}, {"custom_timesteps": CUSTOM}
    yield "flow_euler_begin", name, 6, {}, {"begin_step": 2}
    yield "flow_euler_fp16", name, 5, {}, {"dtype": "float16"}
    name = "FlowMatchHeunDiscreteScheduler"
    yield "flow_heun", name, 5, {}
    yield "flow_heun_shift", name, 4, {"shift": 3.0}
    yield "flow_heun_one", name, 1, {}
    yield "flow_heun_fp16", name, 4, {}, {"dtype": "float16"}


def begin_cases():
    """Classes with older cases above, begun in the middle."""
    for short, name, config in (
        ("euler", "EulerDiscreteScheduler", {}),
        ("euler_a", "EulerAncestralDiscreteScheduler", {}),
        ("heun", "HeunDiscreteScheduler", {}),
        ("dpmpp_2m", "DPMSolverMultistepScheduler", {"solver_order": 3}),
        ("unipc", "UniPCMultistepScheduler", {"solver_order": 3}),
        ("edm_euler", "EDMEulerScheduler", {}),
    ):
        yield f"{short}_begin", name, 7, config if short == "edm_euler" else {**SD, **config}, {"begin_step": 3}


def k_diffusion_cases():
    karras = {"use_karras_sigmas": True}
    for name in ("sample_dpmpp_2s_ancestral", "sample_dpmpp_2m_sde", "sample_dpmpp_3m_sde"):
        short = name.removeprefix("sample_")
        yield f"k_{short}", name, 7, {**SD}
        yield f"k_{short}_v", name, 6, {**SD, **V, **karras}, {"step_args": {"eta": 0.6, "s_noise": 1.01}}
        yield f"k_{short}_ode", name, 6, {**SD, **karras}, {"step_args": {"eta": 0.0}}
        yield f"k_{short}_svd", name, 5, SVD, {"t_normalised": "t"}


SVD = {
    **SD,
    **V,
    "interpolation_type": "linear",
    "sigma_max": 700.0,
    "sigma_min": 0.002,
    "timestep_spacing": "leading",
    "timestep_type": "continuous",
    "use_karras_sigmas": True,
}


class Draws:
    """Stands in for randn_tensor: hands out the rows of one noise tensor in turn."""

    def __init__(self, noise):
        self.noise, self.count = noise, 0

    def __call__(self, shape, generator=None, device=None, dtype=None, layout=None):
        self.count += 1
        return self.noise[self.count - 1].to(dtype)


class Motion:
    """Stands in for BrownianTreeNoiseSampler: one motion in sigma, a draw for each half of a step."""

    draws = None

    def __init__(self, x, sigma_min, sigma_max, seed=None):
        self.start, self.parts, self.dtype = None, [], x.dtype

    def __call__(self, sigma, sigma_next):
        if sigma != self.start:
            self.start, self.parts = sigma, []
        begin = self.parts[-1][0] if self.parts else sigma
        self.parts.append((sigma_next, Motion.draws(None, dtype=self.dtype) * (begin - sigma_next) ** 0.5))
        return sum(part for _, part in self.parts) / (sigma - sigma_next) ** 0.5


def levels(scheduler):
    """The noise level of each call, then the last one."""
    sigmas, count = scheduler.sigmas, len(scheduler.timesteps)
    if hasattr(scheduler, "sigmas_interpol"):
        back = 1 if "Ancestral" in type(scheduler).__name__ else 0
        inner = [scheduler.sigmas_interpol[call - back] for call in range(count)]
    elif type(scheduler).__name__ == "DPMSolverSDEScheduler":
        inner = [(sigmas[call - 1].log() / 2 + sigmas[call].log() / 2).exp() for call in range(count)]
    else:
        return sigmas
    return torch.stack([inner[call] if call % 2 else sigmas[call] for call in range(count)] + [sigmas[-1]])


def stand_in(case, model_in, t):
    time = torch.as_tensor(t / 1000 if case["t_normalised"] == "t/1000" else t, dtype=torch.float32)
    return torch.tanh(MODEL["a"] * model_in + MODEL["b"] * time)


def run_k_diffusion(case, x, noise):
    """A sampler of k-diffusion over the noise levels of EulerDiscreteScheduler."""
    sampling = importlib.import_module("k_diffusion.sampling")
    module = importlib.import_module("diffusers.schedulers.scheduling_euler_discrete")
    scheduler = module.EulerDiscreteScheduler(**case["config"])
    scheduler.set_timesteps(case["steps"])
    continuous = case["config"].get("timestep_type") == "continuous"
    known = {float(sigma): t for sigma, t in zip(scheduler.sigmas, scheduler.timesteps)}
    logs = np.log(np.array(((1 - scheduler.alphas_cumprod) / scheduler.alphas_cumprod) ** 0.5))
    samples, outputs, times, sigmas, drawn = [], [], [], [], []
    draws = Draws(noise)

    def model(x, sigma):
        level = sigma[0]
        inner = 0.25 * level.log() if continuous else scheduler._sigma_to_t(level.numpy(), logs)
        # A level inside a step may be one of the table by chance; its timestep is found as that of any other.
        is_inside = case["class"] == "sample_dpmpp_2s_ancestral" and len(outputs) % 2 == 1
        t = inner if is_inside else known[float(level)]
        output = stand_in(case, x / (level**2 + 1) ** 0.5, t)
        for values, value in ((samples, x), (outputs, output), (times, torch.as_tensor(t)), (sigmas, level)):
            values.append(value)
        if case["config"].get("prediction_type") == "v_prediction":
            return output * (-level / (level**2 + 1) ** 0.5) + x / (level**2 + 1)
        return x - level * output

    def noise_sampler(sigma, sigma_next):
        drawn.append(len(outputs) - 1)
        return draws(None, dtype=x.dtype)

    start = x * scheduler.init_noise_sigma
    arguments = {**case["step_args"], "noise_sampler": noise_sampler, "disable": True}
    samples.append(getattr(sampling, case["class"])(model, start, scheduler.sigmas, **arguments))
    if case["step_args"].get("eta") == 0.0:
        # The draws that a sampler makes and multiplies by zero.
        drawn = []
    case |= {"noise_drawn_at_call": drawn, "timesteps_dtype": "torch.float32", "model_calls": len(outputs)}
    result = {"x": torch.stack(samples), "model_out": torch.stack(outputs)}
    result |= {"timesteps": torch.stack([t.float() for t in times]), "sigmas": torch.stack([*sigmas, scheduler.sigmas[-1]])}
    return result | {"init_noise_sigma": torch.as_tensor(scheduler.init_noise_sigma, dtype=torch.float32)}


def run(case, x, noise):
    module = importlib.import_module(f"diffusers.schedulers.scheduling_{MODULES[case['class']]}")
    module.randn_tensor = draws = Draws(noise)
    Motion.draws, module.BrownianTreeNoiseSampler = draws, Motion
    scheduler = getattr(module, case["class"])(**case["config"])
    dtype = getattr(torch, case["dtype"])
    arguments = {key: case[key] for key in ("mu", "original_inference_steps", "strength") if key in case}
    if "custom_sigmas" in case:
        sigmas = case["custom_sigmas"]
        arguments["sigmas"] = torch.tensor(sigmas) if case["class"].startswith("EDM") else np.array(sigmas)
    elif "custom_timesteps" in case:
        arguments["timesteps"] = case["custom_timesteps"]
    else:
        arguments["num_inference_steps"] = case["steps"]
    scheduler.set_timesteps(**arguments)
    first = case.get("begin_step", 0) * scheduler.order
    timesteps = scheduler.timesteps[first:]
    sample = x.to(dtype) * getattr(scheduler, "init_noise_sigma", 1.0)
    if "begin_step" in case:
        scheduler.set_begin_index(first)
        sample = begin(scheduler, case, x.to(dtype) / 2, noise[-1].to(dtype), timesteps[:1])
    scales = hasattr(scheduler, "scale_model_input")
    samples, outputs, drawn = [sample], [], []
    for call, t in enumerate(timesteps):
        model_in = scheduler.scale_model_input(sample, t) if scales else sample
        outputs.append(stand_in(case, model_in.float(), t).to(dtype))
        before = draws.count
        sample = scheduler.step(outputs[-1], t, sample, **case["step_args"]).prev_sample
        samples.append(sample)
        drawn += [call] * (draws.count - before)
    case |= {"noise_drawn_at_call": drawn, "timesteps_dtype": str(timesteps.dtype), "model_calls": len(outputs)}
    result = {"x": torch.stack(samples), "model_out": torch.stack(outputs), "timesteps": timesteps}
    if "begin_step" not in case:
        result["init_noise_sigma"] = torch.as_tensor(getattr(scheduler, "init_noise_sigma", 1.0), dtype=torch.float32)
    return result | ({"sigmas": levels(scheduler)[first:]} if hasattr(scheduler, "sigmas") else {})


def begin(scheduler, case, clean, noise, timestep):
    """The sample that a run in the middle of the schedule starts from."""
    if not case.get("adds_noise", True):
        return clean + noise
    scale = getattr(scheduler, "scale_noise", None)
    return scheduler.add_noise(clean, noise, timestep) if scale is None else scale(clean, timestep, noise)


def main():
    generator = torch.Generator().manual_seed(20)
    x = torch.randn(2, 3, 2, 2, generator=generator)
    noise = torch.randn(20, *x.shape, generator=generator)
    tensors, cases = {"in.x": x, "in.noise": noise}, {}
    families = [euler_cases, heun_cases, ddim_cases, dpm_cases, unipc_cases, distilled_cases, pseudo_cases, ddpm_cases]
    families += [dpm2_cases, singlestep_cases, deis_cases, edm_cases, flow_cases, begin_cases, k_diffusion_cases]
    for family in families:
        for name, class_name, steps, config, *more in family():
            case = {"class": class_name, "config": config, "steps": steps, "step_args": {}, "dtype": "float32"}
            case["t_normalised"] = "t" if class_name.startswith("EDM") else "t/1000"
            case |= more[0] if more else {}
            runs = run_k_diffusion if class_name.startswith("sample_") else run
            for part, tensor in runs(case, x, noise).items():
                tensors[f"out.{name}.{steps}.{part}"] = tensor.contiguous()
            cases[f"{name}.{steps}"] = case
    here = Path(__file__).parent
    save_file(tensors, here / "schedulers.safetensors")
    description = {"kind": "schedulers", "model": MODEL, "cases": cases}
    (here / "schedulers.json").write_text(json.dumps(description, indent=1) + "\n")


if __name__ == "__main__":
    main()
