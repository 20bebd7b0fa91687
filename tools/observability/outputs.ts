import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DASHBOARDS } from "../../deploy/grafana/dashboards.ts";
import { grafanaJson } from "../../deploy/grafana/grafana-json.ts";
import type { Problems } from "../problems.ts";
import { ROOT } from "../run-tool.ts";
import { dashboardsDocument } from "./dashboards-document.ts";
import { metricsDocument } from "./metrics-document.ts";

const DASHBOARDS_DOCUMENT = "docs/operations/dashboards.md";

/** Returns the texts of the generated files by repository path. */
export async function observabilityOutputs(): Promise<Map<string, string>> {
  const read = (path: string) => readFile(join(ROOT, path), "utf8");
  const outputs = new Map([
    ["docs/metrics.md", metricsDocument()],
    [
      DASHBOARDS_DOCUMENT,
      dashboardsDocument(await read(DASHBOARDS_DOCUMENT), await read("charts/parley/files/alerts.yaml")),
    ],
  ]);
  for (const [name, dashboard] of Object.entries(DASHBOARDS)) {
    // The files are inside the chart, because Helm reads no files outside it. docker-compose.yml mounts the same folder.
    outputs.set(
      `charts/parley/files/dashboards/${name}.json`,
      `${JSON.stringify(grafanaJson(dashboard), undefined, 2)}\n`,
    );
  }
  return outputs;
}

export async function observabilityProblems(): Promise<Problems> {
  const outputs = [...(await observabilityOutputs())];
  const problems = outputs.map(async ([path, text]) => {
    const committed = await readFile(join(ROOT, path), "utf8").catch(() => undefined);
    return committed === text ? [] : [`${path} is stale: run pnpm generate:observability`];
  });
  return (await Promise.all(problems)).flat();
}
