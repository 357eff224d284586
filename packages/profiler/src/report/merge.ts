import type { ReportNode } from "./types";

const STEP = /^step \d+$/;

const sumOf = (nodes: readonly ReportNode[], pick: (node: ReportNode) => number) =>
  nodes.reduce((sum, node) => sum + pick(node), 0);

/** Nodes of the same kind and name, one after the other of each. */
function groupsOf(nodes: readonly ReportNode[]): ReportNode[][] {
  const groups = new Map<string, ReportNode[]>();
  for (const node of nodes) {
    const key = `${node.kind} ${node.name}`;
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(node);
  }
  return [...groups.values()];
}

/** Several nodes as one with all their times and work. */
function merged(nodes: readonly ReportNode[], name: string): ReportNode {
  const first = nodes[0]!;
  const [totalUs, bytes, flops] = [
    sumOf(nodes, (n) => n.totalUs),
    sumOf(nodes, (n) => n.bytes),
    sumOf(nodes, (n) => n.flops),
  ];
  const idealUs = sumOf(nodes, (n) => ((n.rooflinePercent ?? 0) / 100) * n.totalUs);
  const isKnown = nodes.some(({ rooflinePercent }) => rooflinePercent !== null);
  const failed = nodes.find(({ error }) => error !== undefined);
  return {
    ...first,
    ...{ name, totalUs, bytes, flops },
    count: sumOf(nodes, (n) => n.count),
    numFailed: sumOf(nodes, (n) => n.numFailed),
    ...(failed ? { error: failed.error! } : {}),
    selfUs: sumOf(nodes, (n) => n.selfUs),
    sharePercent: sumOf(nodes, (n) => n.sharePercent),
    gigabytesPerS: bytes > 0 && totalUs > 0 ? bytes / totalUs / 1e3 : null,
    teraflopPerS: flops > 0 && totalUs > 0 ? flops / totalUs / 1e6 : null,
    rooflinePercent: isKnown && totalUs > 0 ? (100 * idealUs) / totalUs : null,
    ...(first.peakBytes === undefined ? {} : { peakBytes: Math.max(...nodes.map((n) => n.peakBytes ?? 0)) }),
    children: groupsOf(nodes.flatMap(({ children }) => children)).map((group) => merged(group, group[0]!.name)),
  };
}

/** The trees for readers: steps of a loop as one node with what they contain, `all 25 steps`, after a line for each. */
export function withStepsTogether(nodes: readonly ReportNode[]): ReportNode[] {
  const steps = nodes.filter(({ name }) => STEP.test(name));
  const others = nodes.map((node) =>
    STEP.test(node.name) && steps.length > 1
      ? { ...node, children: [] }
      : { ...node, children: withStepsTogether(node.children) },
  );
  return steps.length > 1 ? [...others, merged(steps, `all ${steps.length} steps`)] : others;
}
