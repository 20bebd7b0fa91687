import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** Returns the environment variable that makes a process write a CPU profile into `dir` when it ends. */
export function profilingEnv(dir: string): Record<string, string> {
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${dir}` };
}

type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
};

export type HotFunction = { percent: number; name: string; location: string };

const EXCLUDED_FRAMES = new Set(["(idle)", "(program)", "(root)"]);

/** Returns the `count` functions with the most self time. Percentages are of the self time of all frames except EXCLUDED_FRAMES. */
function hottestFunctions(profile: Profile, count: number): HotFunction[] {
  const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const times = new Map<string, number>();
  let total = 0;
  profile.samples.forEach((id, i) => {
    const frame = frames.get(id);
    if (frame === undefined || EXCLUDED_FRAMES.has(frame.functionName)) return;
    const selfTime = profile.timeDeltas[i] ?? 0;
    const key = `${frame.functionName || "(anonymous)"}\n${locationOf(frame)}`;
    times.set(key, (times.get(key) ?? 0) + selfTime);
    total += selfTime;
  });
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([key, selfTime]) => {
      const [name = "", location = ""] = key.split("\n");
      return { percent: (100 * selfTime) / total, name, location };
    });
}

/** Returns `path:line`. Paths in services/ and packages/ are relative to the repository, paths of npm packages to node_modules. */
function locationOf({ url, lineNumber }: { url: string; lineNumber: number }): string {
  if (url === "") return "";
  const path = url.replace(/^.*\/node_modules\//, "").replace(/^file:.*?\/((?:services|packages)\/)/, "$1");
  return `${path}:${lineNumber + 1}`;
}

/** Copies the CPU profile from the folder `from` to `to`/`service`.cpuprofile.gz, without this machine's paths. Returns its 10 hottest functions. */
export async function saveProfile(from: string, to: string, service: string): Promise<HotFunction[]> {
  const [file] = (await readdir(from)).filter((each) => each.endsWith(".cpuprofile"));
  if (file === undefined) throw new Error(`${service} wrote no profile`);
  const profile = JSON.parse(await readFile(join(from, file), "utf8")) as Profile;
  for (const { callFrame } of profile.nodes)
    callFrame.url = locationOf({ ...callFrame, lineNumber: 0 }).replace(/:1$/, "");
  await mkdir(to, { recursive: true });
  await writeFile(join(to, `${service}.cpuprofile.gz`), gzipSync(JSON.stringify(profile), { level: 9 }));
  return hottestFunctions(profile, 10);
}
