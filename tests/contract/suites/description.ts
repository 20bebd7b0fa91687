// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { readFile } from "node:fs/promises";
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, expect, test } from "vitest";
import { root } from "../../system/processes.ts";
import type { Api } from "../support/api.ts";
import type { ContractSystem } from "../support/contract-system.ts";

/** Must run last: checks that the suites received every response of the OpenAPI description. The `Api` client has already validated each one. */
export function descriptionSuite(shared: () => ContractSystem): void {
  let api: Api;

  beforeAll(() => {
    ({ api } = shared());
  });

  test("the description is valid OpenAPI 3.1 [D31/2]", async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(api.description.document));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(validator.version).toBe("3.1");
  });

  test("the suites received every described response except 503 of /healthz/ready, and each matched its description [D31/2]", async () => {
    await api.call({ path: "/openapi.json" });
    await api.call({ method: "POST", path: "/openapi.json" });
    for (const path of [
      "/api/chat/",
      "/api/chat/challenge/",
      "/api/chat/stop/",
      "/api/chat/rating/",
      "/api/chat/sessions/",
      "/api/chat/sessions/x/messages/",
      "/api/doctor/",
      "/api/widget/config/",
    ])
      await api.call({ method: "OPTIONS", path });
    await api.call({ path: "/healthz/live" });
    await api.call({ path: "/healthz/ready" });
    expect(api.description.responses.filter((response) => !api.receivedResponses.has(response))).toEqual(NOT_READY);
  });

  test("the changelog mentions every endpoint [9/2]", async () => {
    const changelog = await readFile(`${root}/CHANGELOG.md`, "utf8");
    for (const path of Object.keys(api.description.document.paths ?? {})) expect(changelog).toContain(`\`${path}\``);
  });
}

/** Responses that only an edge that is not ready sends. */
const NOT_READY = ["GET /healthz/ready 503", "HEAD /healthz/ready 503"];
