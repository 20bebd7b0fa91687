import { readFile } from "node:fs/promises";
import { SHARD_CONNECTIONS } from "@parley/service-kit/migrations";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Manifest, ofKind, workloads } from "./manifest.ts";
import { renderChart, runHelmTemplate, valuesFile } from "./render.ts";

/** Lists the containers that have a variable, each with its workload's kind and the variable's value, for example "Deployment quota off". */
function variableByContainer(manifests: readonly Manifest[], variable: string): string[] {
  return workloads(manifests).flatMap(({ manifest, pod }) =>
    pod.containers.flatMap(({ name: container, env = [] }) =>
      env.flatMap(({ name, value }) => (name === variable ? [`${manifest.kind} ${container} ${value}`] : [])),
    ),
  );
}

it("uses the second set of database roles and passwords in the services and the migrations if database.roleSet is 2", async () => {
  const { manifests } = await renderChart("minimal", ["database.roleSet=2"]);
  const variables = workloads(manifests).flatMap(({ pod }) => pod.containers.flatMap(({ env = [] }) => env));
  const valuesOf = (name: string) =>
    variables.filter((each) => each.name === name).map(({ value, valueFrom }) => value ?? valueFrom?.secretKeyRef?.key);
  expect(valuesOf("DATABASE_ROLE_SUFFIX")).toEqual(["_2", "_2", "_2"]);
  const keys = ["CONVERSATION", "LLM", "QUOTA"].map((service) => `${service}_DATABASE_PASSWORD_2`);
  expect(valuesOf("DATABASE_PASSWORD").sort()).toEqual(keys);
  expect(
    valuesOf("PGPASSWORD")
      .filter((key) => key !== "DATABASE_ADMIN_PASSWORD")
      .sort(),
  ).toEqual(keys);
  const roles = valuesOf("DATABASE_URL").flatMap((url) => /parley_\w+(?=@)/.exec(url ?? "") ?? []);
  expect(roles.sort()).toEqual(["parley_conversation_2", "parley_llm_2", "parley_quota_2"]);
});

it("names the services' roles after database.rolePrefix, and gives the migrations the prefix and the installation's name", async () => {
  const { manifests } = await renderChart("minimal", ["database.rolePrefix=shop_"]);
  const users = variableByContainer(manifests, "DATABASE_URL").flatMap((each) => /shop_\w+(?=@)/.exec(each) ?? []);
  expect(users.sort()).toEqual(["shop_conversation", "shop_llm", "shop_quota"]);
  const jobValues = (name: string) => variableByContainer(manifests, name).map((each) => each.split(" ").at(-1));
  expect(jobValues("DATABASE_ROLE_PREFIX")).toEqual(["shop_", "shop_", "shop_"]);
  expect(new Set(jobValues("PARLEY_INSTALLATION"))).toEqual(new Set(["chat/parley"]));
});

it.each(["Shop_", "1shop_", "shop-", "", "a".repeat(41)])("refuses the role prefix %j", async (prefix) => {
  await expect(renderChart("minimal", [`database.rolePrefix=${prefix}`])).rejects.toThrow("/database/rolePrefix");
});

it("connects a service and its migrations to the service's own databaseHost, and the other services to database.host", async () => {
  const { manifests } = await renderChart("minimal", ["conversation.databaseHost=conversations.example.com"]);
  const hosts = variableByContainer(manifests, "DATABASE_URL").map((each) => each.replace(/\S+@([^:]*):.*$/, "$1"));
  const { database } = parse(await readFile(valuesFile("minimal"), "utf8")) as { database: { host: string } };
  expect(hosts.filter((each) => !each.endsWith(` ${database.host}`))).toEqual([
    "Deployment conversation conversations.example.com",
    "Job conversation conversations.example.com",
  ]);
  expect(hosts).toHaveLength(6);
});

it("connects the services to a pooler and the migrations to the servers behind it", async () => {
  const { manifests } = await renderChart("minimal", [
    ...["database.host=pooler.example.com", "database.port=6543", "database.userSuffix=.tenant"],
    ...["migrations.database.host=server.example.com", "migrations.database.port=5432"],
    ...[
      "conversation.databaseHost=pooler-2.example.com",
      "migrations.database.hosts.conversation=server-2.example.com",
    ],
  ]);
  const servers = variableByContainer(manifests, "DATABASE_URL").map((each) =>
    each.replace(/postgres:\/\/(.*)\/.*$/, "$1"),
  );
  expect(new Set(servers)).toEqual(
    new Set([
      "Deployment conversation parley_conversation.tenant@pooler-2.example.com:6543",
      "Deployment quota parley_quota.tenant@pooler.example.com:6543",
      "Deployment llm-proxy parley_llm.tenant@pooler.example.com:6543",
      "Job conversation $(DATABASE_ADMIN_USERNAME)@server-2.example.com:5432",
      "Job quota $(DATABASE_ADMIN_USERNAME)@server.example.com:5432",
      "Job llm-proxy $(DATABASE_ADMIN_USERNAME)@server.example.com:5432",
    ]),
  );
});

