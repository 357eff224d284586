import type { ProfileReport, ReportNode } from "../../src/index";

/** Every node of the trees, outer before inner. */
export function allNodes(nodes: readonly ReportNode[]): ReportNode[] {
  return nodes.flatMap((node) => [node, ...allNodes(node.children)]);
}

/** The node that a path of names leads to; fails the test if there is none. */
export function nodeAt({ scopes }: Pick<ProfileReport, "scopes">, ...path: string[]): ReportNode {
  let nodes: readonly ReportNode[] = scopes;
  let found: ReportNode | undefined;
  for (const name of path) {
    found = nodes.find((node) => node.name === name);
    if (!found) throw new Error(`no ${name} of ${path.join(" / ")} among ${nodes.map((node) => node.name).join(", ")}`);
    nodes = found.children;
  }
  return found!;
}

/** Sum of a figure over all nodes. */
export const sumOf = ({ scopes }: ProfileReport, pick: (node: ReportNode) => number): number =>
  allNodes(scopes).reduce((sum, node) => sum + pick(node), 0);
