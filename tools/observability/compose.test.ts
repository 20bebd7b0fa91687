import { access, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../run-tool.ts";

type Service = { command?: string[]; volumes: string[] };

const read = async (path: string): Promise<unknown> => parse(await readFile(join(ROOT, path), "utf8"));
const { services } = (await read("docker-compose.yml")) as { services: Record<"prometheus" | "grafana", Service> };

/** Returns the repository path that is mounted at a path of the service's container. */
function mountSource({ volumes }: Service, path: string): string {
  for (const volume of volumes) {
    const [source = "", target = ""] = volume.split(":");
    if (source.startsWith("./") && `${path}/`.startsWith(`${target}/`)) return join(source, path.slice(target.length));
  }
  throw new Error(`no volume is mounted at ${path}`);
}

// These tests also check that the mounted files exist, because Docker would not fail: for a missing source, it creates and mounts an empty folder.
test("docker compose's Prometheus loads the chart's alerts", async () => {
  const { prometheus } = services;
  const option = prometheus.command?.find((each) => each.startsWith("--config.file="));
  const config = String(option).replace("--config.file=", "");
  const { rule_files } = (await read(mountSource(prometheus, config))) as { rule_files: string[] };
  const rules = rule_files.map((file) => mountSource(prometheus, resolve(dirname(config), file)));
  expect(rules).toEqual(["charts/parley/files/alerts.yaml"]);
  await access(join(ROOT, String(rules[0])));
});

test("docker compose's Grafana loads the chart's dashboards", async () => {
  const { grafana } = services;
  const provisioning = mountSource(grafana, "/etc/grafana/provisioning/dashboards/parley.yml");
  const { providers } = (await read(provisioning)) as { providers: { options: { path: string } }[] };
  const folders = providers.map(({ options }) => mountSource(grafana, options.path));
  expect(folders).toEqual(["charts/parley/files/dashboards"]);
  await access(join(ROOT, String(folders[0])));
});
