import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describeWith, prometheusCommands } from "@parley/test-support";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse, stringify } from "yaml";
import { runHelm } from "./helm.ts";
import { type Manifest, nameOf, ofKind, parseManifests } from "./manifest.ts";
import { dashboardFiles, ruleGroups } from "./monitoring.ts";
import { CHART, renderChart, valuesFile } from "./render.ts";

const ROOT = join(CHART, "../..");

/** The second installation differs from the first only in the namespace, and the third differs from the first only in the release. */
const INSTALLATIONS = [
  { release: "parley", namespace: "chat" },
  { release: "parley", namespace: "shop" },
  { release: "parley-two", namespace: "chat" },
];

const RUNBOOKS = "https://git.example.com/parley/blob/main/docs/operations/runbooks/";

type Dashboard = {
  uid: string;
  title: string;
  tags: string[];
  templating: { list: { name: string }[] };
  links: { tags: string[] }[];
};

let installations: Manifest[][];

beforeAll(async () => {
  installations = await Promise.all(INSTALLATIONS.map(renderInstallation));
});

async function renderInstallation({ release, namespace }: (typeof INSTALLATIONS)[number]): Promise<Manifest[]> {
  const { code, output } = await runHelm(
    ...["template", release, CHART, "--namespace", namespace, "--values", valuesFile("production")],
  );
  if (code !== 0) throw new Error(output);
  return parseManifests(output);
}

/** Evaluates the rules of all installations together, as one Prometheus would. Returns promtool's output. */
async function testRules(input_series: object[], expected: object): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-rules-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const groups = installations.flatMap((manifests, index) =>
    ruleGroups(manifests).map((group) => ({ ...group, name: `${group.name}-${index}` })),
  );
  await writeFile(join(folder, "rules.yaml"), stringify({ groups }));
  const tests = [{ interval: "1m", input_series, alert_rule_test: [expected] }];
  await writeFile(join(folder, "cases.yaml"), stringify({ rule_files: ["rules.yaml"], tests }));
  const promtool = prometheusCommands()?.promtool ?? "promtool";
  const run = promisify(execFile)(promtool, ["test", "rules", join(folder, "cases.yaml")]);
  return run.then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );
}

