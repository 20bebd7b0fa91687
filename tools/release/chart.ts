import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { runHelm } from "../chart/helm.ts";
import { ROOT } from "../run-tool.ts";
import { type Digests, IMAGES } from "./images.ts";

const CHART = "charts/parley";

/** Sets the registry and each image's digest in the text of a values file, and returns the new text. Keeps the comments. */
export function pinImages(values: string, registry: string, digests: Digests): string {
  const document = parseDocument(values);
  document.setIn(["image", "registry"], registry);
  for (const image of IMAGES) {
    const path = [image === "llm-proxy" ? "llmProxy" : image, "image", "digest"];
    if (!document.hasIn(path)) throw new Error(`the chart has no value ${path.join(".")}`);
    document.setIn(path, digests[image]);
  }
  return document.toString({ lineWidth: 0 });
}

/** Writes a package of the chart with pinned images into `folder`. Returns the package's path. */
export async function packageChart(folder: string, registry: string, digests: Digests): Promise<string> {
  const chartCopy = await mkdtemp(join(tmpdir(), "parley-release-"));
  try {
    await cp(join(ROOT, CHART), chartCopy, { recursive: true });
    const file = join(chartCopy, "values.yaml");
    await writeFile(file, pinImages(await readFile(file, "utf8"), registry, digests));
    await mkdir(folder, { recursive: true });
    await runHelmOrThrow("lint", "--strict", chartCopy, "--values", join(chartCopy, "ci/production-values.yaml"));
    const output = await runHelmOrThrow("package", chartCopy, "--destination", folder);
    const path = /saved it to: (.+)$/m.exec(output)?.[1];
    if (path === undefined) throw new Error(`helm package printed no path:\n${output}`);
    return path;
  } finally {
    await rm(chartCopy, { recursive: true, force: true });
  }
}

async function runHelmOrThrow(...args: string[]): Promise<string> {
  const { code, output } = await runHelm(...args);
  if (code !== 0) throw new Error(`helm ${args.join(" ")}: exit code ${code}\n${output}`);
  return output;
}
