"""What a profiler's trace says about launches."""

#: Categories of the trace's events that are work of the GPU's: kernels, copies, fills.
GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def count_launches(trace):
    """Events of a trace, as torch.profiler exports it, that are work of the GPU's."""
    return sum(event.get("cat") in GPU_WORK for event in trace["traceEvents"])
