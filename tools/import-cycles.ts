import { importsOf, targetOf } from "./imports.ts";
import type { SourceFile } from "./problems.ts";
import { readTypeScript } from "./repository.ts";

/** Returns the import cycles as groups of paths. Cycles that share a file form one group. Type-only imports count too. */
export function importCycles(files: readonly SourceFile[]): string[][] {
  const paths = new Set(files.map(({ path }) => path));
  const edges = new Map(
    files.map(({ path, text }) => [
      path,
      importsOf(text)
        .map(({ specifier }) => targetOf(path, specifier))
        .filter((target) => paths.has(target)),
    ]),
  );
  return stronglyConnected(edges).filter(
    ([first = "", ...rest]) => rest.length > 0 || edges.get(first)?.includes(first),
  );
}

/** Returns the groups of nodes that reach each other (Tarjan's algorithm). A node outside every cycle is a group of its own. */
function stronglyConnected(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const groups: string[][] = [];

  /**
   * Visits `node` and the unvisited nodes that it reaches. Returns the low-link of `node`. If the low-link is `node`'s own index, `node`
   * completes a group.
   */
  function visit(node: string): number {
    const index = order.size;
    order.set(node, index);
    let low = index;
    stack.push(node);
    onStack.add(node);
    for (const next of edges.get(node) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (onStack.has(next)) low = Math.min(low, order.get(next) ?? low);
    }
    if (low === index) {
      const group = stack.splice(stack.indexOf(node));
      for (const member of group) onStack.delete(member);
      groups.push(group.sort((a, b) => (a < b ? -1 : 1)));
    }
    return low;
  }
  for (const node of edges.keys()) if (!order.has(node)) visit(node);
  return groups;
}

async function main(): Promise<void> {
  const cycles = importCycles(await readTypeScript());
  for (const cycle of cycles) process.stdout.write(`${cycle.join("\n  ")}\n`);
  process.stdout.write(`${cycles.length} cycles\n`);
  process.exitCode = cycles.length === 0 ? 0 : 1;
}

if (import.meta.main) await main();
