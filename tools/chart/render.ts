import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type HelmResult, runHelm } from "./helm.ts";
import { type Manifest, parseManifests } from "./manifest.ts";

export const CHART = fileURLToPath(new URL("../../charts/parley/", import.meta.url));

/** Returns the names of the values files in ci/, for example `minimal` for ci/minimal-values.yaml. */
export async function listValuesNames(): Promise<string[]> {
  const files = await readdir(join(CHART, "ci"));
  return files.flatMap((file) => /^(.+)-values\.yaml$/.exec(file)?.[1] ?? []).sort();
}

export function valuesFile(name: string): string {
  return join(CHART, "ci", `${name}-values.yaml`);
}

export function runHelmTemplate(
  valuesName: string,
  sets: readonly string[] = [],
  flags: readonly string[] = [],
): Promise<HelmResult> {
  const furtherArgs = [...sets.flatMap((set) => ["--set", set]), ...flags];
  return runHelm(
    "template",
    "parley",
    CHART,
    "--namespace",
    "chat",
    "--values",
    valuesFile(valuesName),
    ...furtherArgs,
  );
}

export type Rendered = { manifests: Manifest[] };

const cache = new Map<string, Promise<Rendered>>();

/** Renders the chart. Caches the result for each combination of arguments. If helm fails, throws its output and caches nothing. */
export function renderChart(valuesName: string, sets: readonly string[] = []): Promise<Rendered> {
  const key = [valuesName, ...sets].join(" ");
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const rendered = renderUncached(valuesName, sets);
  cache.set(key, rendered);
  rendered.catch(() => cache.delete(key));
  return rendered;
}

async function renderUncached(valuesName: string, sets: readonly string[]): Promise<Rendered> {
  const { code, output } = await runHelmTemplate(valuesName, sets);
  if (code !== 0) throw new Error(output);
  return { manifests: parseManifests(output) };
}