describe("several installations", () => {
  it("read only their own series in every rule", async () => {
    const rules = ruleGroups(installations[2] ?? []).flatMap((group) => group.rules);
    const isPlatform = /^(?:kube|container|certmanager)_/;
    const selectors = rules.flatMap(({ expr }) => expr.match(/\b[\w:]+\{[^}]*/g) ?? []);
    const unselected = rules.flatMap(
      ({ expr }) =>
        expr.match(
          /\b(?:parley[_:][\w:]+|gen_ai_\w+_(?:bucket|count|sum)|nodejs_\w+|process_\w+|up)\b(?![{\w:])[^}]{0,40}/g,
        ) ?? [],
    );
    expect(unselected).toEqual([]);
    const series = selectors.filter((each) => !isPlatform.test(each));
    expect(series.length).toBeGreaterThan(80);
    expect(series.filter((each) => !each.includes('{namespace="chat", release="parley-two"'))).toEqual([]);
    const platformSeries = rules.flatMap(
      ({ expr }) => expr.match(/\b(?:kube|container|certmanager)_\w+\{?[^}]*/g) ?? [],
    );
    expect(platformSeries.length).toBeGreaterThan(5);
    expect(platformSeries.filter((each) => !/\{(exported_)?namespace="chat", \w+=~"parley-two-/.test(each))).toEqual(
      [],
    );
    expect(rules.map(({ labels }) => [labels.namespace, labels.release])).toEqual(
      rules.map(() => ["chat", "parley-two"]),
    );
  });

  it("select only their own series in expressions with gen_ai_ metrics, and leave labels with that prefix unchanged", async () => {
    const expr = "sum by (gen_ai_provider_name, le) (rate(gen_ai_client_operation_duration_seconds_bucket[5m]))";
    const object = `kind: ConfigMap\ndata: { expr: '{{ include "parley.installationExpr" (dict "root" $ "expr" "${expr}") }}' }`;
    const { code, output } = await runHelm(
      ...["template", "parley", CHART, "--namespace", "chat", "--values", valuesFile("minimal")],
      ...["--set-json", `extraObjects=${JSON.stringify([object])}`],
    );
    expect(code, output).toBe(0);
    const [own] = ofKind(parseManifests(output), "ConfigMap").flatMap(
      ({ data }) => (data as { expr?: string }).expr ?? [],
    );
    expect(own).toBe(expr.replace("_bucket", '_bucket{namespace="chat", release="parley"}'));
  });

  it("give their dashboards different uids, titles, tags and file names", async () => {
    const files = installations.flatMap(dashboardFiles);
    const dashboards = files.map(([, json]) => JSON.parse(json) as Dashboard);
    expect(files).toHaveLength(9);
    expect(new Set(files.map(([name]) => name)).size).toBe(9);
    expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(9);
    expect(new Set(dashboards.map(({ title }) => title)).size).toBe(9);
    expect(dashboards.filter(({ uid }) => uid.length > 40)).toEqual([]); // Grafana's maximum
    expect(new Set(dashboards.map(({ tags }) => tags[1])).size).toBe(INSTALLATIONS.length);
    for (const { tags, links } of dashboards) expect(tags).toEqual(["parley", ...(links[0]?.tags ?? [])]);
  });

  it("show only their own series in their dashboards, without a choice of namespaces", async () => {
    const files = dashboardFiles(installations[2] ?? []);
    for (const [name, json] of files) {
      const dashboard = JSON.parse(json) as Dashboard;
      expect(dashboard.templating.list.map((variable) => variable.name)).toEqual(["datasource"]);
      const selectors = json.match(/namespace[=~]+\\"[^,}]*, release[^,}]*/g) ?? [];
      expect(json, name).not.toContain("$namespace");
      expect(new Set(selectors)).toEqual(new Set(['namespace=\\"chat\\", release=\\"parley-two\\"']));
    }
  });

  describeWith("prometheus", "in one Prometheus", () => {
    it("fire an alert about a missing edge only in the installation whose edge is missing", async () => {
      const targets = INSTALLATIONS.flatMap(({ release, namespace }) =>
        ["edge", "conversation", "quota", "llm-proxy"].map((service) => {
          const labels = `application="parley", service="${service}", namespace="${namespace}", release="${release}"`;
          const isMissing = service === "edge" && release === "parley-two";
          return { series: `up{${labels}}`, values: isMissing ? "_x10" : "1x10" };
        }),
      );
      const missing = {
        exp_labels: { severity: "page", service: "edge", namespace: "chat", release: "parley-two" },
        exp_annotations: {
          summary: "No replica of edge responds",
          description: "No replica of edge responds to Prometheus.",
          runbook_url: `${RUNBOOKS}ParleyServiceMissing.md`,
        },
      };
      const expected = { eval_time: "5m", alertname: "ParleyServiceMissing", exp_alerts: [missing] };
      expect(await testRules(targets, expected)).toContain("SUCCESS");
    });

    it("fire an alert about a pod's memory only in the pod's installation", async () => {
      const memory = INSTALLATIONS.flatMap(({ release, namespace }) => {
        const labels = `namespace="${namespace}", pod="${release}-edge-5d9c7-x2x4z", container="edge"`;
        const bytes = release === "parley-two" ? 95 : 50;
        return [
          { series: `container_memory_working_set_bytes{${labels}}`, values: `${bytes}x20` },
          { series: `kube_pod_container_resource_limits{${labels}, resource="memory"}`, values: "100x20" },
        ];
      });
      const pod = "parley-two-edge-5d9c7-x2x4z";
      const nearLimit = {
        exp_labels: { severity: "ticket", pod, container: "edge", namespace: "chat", release: "parley-two" },
        exp_annotations: {
          summary: `${pod} is near its memory limit`,
          description: "Container edge uses 95% of its limit. At 100 % the kernel kills it.",
          runbook_url: `${RUNBOOKS}ParleyMemoryNearLimit.md`,
        },
      };
      const expected = { eval_time: "15m", alertname: "ParleyMemoryNearLimit", exp_alerts: [nearLimit] };
      expect(await testRules(memory, expected)).toContain("SUCCESS");
    });
  });
});

describe("the chart", () => {
  it("can be packaged", async () => {
    const folder = await mkdtemp(join(tmpdir(), "parley-chart-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { code, output } = await runHelm("package", CHART, "--destination", folder);
    expect(code, output).toBe(0);
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^parley-.*\.tgz$/)]);
  });
});

describe("the hooks", () => {
  it("of the migrations are deleted when they succeed, and remain when they fail, so that the cause can be read", async () => {
    const { manifests } = await renderChart("production");
    const hooks = manifests.filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"]?.startsWith("pre-install"));
    expect(hooks.map(nameOf)).toHaveLength(3);
    for (const hook of hooks)
      expect(hook.metadata.annotations?.["helm.sh/hook-delete-policy"], nameOf(hook)).toBe(
        "before-hook-creation,hook-succeeded",
      );
  });

  it("let helm print the log of the migrations, also of successful ones, because it contains the preflight's warnings", async () => {
    const [job] = ofKind((await renderChart("production")).manifests, "Job");
    expect(job?.metadata.annotations?.["helm.sh/hook-output-log-policy"]).toBe("hook-succeeded,hook-failed");
  });
});

describe("the notes", () => {
  async function notes(name: string, ...sets: string[]): Promise<string> {
    const { code, output } = await runHelm(
      ...["install", "parley", CHART, "--dry-run=client", "--namespace", "chat", "--values", valuesFile(name)],
      ...sets.flatMap((set) => ["--set", set]),
    );
    expect(code, output).toBe(0);
    return output.slice(output.indexOf("NOTES:"));
  }

  it("give an https URL for an Ingress with TLS, and an http URL for one without", async () => {
    expect(await notes("production")).toContain("Visitors reach Parley at https://chat.example.com\n");
    expect(await notes("production", "ingress.tls=null")).toContain(
      "Visitors reach Parley at http://chat.example.com\n",
    );
  });

  it("give a host name without a scheme behind a Gateway, unless doctor.url is set", async () => {
    expect(await notes("gateway-api")).toContain("through the Gateway at chat.example.com\n");
    expect(await notes("gateway-api", "doctor.url=https://a.example")).toContain("the Gateway at https://a.example\n");
    expect(await notes("gateway-api", "httpRoute.hostnames=null")).toContain("through the Gateway\n");
  });

  it("name the test of Redis, the identity provider and the certificate, except in a trial, which has none of them", async () => {
    const test = "helm --namespace chat test parley --logs";
    const minimal = await notes("minimal");
    expect(minimal).toContain("the identity provider (sso.jwksUrl), run this command");
    expect(minimal).toContain(test);
    expect(await notes("production")).toContain(
      "Redis (redis) and the identity provider (sso.jwksUrl), and that its cert",
    );
    expect(await notes("trial")).not.toContain(test);
  });

  it("name the maximum number of edge replicas if Redis is off, because each replica then counts rate limits separately", async () => {
    const notesOf = (...sets: string[]) => notes("minimal", "redis.enabled=false", ...sets);
    const times = (count: number) => `With ${count} replicas, a visitor may send ${count} times the limit.`;
    expect(await notesOf("edge.replicas=4")).toContain(times(4));
    const autoscaling = ["enabled=true", "minReplicas=1", "maxReplicas=7"].map((set) => `edge.autoscaling.${set}`);
    expect(await notesOf("edge.replicas=1", ...autoscaling)).toContain(times(7));
    expect(await notesOf("edge.replicas=1")).not.toContain("Redis");
  });
});

describe("the documents", () => {
  it("give helm a timeout above the deadline of the migration Job", async () => {
    const { migrations } = parse(await readFile(join(CHART, "values.yaml"), "utf8")) as {
      migrations: { activeDeadlineSeconds: number };
    };
    const all = [
      ...(await readdir(join(ROOT, "docs"), { recursive: true })).map((file) => `docs/${file}`),
      ...["README.md", "charts/parley/README.md"],
    ];
    const files = all.filter((file) => /\.md$/.test(file));
    const commands = await Promise.all(
      files.map(async (file) => {
        const text = (await readFile(join(ROOT, file), "utf8")).replaceAll("\\\n", "");
        return (
          text.match(/^.*\bhelm (--\S+ .* )?(install|upgrade) parley .*--.*$/gm)?.map((line) => `${file}: ${line}`) ??
          []
        );
      }),
    );
    expect(commands.flat().length).toBeGreaterThanOrEqual(7);
    const tooShort = commands.flat().filter((command) => {
      const minutes = Number(/--timeout (\d+)m/.exec(command)?.[1] ?? 5); // helm's default
      return minutes * 60 <= migrations.activeDeadlineSeconds;
    });
    expect(tooShort).toEqual([]);
  });
});
