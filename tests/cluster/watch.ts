import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/**
 * Watches objects in Parley's namespace during an operation. Returns the lines that the Go template gives: one for each object at the start,
 * and one after each change, oldest first.
 */
export async function watchDuring(
  resources: string[],
  template: string,
  operation: () => Promise<void>,
): Promise<string[]> {
  const output = `--output=go-template=${template}{{"\\n"}}`;
  const watch = ["--namespace", "parley", "get", ...resources, "--watch", output];
  const child = spawn("kubectl", watch, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const exited = once(child, "exit");
  try {
    await once(reader, "line");
    await operation();
    if (child.exitCode !== null) throw new Error("the watch ended before the operation");
  } finally {
    child.kill();
    await exited;
  }
  return lines;
}

/** A Go template. Prints an EndpointSlice's name, and each endpoint with `=true` if it is ready. */
const ENDPOINTS_TEMPLATE =
  "{{.metadata.name}} {{range .endpoints}}{{index .addresses 0}}={{.conditions.ready}},{{end}}";

/** Returns the endpoints that were ready before an operation, and absent or not ready at some time during it. */
export async function endpointsRemovedDuring(operation: () => Promise<void>): Promise<string[]> {
  const lines = await watchDuring(["endpointslices"], ENDPOINTS_TEMPLATE, operation);
  const readyBefore = new Map<string, string[]>();
  const removed = new Set<string>();
  for (const line of lines) {
    const [slice = "", endpoints = ""] = line.split(" ");
    const ready = endpoints.split(",").filter((each) => each.endsWith("=true"));
    const before = readyBefore.get(slice);
    if (before === undefined) readyBefore.set(slice, ready);
    else for (const each of before) if (!ready.includes(each)) removed.add(`${slice} ${each}`);
  }
  return [...removed];
}