it("turns prepared statements off in the services, but not in their migrations, with database.preparedStatements=false", async () => {
  const { manifests } = await renderChart("minimal", ["database.preparedStatements=false"]);
  const settings = variableByContainer(manifests, "DATABASE_PREPARED_STATEMENTS");
  expect(settings).toEqual(["Deployment conversation off", "Deployment llm-proxy off", "Deployment quota off"]);
});

it("refuses replicas and pools that may open more than database.maxConnections connections during a rollout", async () => {
  const sets = [
    "conversation.replicas=9,conversation.databasePool=20", // 9 + 3 in a rollout
    "quota.autoscaling.enabled=true,quota.autoscaling.maxReplicas=4", // 4 + 1
    "llmProxy.databaseHost=calls.example.com", // on a server of its own, so not counted
  ];
  const refused = await runHelmTemplate("minimal", [...sets, "database.maxConnections=289"]);
  expect(refused.code).toBe(1);
  expect(refused.output).toContain(
    "may open 290 database connections during a rollout, and database.maxConnections is 289: " +
      "conversation (9 + 3) × 20, quota (4 + 1) × 10. Each term is (replicas + surge) × databasePool. " +
      "The connections of draining pods are not included. Lower databasePool",
  );
  expect((await runHelmTemplate("minimal", [...sets, "database.maxConnections=290"])).code).toBe(0);
});

describe("with database.router", () => {
  const router = [
    "database.router.enabled=true",
    "database.router.host=router.example.com",
    "database.router.shards=16",
  ];

  it("connects the services and the migrations to the router, and gives them the number of shards", async () => {
    const { manifests } = await renderChart("minimal", [...router, "database.router.port=6432"]);
    const addresses = variableByContainer(manifests, "DATABASE_URL").map((each) => /@(\S+)\//.exec(each)?.[1]);
    expect(addresses).toEqual(Array.from({ length: 6 }, () => "router.example.com:6432"));
    const shards = variableByContainer(manifests, "DATABASE_SHARDS").map((each) => each.split(" "));
    expect(shards.map(([kind, , number]) => [kind, number]).sort()).toEqual([
      ...Array.from({ length: 3 }, () => ["Deployment", "16"]),
      ...Array.from({ length: 3 }, () => ["Job", "16"]),
    ]);
  });

  it("connects the migrations to a router of their own, and every connection to database.port by default", async () => {
    const { manifests } = await renderChart("minimal", [...router, "migrations.database.host=session.example.com"]);
    const addresses = variableByContainer(manifests, "DATABASE_URL").map((each) => /@(\S+)\//.exec(each)?.[1]);
    const [own, services] = ["session.example.com:5432", "router.example.com:5432"];
    expect(addresses.sort()).toEqual([services, services, services, own, own, own]);
  });

  it("lets the network policies permit the router's port at the peers of networkPolicy.database", async () => {
    const { manifests } = await renderChart("production", [
      ...router,
      "database.router.port=6432",
      "database.maxConnections=2000",
    ]);
    const rules = ofKind(manifests, "NetworkPolicy").map((policy) => [
      policy.metadata.labels?.["app.kubernetes.io/component"],
      JSON.stringify(policy.spec.egress).includes(
        '"ports":[{"port":6432,"protocol":"TCP"}],"to":[{"namespaceSelector"',
      ),
    ]);
    const permitted = rules.filter(([, isPermitted]) => isPermitted).map(([component]) => component);
    expect(permitted.sort()).toEqual(["conversation", "llm-proxy", "migrations", "quota"]);
  });

  it("counts a pool for each shard in the sum of the connections", async () => {
    const sets = [...router, "conversation.replicas=9", "llmProxy.databasePool=5"];
    const perReplica = SHARD_CONNECTIONS * 16;
    const sum = (9 + 3) * (10 + perReplica) + (2 + 1) * (5 + perReplica) + (2 + 1) * (10 + perReplica);
    const refused = await runHelmTemplate("minimal", [...sets, `database.maxConnections=${sum - 1}`]);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain(
      `may open ${sum} database connections during a rollout, and database.maxConnections is ${sum - 1}: ` +
        `conversation (9 + 3) × (10 + ${perReplica}), llm-proxy (2 + 1) × (5 + ${perReplica}), quota (2 + 1) × (10 + ${perReplica}). ` +
        "Each term is (replicas + surge) × (databasePool + 4 × database.router.shards). ",
    );
    expect((await runHelmTemplate("minimal", [...sets, `database.maxConnections=${sum}`])).code).toBe(0);
  });

  it.each([
    ["database.router.host=", "database.router.host is empty"],
    ["database.router.shards=1", "database.router.shards is below 2"],
    ["database.router.shards=65", "/database/router/shards"],
    ["llmProxy.databaseHost=calls.example.com", "Remove llmProxy.databaseHost and migrations.database.hosts.llmProxy"],
    ["migrations.database.hosts.quota=quota.example.com", "Remove quota.databaseHost"],
  ])("refuses %s", async (set, reason) => {
    const { code, output } = await runHelmTemplate("minimal", [...router, set]);
    expect(code).toBe(1);
    expect(output).toContain(reason);
  });
});
