import { expect, test, vi } from "vitest";
import { listConversations } from "./conversations.ts";
import { errorText } from "./error-text.ts";

async function errorTextOf(status: number, body: object): Promise<string> {
  vi.stubGlobal("fetch", async () => Response.json({ responses: [{ status, body }] }));
  try {
    return await listConversations({}, "").then(String, errorText);
  } finally {
    vi.unstubAllGlobals();
  }
}

test.each([
  [400, { detail: "invalid_parameter" }, "One of the filters is not valid. Remove it, and search again."],
  [401, { detail: "authentication_required" }, "Your sign-in was not accepted. Sign out and in again."],
  [403, { detail: "forbidden" }, "Your role does not allow this. Ask an owner of the workspace."],
  [429, { detail: "rate_limited" }, "Too many requests. Try again in a minute."],
  [502, { code: "unavailable" }, "The service is not available right now. Try again in a few seconds."],
  [503, { detail: "unavailable" }, "The service is not available right now. Try again in a few seconds."],
])("if listing conversations fails with %i %j, the error text is: %s", async (status, body, text) => {
  expect(await errorTextOf(status, body)).toBe(text);
});
