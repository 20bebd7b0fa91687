import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { argumentsOf, findingOf, runDoctor } from "./report.ts";

describe("parley doctor", () => {
  let system: System;
  let tenant: Tenant;
  beforeAll(async () => {
    system = await startSystem({ edges: 0 });
    tenant = await createTenant(system.admin);
  });
  afterAll(() => system?.stop());

  test("warns that it cannot check for forged addresses if the doctor's machine is one of the edge's trusted proxies", async () => {
    const edge = await system.startEdge({ TRUSTED_PROXIES: "127.0.0.1" });
    const found = await runDoctor(argumentsOf(tenant, `http://127.0.0.1:${edge.port}`, "--quick"));
    expect(findingOf(found, "forged_address")).toMatchObject({
      result: "warn",
      message: expect.stringContaining("127.0.0.1) is a trusted proxy itself"),
    });
  });
});
