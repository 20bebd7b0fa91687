import { PREFLIGHT_EXIT_CODE } from "@parley/service-kit/migrations";
import { describe, expect, it } from "vitest";
import { type Manifest, nameOf, ofKind, podTemplate } from "./manifest.ts";
import { renderChart, runHelmTemplate } from "./render.ts";

const byName = (a: string, b: string) => (a < b ? -1 : 1);

it("makes the migrations a PreSync hook of Argo CD, and keeps a failed Job until the next sync", async () => {
  const { manifests } = await renderChart("minimal");
  const hooks = manifests.flatMap(({ kind, metadata: { annotations = {} } }) => {
    const argo = (name: string) => annotations[`argocd.argoproj.io/${name}`];
    return argo("hook") === undefined ? [] : [[kind, argo("hook"), argo("sync-wave"), argo("hook-delete-policy")]];
  });
  const policy = "BeforeHookCreation,HookSucceeded";
  expect(hooks.sort()).toEqual([
    ["Job", "PreSync", "-5", policy],
    ["NetworkPolicy", "PreSync", "-10", policy],
    ["ServiceAccount", "PreSync", "-10", policy],
  ]);
  const [job] = ofKind(manifests, "Job") as [Manifest];
  expect(job.metadata.name).toBe("parley-migrations");
  expect(job.spec).not.toHaveProperty("ttlSecondsAfterFinished");
});

it("fails the hook at once if its checks fail, and starts it even if a key of the Secret is missing, which they report", async () => {
  const { manifests } = await renderChart("minimal");
  const [job] = ofKind(manifests, "Job") as [Manifest];
  const rules = [{ action: "FailJob", onExitCodes: { operator: "In", values: [PREFLIGHT_EXIT_CODE] } }];
  expect(job.spec.podFailurePolicy).toEqual({ rules });
  const variables = podTemplate(job)?.spec.containers.flatMap(({ env = [] }) => env) ?? [];
  const references = variables.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
  expect(references).toHaveLength(9);
  expect(references.filter((reference) => !("optional" in reference))).toEqual([]);
});

/** Returns the preflight's container in the migration Job and in the test, and the edge's variables. */
async function renderPreflight(values: string, ...sets: string[]) {
  const { manifests } = await renderChart(values, sets);
  const find = (name: string) => {
    const pod = podTemplate(manifests.find((manifest) => nameOf(manifest) === name) as Manifest)?.spec;
    const container = pod?.containers.find((each) => ["preflight", "edge"].includes(each.name));
    return { volumes: pod?.volumes ?? [], command: container?.command, env: container?.env ?? [] };
  };
  return {
    job: find("Job parley-migrations"),
    test: find("Pod parley-preflight"),
    edge: find("Deployment parley-edge"),
  };
}

it.each(["minimal", "gateway-api", "production", "openshift"])(
  "runs the preflight in the Job and strictly in `helm test`, with the edge's variables, with %s values",
  async (values) => {
    const { job, test, edge } = await renderPreflight(values);
    expect(job.command).toEqual(["node", "src/preflight.ts"]);
    expect(test.command).toEqual(["node", "src/preflight.ts", "--strict"]);
    for (const { env } of [job, test]) for (const variable of env) expect(edge.env).toContainEqual(variable);
    const checked = /^(INTERNAL_TOKEN|JWT_|JWKS_|REDIS_|GRPC_TLS|EDGE_RPC_TLS)/;
    const names = (env: typeof edge.env) => env.map(({ name }) => name).filter((name) => checked.test(name));
    expect(names(test.env).toSorted(byName)).toEqual(names(edge.env).toSorted(byName));
  },
);

it("checks each service's own certificate in the Job if they exist before the installation", async () => {
  const { manifests } = await renderChart("production", ["mtls.certManager=false"]);
  const [job] = ofKind(manifests, "Job") as [Manifest];
  const { containers = [], volumes = [] } = podTemplate(job)?.spec ?? {};
  const checked = containers.map(({ name, env = [], volumeMounts = [] }) => {
    const mount = (volumeMounts as { name: string; mountPath: string }[]).find(
      ({ mountPath }) => mountPath === env.find((variable) => variable.name === "GRPC_TLS_DIR")?.value,
    );
    const secret = volumes.find((volume) => volume.name === mount?.name)?.secret;
    return [name, secret?.secretName, env.find((variable) => /_TLS_NAME$/.test(variable.name))?.value];
  });
  expect(checked).toEqual([
    ...["conversation", "quota", "llm-proxy"].map((name) => [name, `parley-${name}-tls`, `parley-${name}.chat.svc`]),
    ["preflight", "parley-edge-tls", "parley-edge.chat.svc"],
  ]);
});

