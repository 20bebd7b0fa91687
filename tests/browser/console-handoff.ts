import { randomUUID } from "node:crypto";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot } from "./console-bot.ts";
import type { BrowserFixture } from "./fixture.ts";

const HOST = "bakery.example";

/** Adds a bot whose visitors can ask for a person. Returns its slug. */
export async function addHandoffBot({ service }: BrowserFixture): Promise<string> {
  const slug = await addBot(service);
  await service.admin.bots.updateBot({
    workspaceId: CONSOLE_WORKSPACE,
    slug,
    changes: { handoffEnabled: true, handoffWaitSeconds: 600 },
  });
  return slug;
}

/** A visitor who uses the public API. */
export async function startVisitor({ service }: BrowserFixture, botSlug: string) {
  const { key } = await service.admin.keys.createKey({ workspaceId: CONSOLE_WORKSPACE, botSlug, domains: [HOST] });
  const session = { public_key: key?.publicKey, session_id: randomUUID() };
  const id = `visitor-${randomUUID().slice(0, 8)}`;
  const post = async (path: string, body: object) => {
    const response = await fetch(service.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", origin: `https://${HOST}` },
      body: JSON.stringify({ ...session, ...body }),
    });
    if (!response.ok) throw new Error(`${path} was refused: ${response.status} ${await response.text()}`);
    return response.text();
  };
  return {
    id,
    sessionId: session.session_id,
    /** Returns the events of the reply. */
    say: (message: string) => post("/api/chat/", { message, visitor_id: id }),
    askForPerson: () => post("/api/chat/handoff/", {}),
    leaveMessage: (message: string) => post("/api/chat/contact/", { email: "ada@example.com", message }),
    async state(): Promise<object> {
      const query = new URLSearchParams({ public_key: session.public_key ?? "", session_id: session.session_id });
      const headers = { origin: `https://${HOST}` };
      const response = await fetch(`${service.url}/api/chat/live/?${query}`, { headers });
      let text = "";
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        const [, data] = /event: state\ndata: (.*)\n/.exec(text) ?? [];
        if (data !== undefined) return JSON.parse(data) as object;
      }
      throw new Error("no state");
    },
  };
}
