// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import type { Api } from "../support/api.ts";
import { type ContractSystem, MALFORMED_KEY } from "../support/contract-system.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function requestIdSuite(shared: () => ContractSystem): void {
  let api: Api;
  let tenant: Tenant;

  beforeAll(async () => {
    const system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
  });

  const idOf = ({ headers }: { headers: Headers }) => headers.get("parley-request-id") ?? "";

  // The other suites check too, against the OpenAPI description, that every response has the header.
  test("each response has an id of its own, whatever id the client sends [D45/1]", async () => {
    const chosen = randomUUID();
    const headers = { "parley-request-id": chosen, "x-request-id": chosen, "request-id": chosen };
    const responses = [
      await api.openChat(tenant, {}, { headers }),
      await api.getConfig(tenant),
      await api.refusedChat(tenant, { public_key: MALFORMED_KEY }, { headers }),
      await api.call({ method: "PUT", path: "/api/chat/", headers }),
    ];
    const ids = responses.map(idOf);
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set([...ids, chosen]).size).toBe(5);
  });

  test("a repeated message gets the id of the first request, during the reply and after it [D45/2]", async () => {
    const fields = { session_id: randomUUID() };
    const options = { headers: { "idempotency-key": randomUUID() } };
    const first = await api.openChat(tenant, fields, options);
    const during = await api.openChat(tenant, fields, options);
    await Promise.all([first.text(), during.text()]);
    const after = await api.openChat(tenant, fields, options);
    await after.text();
    expect([idOf(during), idOf(after)]).toEqual([idOf(first), idOf(first)]);
    const refused = await api.refusedChat(tenant, { ...fields, message: "Another message" }, options);
    expect(refused.status).toBe(409);
    expect(idOf(refused)).not.toBe(idOf(first));
  });
}
