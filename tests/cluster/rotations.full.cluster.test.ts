import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { run } from "./commands.ts";
import { readBlock } from "./documentation.ts";
import { type Installation, install, type Tenant } from "./installation.ts";

const STEPS = ["1. Accept the new token", "2. Send the new token", "3. Remove the old token"];

describe("rotations on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let checkLoad: ReturnType<typeof createLoadCheck>;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
    checkLoad = createLoadCheck(installation, tenant);
  });
  afterAll(async () => {
    await installation.remove();
  });

  it("replaces the tokens without a failed stream and without a new pod", async () => {
    const before = await installation.pods();
    const oldTokens = await installation.readSecret("INTERNAL_TOKEN", "ADMIN_TOKEN");
    const report = await timed(
      "rotation of the tokens under load",
      () =>
        installation.underLoad(tenant, async () => {
          for (const step of STEPS) {
            await installation.runDocumented("rotation.md", step);
            // Checks that an admin call with the cli pod's current token succeeds.
            await installation.parley("usage-audit", "--check");
          }
        }),
      describeStreams,
    );
    expect(await installation.pods()).toEqual(before);
    for (const component of ["edge", "conversation", "quota", "llm-proxy"])
      for (const name of podsOf(component, before)) {
        const reloads = (await installation.kubectl("logs", name)).split("secret reloaded").length - 1;
        expect(reloads, name).toBeGreaterThanOrEqual(STEPS.length);
      }
    const newTokens = await installation.readSecret("INTERNAL_TOKEN", "ADMIN_TOKEN");
    for (const [index, token] of newTokens.entries()) {
      expect(token).toMatch(/^[0-9a-f]{64}$/);
      expect(token).not.toBe(oldTokens[index]);
    }
    await checkLoad(report);
    const sendOldToken = `fetch(process.env.PARLEY_QUOTA_URL + "/parley.quota.v1.WorkspaceAdminService/ListWorkspaces", {
      method: "POST", body: "{}",
      headers: { "content-type": "application/json", authorization: "Bearer ${oldTokens[1]}" },
    }).then(({ status }) => console.log(status))`;
    expect(await installation.inCliPod("node", "--eval", sendOldToken)).toBe("401\n");
  });

  it("replaces the database passwords without a failed stream", async () => {
    const report = await timed(
      "rotation of the database passwords under load",
      () =>
        installation.underLoad(tenant, async () => {
          await installation.runDocumented("rotation.md", "4. Add passwords for the other roles");
          await installation.runDocumented("rotation.md", "5. Use the other roles", { database: { roleSet: 2 } });
          await installation.runDocumented("rotation.md", "6. Lock the old roles", { database: { roleSet: 2 } });
          await installation.runDocumentedSql("rotation.md", "6. Lock the old roles");
        }),
      describeStreams,
    );
    await checkLoad(report);
  });

  it("replaces a provider's key without a failed stream and without a new pod", async () => {
    const before = await installation.pods();
    const script = await readBlock("rotation.md", "Keys of other systems", "sh");
    const report = await timed(
      "rotation of a provider's key under load",
      () => installation.underLoad(tenant, async () => void (await installation.shell(script.replace("…", "sk-new")))),
      describeStreams,
    );
    expect(await installation.pods()).toEqual(before);
    await checkLoad(report);
    for (const name of podsOf("llm-proxy", before)) {
      expect(await installation.kubectl("exec", name, "--", "cat", "/etc/parley/secrets/OPENAI_API_KEY")).toBe(
        "sk-new",
      );
      expect(await installation.kubectl("logs", name)).toContain("provider settings reloaded");
    }
  });

  it("replaces the password of Redis without a failed stream and without a new pod, and every edge replaces its connection once per change of the password", async () => {
    const before = await installation.pods();
    await redis("", "ACL", "SETUSER", "default", "resetpass", ">old");
    await useRedisPassword("old");
    const report = await timed(
      "rotation of Redis' password under load",
      () =>
        installation.underLoad(tenant, async () => {
          await redis("old", "ACL", "SETUSER", "default", ">new");
          await useRedisPassword("new");
          await redis("new", "ACL", "SETUSER", "default", "<old");
        }),
      describeStreams,
    );
    expect(await installation.pods()).toEqual(before);
    await checkLoad(report);
    for (const name of podsOf("edge", before)) {
      const logs = await installation.kubectl("logs", name);
      expect(logs.split("redis connection replaced").length - 1).toBe(2);
      expect(logs).not.toContain("secret refused");
    }
  });

  function podsOf(component: string, pods: Awaited<ReturnType<Installation["pods"]>>): string[] {
    const names = pods.filter((pod) => pod.component === component).map(({ name }) => name);
    expect(names, component).not.toEqual([]);
    return names;
  }

  function redis(password: string, ...args: string[]): Promise<string> {
    const authentication = password === "" ? [] : ["--no-auth-warning", "--pass", password];
    const exec = ["--namespace", "redis", "exec", "deployment/redis", "--", "redis-cli", ...authentication];
    return run("kubectl", [...exec, ...args]);
  }

  /** Changes REDIS_URL and waits the documented two minutes, within which the edges read it. */
  async function useRedisPassword(password: string): Promise<void> {
    const url = `redis://:${password}@redis.redis.svc:6379`;
    const patch = JSON.stringify({ stringData: { REDIS_URL: url } });
    await installation.kubectl("patch", "secret", "parley", "--patch", patch);
    await sleep(120_000);
  }
});
