import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** What the services are started with, so that each writes a CPU profile into `dir` when it ends. */
export function profiling(dir: string): Record<string, string> {
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${dir}` };
}

type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
};

export type HotFunction = { percent: number; name: string; place: string };

const IDLE = new Set(["(idle)", "(program)", "(root)"]);

/** The functions that took most time themselves, in percent of all but idling. */
export function hottest(profile: Profile, count: number): HotFunction[] {
  const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const times = new Map<string, number>();
  let total = 0;
  profile.samples.forEach((id, i) => {
    const frame = frames.get(id);
    if (frame === undefined || IDLE.has(frame.functionName)) return;
    const took = profile.timeDeltas[i] ?? 0;
    const key = `${frame.functionName || "(anonymous)"}\n${placeOf(frame)}`;
    times.set(key, (times.get(key) ?? 0) + took);
    total += took;
  });
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([key, took]) => {
      const [name = "", place = ""] = key.split("\n");
      return { percent: (100 * took) / total, name, place };
    });
}

/** Within the repository or its package, never a path of a machine. */
function placeOf({ url, lineNumber }: { url: string; lineNumber: number }): string {
  if (url === "") return "";
  const path = url.replace(/^.*\/node_modules\//, "").replace(/^file:.*?\/((?:services|packages)\/)/, "$1");
  return `${path}:${lineNumber + 1}`;
}

/** Keeps the one profile that was written to `from` as `name`.cpuprofile.gz in `to`, free of this machine's paths, and tells what is in it. */
export async function keepProfile(from: string, to: string, name: string): Promise<HotFunction[]> {
  const [file] = (await readdir(from)).filter((each) => each.endsWith(".cpuprofile"));
  if (file === undefined) throw new Error(`${name} wrote no profile`);
  const profile = JSON.parse(await readFile(join(from, file), "utf8")) as Profile;
  for (const { callFrame } of profile.nodes)
    callFrame.url = placeOf({ ...callFrame, lineNumber: 0 }).replace(/:1$/, "");
  await mkdir(to, { recursive: true });
  await writeFile(join(to, `${name}.cpuprofile.gz`), gzipSync(JSON.stringify(profile), { level: 9 }));
  return hottest(profile, 10);
}
