import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { chat, postChat, readChat } from "../../system/chat.ts";
import { ADMIN_TOKEN, INTERNAL_TOKEN, SERVICE_ROLE_PASSWORD } from "../../system/processes.ts";
import { createTenant, PROVIDER_KEY } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";

/** Checks everything that the services have logged since they started, so it must run last. */
export function logsSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  beforeAll(() => {
    fixture = shared();
  });

  test("no service logs a message, key, token, metadata or address, even when requests fail", async () => {
    const { system } = fixture;
    const mark = (label: string) => `marker-${label}-${randomUUID()}`;
    const marks = {
      // The model `echo` repeats the message in its reply.
      message: mark("message"),
      metadata: mark("metadata"),
      visitor: mark("visitor"),
      agent: mark("agent"),
      referrer: mark("referrer"),
    };
    const models = [
      "openai:echo",
      "hasty:cut-after-2",
      "hasty:parrot-error",
      "hasty:status-401",
      "hasty:corrupt-1-0",
      "no:such",
    ];
    const tenants = await Promise.all(models.map((model) => createTenant(system.admin, { model })));
    const token = await system.sso.token({ workspaceId: tenants[0]?.workspaceId ?? "" });
    const session_id = randomUUID();
    const addresses: string[] = [];
    const fields = {
      session_id,
      message: marks.message,
      visitor_id: marks.visitor,
      visitor_metadata: { note: marks.metadata },
    };
    for (const [index, tenant] of tenants.entries()) {
      const address = newClientAddress();
      addresses.push(address);
      const headers = {
        "x-forwarded-for": address,
        "user-agent": marks.agent,
        referer: `https://a.example/${marks.referrer}`,
      };
      await readChat(await postChat(system.url(index % 3), tenant, fields, { headers }));
      for (const refused of [
        { public_key: marks.visitor },
        { session_id: marks.visitor },
        { message: [marks.message] },
      ])
        await (await postChat(system.url(index % 3), tenant, { ...fields, ...refused }, { headers })).text();
    }
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error("no tenant");
    const authorization = `Bearer ${token}`;
    for (const each of [authorization, `${authorization}x`])
      await (
        await fetch(`${system.url()}/api/conversations/${session_id}/export.json?secret=${marks.metadata}`, {
          headers: { authorization: each },
        })
      ).text();
    // Sends chats while a service is down.
    await system.llm.kill9();
    await chat(system.url(), tenant, fields);
    await system.llm.start();
    await system.conversation.kill9();
    await (await postChat(system.url(1), tenant, fields)).text();
    await system.conversation.start();

    const secrets = {
      ...marks,
      ...Object.fromEntries(tenants.map(({ publicKey }, index) => [`key ${index}`, publicKey])),
      token: token.split(".")[2] ?? token,
      providerKey: PROVIDER_KEY,
      internalToken: INTERNAL_TOKEN,
      adminToken: ADMIN_TOKEN,
      databasePassword: SERVICE_ROLE_PASSWORD,
    };
    const services = [...system.edges, system.conversation, system.quota, system.llm];
    for (const service of services) {
      const output = service.outputs();
      expect(output.length, service.name).toBeGreaterThan(0);
      for (const [label, secret] of Object.entries(secrets))
        expect(linesWith(output, secret), `${label} in the output of ${service.name}`).toEqual([]);
      // Compares whole addresses, because 10.0.0.1 is also the start of 10.0.0.12.
      const logged = output.match(/\d+(\.\d+){3}/g) ?? [];
      expect(
        logged.filter((each) => addresses.includes(each)),
        service.name,
      ).toEqual([]);
    }
    // Without logs, the checks above would also pass.
    expect(system.edges[0]?.outputs()).toContain(tenant.workspaceId);
  });
}

function linesWith(output: string, text: string): string[] {
  return output.split("\n").filter((line) => line.includes(text));
}
