import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Manifest, parseManifests } from "../../tools/chart/manifest.ts";
import { CHART, listValuesNames, valuesFile } from "../../tools/chart/render.ts";
import { schemaProblems } from "../../tools/chart/validate.ts";
import { timed } from "./checks.ts";
import { run, succeeds } from "./commands.ts";

const NAMESPACE = "values";
const PRIORITY_CLASS = "business-critical";
const valuesNames = await listValuesNames();

describe("the values files of the chart on a real API server", () => {
  const createdCrds: string[] = [];
  let servedKinds: Set<string>;

  beforeAll(async () => {
    await run("kubectl", ["create", "namespace", NAMESPACE]);
    const levels = ["enforce", "warn"].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
    await run("kubectl", ["label", "namespace", NAMESPACE, ...levels]);
    // The class that production-values.yaml names.
    await run("kubectl", ["create", "priorityclass", PRIORITY_CLASS, "--value=1"]);
    await createCrds();
    servedKinds = await listKinds();
  });
  afterAll(async () => {
    await run("kubectl", ["delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false"]);
    await run("kubectl", ["delete", "priorityclass", PRIORITY_CLASS]);
    if (createdCrds.length > 0) await run("kubectl", ["delete", ...createdCrds]);
  });

  /** Creates the CustomResourceDefinitions that the cluster lacks, if main.ts has downloaded them. */
  async function createCrds(): Promise<void> {
    const folder = process.env.PARLEY_CLUSTER_CRDS;
    for (const file of folder === undefined ? [] : await readdir(folder)) {
      // The file's name is GROUP_PLURAL.yaml.
      const [group = "", plural = ""] = file.replace(/\.yaml$/, "").split("_");
      const crd = `customresourcedefinition/${plural}.${group}`;
      if (await succeeds("kubectl", ["get", crd])) continue;
      await run("kubectl", ["create", "--filename", join(folder ?? "", file)]);
      createdCrds.push(crd);
      // Until the object has a status, `kubectl wait` fails without waiting.
      const wait = ["wait", "--for=condition=Established", crd, "--timeout=1s"];
      await vi.waitUntil(() => succeeds("kubectl", wait), { timeout: 30_000, interval: 200 });
    }
  }

  async function listKinds(): Promise<Set<string>> {
    const lines = (await run("kubectl", ["api-resources", "--no-headers"])).trim().split("\n");
    // The columns: name, short names (may be absent), API version, namespaced, kind.
    return new Set(
      lines.map((line) => line.trim().split(/\s+/)).map((columns) => `${columns.at(-3)}/${columns.at(-1)}`),
    );
  }

  async function apply(items: readonly Manifest[], ...flags: string[]): Promise<void> {
    const options = ["--namespace", NAMESPACE, "--server-side", "--warnings-as-errors", ...flags, "--filename", "-"];
    await run("kubectl", ["apply", ...options], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  }

  it.each(valuesNames)("%s-values.yaml is accepted without a warning", async (name) => {
    await run("helm", ["lint", "--strict", CHART, "--values", valuesFile(name)]);
    const template = ["template", "parley", CHART, "--namespace", NAMESPACE, "--values", valuesFile(name)];
    const manifests = parseManifests(await run("helm", template));
    const isServed = ({ apiVersion, kind }: Manifest) => servedKinds.has(`${apiVersion}/${kind}`);
    const served = manifests.filter(isServed);
    const notServed = manifests.filter((manifest) => !isServed(manifest));
    // A Pod needs its ServiceAccount, even in a dry run.
    await apply(served.filter(({ kind }) => kind === "ServiceAccount"));
    await timed(
      `server-side dry run of ${name}-values.yaml`,
      () => apply(served, "--dry-run=server"),
      () => {
        const kinds = [...new Set(notServed.map(({ kind }) => kind))].join(", ");
        return `${served.length} objects${kinds === "" ? "" : `, ${notServed.length} other objects checked only by schema (${kinds})`}`;
      },
    );
    expect(schemaProblems(notServed)).toEqual([]);
  });
});
