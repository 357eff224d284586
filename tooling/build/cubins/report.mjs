// What ptxas says of each kernel, as data and as a table.

/** Kernels of one compilation. log: nvcc's output with -Xptxas -v. */
export function parseLog(log) {
  const kernels = [];
  let current;
  for (const line of log.split("\n")) {
    const entry = /Compiling entry function '([^']+)'/.exec(line);
    const frame = /(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/.exec(line);
    const used = /Used (\d+) registers/.exec(line);
    if (entry) {
      current = { kernel: entry[1], registers: 0, sharedBytes: 0, stackBytes: 0, spillBytes: 0 };
      kernels.push(current);
    } else if (/Function properties for/.test(line) && !line.includes(current?.kernel ?? "\0")) {
      current = undefined; // Of a function that was not inlined.
    }
    if (current && frame) {
      current.stackBytes = Number(frame[1]);
      current.spillBytes = Number(frame[2]) + Number(frame[3]);
    }
    if (current && used) {
      current.registers = Number(used[1]);
      current.sharedBytes = Number(/(\d+) bytes smem/.exec(line)?.[1] ?? 0);
    }
  }
  return kernels;
}

/** Kernels whose asynchronous products ptxas waits for one by one, because their registers are written meanwhile: two to three times
 *  as slow as they look. log: nvcc's output with -Xptxas -v. */
export function serializedKernels(log) {
  return [...log.matchAll(/wgmma\.mma_async instructions are serialized.*in the function '([^']+)'/g)].map((m) => m[1]);
}

/** Rows as aligned text. */
export function table(rows) {
  const cells = [
    ["target", "kernel", "registers", "shared", "stack", "spill"],
    ...rows.map((r) => [r.target, r.kernel, r.registers, r.sharedBytes, r.stackBytes, r.spillBytes].map(String)),
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const format = (row) => row.map((cell, i) => (i < 2 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ");
  return cells.map(format).join("\n");
}
