import { expect, test, vi } from "vitest";
import { testOp } from "../../kernel/test-op";

vi.mock("@vd/kernels-native", async (original) => ({
  ...(await original<object>()),
  devices: () => [
    { kind: "cpu", name: "a CPU", usable: true, reason: "2 cores." },
    { kind: "cuda", name: "CUDA", usable: false, reason: "No NVIDIA driver." },
  ],
}));

test("testing on a GPU where there is none ends in a sentence with the reason", async () => {
  const expected = "--device cuda: expected a usable GPU, got none: No NVIDIA driver.";
  await expect(testOp("pool", { device: "cuda" })).rejects.toThrow(expected);
});
