import { readFile } from "node:fs/promises";
import type { ServiceProcess } from "./processes.ts";

/** Returns the sum of a metric's series that have all of `labels`, or 0 if there are none. Throws if the service has no such metric. */
export async function readMetric(
  service: Pick<ServiceProcess, "opsPort">,
  name: string,
  labels: Record<string, string> = {},
): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${service.opsPort}/metrics`)).text();
  // Each metric has a TYPE line, even before its first series. The name of a histogram's series has a suffix.
  const names = [name, name.replace(/_(bucket|count|sum)$/, "")];
  if (!names.some((each) => text.includes(`# TYPE ${each} `))) throw new Error(`the service has no metric ${name}`);
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return text
    .split("\n")
    .filter(
      (line) =>
        (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && wanted.every((each) => line.includes(each)),
    )
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

export const readResidentBytes = (service: ServiceProcess) => readMetric(service, "process_resident_memory_bytes");

/** Returns the highest resident memory of a process since it started, in MiB. Needs the proc file system. */
export async function readPeakMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
