import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { timed } from "./checks.ts";
import { type Installation, install } from "./installation.ts";

/** From the start of `helm upgrade` until it ends and names the value. */
const DEADLINE_MS = 30_000;

/** Typos that only the cluster can find. tools/chart/refused-values.chart.test.ts has those that helm refuses without it. */
const TYPOS: readonly [typo: string, set: string, named: string][] = [
  ["the database's host", "database.host=postgers.backends.svc.cluster.local", "chart: database.host"],
  ["the database's port", "database.port=5433", "database.port"],
  ["the database's name", "database.name=parlei", "chart: database.name"],
  ["the administrator's password", "migrations.admin.passwordKey=ADMIN_TOKEN", "chart: migrations.admin"],
  ["the Secret's name", "existingSecret=parlei", "existingSecret"],
  ["the mode of the database's TLS", "database.tls.mode=verify-full", "chart: database.tls"],
];

describe("typos in the values of a real cluster", () => {
  let installation: Installation;

  beforeAll(async () => {
    ({ installation } = await install());
  });
  afterAll(async () => {
    await installation.remove();
  });

  const upgrade = (...sets: string[]) =>
    installation
      .helm(
        ...["upgrade", "parley", "charts/parley", "--namespace", "parley", "--values", "values.yaml"],
        ...sets.flatMap((set) => ["--set", set]),
        ...["--wait", "--timeout", "5m"],
      )
      .then(
        () => "upgraded",
        (error: Error) => error.message,
      );

  it.each(TYPOS)("helm and the pod's status name the value within 30 s: %s", async (typo, set, named) => {
    const before = await installation.pods();
    const startedAt = performance.now();
    const output = await timed(`typo: ${typo}`, () => upgrade(set));
    expect(performance.now() - startedAt).toBeLessThan(DEADLINE_MS);
    expect(output).toContain(named);
    const status = await installation.kubectl(
      ...["get", "pods", "--selector", "app.kubernetes.io/component=migrations"],
      ...["--output", "jsonpath={.items[*].status.containerStatuses[*].state.terminated.message}"],
    );
    expect(status).toContain(named);
    const services = (pods: typeof before) => pods.filter(({ component }) => component !== "migrations");
    expect(services(await installation.pods())).toEqual(services(before));
  });

  it("helm prints a warning for an identity provider without an address, and helm test fails and names the value", async () => {
    // The values of the documentation name an identity provider that does not exist.
    await installation.runDocumented("upgrades.md", "");
    const test = installation.helm(
      ...["test", "parley", "--namespace", "parley", "--logs", "--filter", "name=parley-preflight"],
    );
    await expect(test).rejects.toThrow("(chart: sso.jwksUrl)");
  });
});