it("checks the edge's certificate in the Job only if it exists before the installation", async () => {
  const own = await renderPreflight("production", "mtls.certManager=false");
  expect(own.job.volumes).toContainEqual(
    expect.objectContaining({ secret: { secretName: "parley-edge-tls", defaultMode: 288, optional: true } }),
  );
  expect(own.job.env.map(({ name }) => name)).toContain("GRPC_TLS_DIR");
  const { job } = await renderPreflight("production");
  expect(job.volumes.map(({ name }) => name)).not.toContain("tls");
  expect(job.env.map(({ name }) => name)).not.toContain("GRPC_TLS_DIR");
});

it("waits for the Secret and retries without a hook, because the Job may start before both the Secret and the database", async () => {
  const { manifests } = await renderChart("trial");
  const job = ofKind(manifests, "Job").find((manifest) => nameOf(manifest).includes("-migrations-")) as Manifest;
  expect(job.spec).not.toHaveProperty("podFailurePolicy");
  expect(JSON.stringify(podTemplate(job))).not.toContain('"optional"');
});

async function renderAnnotations(values: string, ...annotations: string[]) {
  const sets = annotations.map((annotation) => `migrations.serviceAccountAnnotations.${annotation}`);
  const { manifests } = await renderChart(values, sets);
  const account = ofKind(manifests, "ServiceAccount").find((manifest) => nameOf(manifest).endsWith("-migrations"));
  return account?.metadata.annotations;
}

it.each([
  ["with a hook", "minimal"],
  ["without a hook", "single-namespace-restricted"],
])("%s, the migrations' ServiceAccount gets the annotations that the values set", async (_, values) => {
  const expected = { "example.com/role": "migrations" };
  expect(await renderAnnotations(values, "example\\.com/role=migrations")).toMatchObject(expected);
});

it("does not let a value replace a hook annotation of the ServiceAccount", async () => {
  const changed = await renderAnnotations("minimal", "helm\\.sh/hook-delete-policy=never");
  expect(changed).toEqual(await renderAnnotations("minimal"));
});

it("writes activeDeadlineSeconds as a whole number, which Kubernetes requires", async () => {
  // Helm reads the numbers of a values file and of --set-json as floats. It prints a float of a million or more with an exponent.
  const flags = ["--set-json", "migrations.activeDeadlineSeconds=1209600"];
  const { output } = await runHelmTemplate("minimal", [], flags);
  expect(/activeDeadlineSeconds: (.*)/.exec(output)?.[1]).toBe("1209600");
});

describe("the migration Job without a hook", () => {
  const renderJob = async (...sets: string[]) => {
    const { manifests } = await renderChart("single-namespace-restricted", sets);
    const hooks = manifests.filter(({ metadata }) => (metadata.annotations?.["helm.sh/hook"] ?? "test") !== "test");
    expect(hooks.map(nameOf)).toEqual([]);
    const [job] = ofKind(manifests, "Job") as [Manifest];
    return { name: job.metadata.name, spec: job.spec };
  };

  it("stays the same in an upgrade and with changed values that do not affect it", async () => {
    const job = await renderJob();
    expect(job.name).toMatch(/^chat-migrations-[0-9a-f]{8}$/);
    expect(await renderJob("edge.replicas=3", "networkPolicy.enabled=false")).toEqual(job);
    const { code, output } = await runHelmTemplate("single-namespace-restricted", [], ["--is-upgrade"]);
    expect(code, output).toBe(0);
    expect(output).toContain(`name: ${job.name}\n`);
  });

  it.each([
    "image.tag=9.9.9",
    "quota.image.digest=sha256:0000000000000000000000000000000000000000000000000000000000000000",
    "migrations.database.host=server.example.com",
    "migrations.activeDeadlineSeconds=900",
    "pod.annotations.example=changed",
    "commonLabels.team=other",
  ])("has another name with %s, because Kubernetes does not permit changes of a Job", async (set) => {
    const [before, after] = [await renderJob(), await renderJob(set)];
    expect(after.spec).not.toEqual(before.spec);
    expect(after.name).not.toBe(before.name);
  });

  it("has no comment in its rendered spec, so that an edited comment does not change its name", async () => {
    const { output } = await runHelmTemplate(
      "single-namespace-restricted",
      [],
      ["--show-only", "templates/migrations/job.yaml"],
    );
    const spec = output.slice(output.indexOf("\nspec:"));
    expect(spec).toContain("backoffLimit: 4");
    expect(spec.match(/^ *#.*/gm)).toBeNull();
  });

  it("has no TTL, because a GitOps tool would create the deleted Job again", async () => {
    expect((await renderJob()).spec).not.toHaveProperty("ttlSecondsAfterFinished");
  });
});
