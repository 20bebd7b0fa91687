import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DASHBOARDS } from "../../grafana/dashboards.ts";
import { grafanaJson } from "../../grafana/grafana-json.ts";
import type { Problems } from "../problems.ts";
import { ROOT } from "../run-tool.ts";
import { metricsDocument } from "./metrics-document.ts";

const ALERTS = "deploy/prometheus/alerts.yaml";

/** What is made from the metrics' registrations, the dashboards and the alerts: texts by path from the top of the repository. */
export async function observabilityOutputs(): Promise<Map<string, string>> {
  const outputs = new Map([["docs/metrics.md", metricsDocument()]]);
  for (const [name, dashboard] of Object.entries(DASHBOARDS)) {
    const json = `${JSON.stringify(grafanaJson(dashboard), undefined, 2)}\n`;
    outputs.set(`deploy/grafana/dashboards/${name}.json`, json);
    // A chart can read no file outside its own folder.
    outputs.set(`charts/parley/files/dashboards/${name}.json`, json);
  }
  outputs.set("charts/parley/files/alerts.yaml", await readFile(join(ROOT, ALERTS), "utf8"));
  return outputs;
}

/** Of the files that are made, those that are not what they would be made now. */
export async function observabilityProblems(): Promise<Problems> {
  const outputs = [...(await observabilityOutputs())];
  const problems = outputs.map(async ([path, text]) => {
    const there = await readFile(join(ROOT, path), "utf8").catch(() => undefined);
    return there === text ? [] : [`${path} is not what it is made from: run pnpm generate:observability`];
  });
  return (await Promise.all(problems)).flat();
}
