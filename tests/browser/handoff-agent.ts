import { queryRows } from "@parley/test-support";
import { expect } from "vitest";
import type { BrowserFixture, Visit } from "./fixture.ts";
import type { Service } from "./service.ts";
import type { WidgetPage } from "./widget-page.ts";

const ANNA = { id: "a1", name: "Anna" };

/** A person of the team who answers a visitor through the owner API. */
export class HandoffAgent {
  readonly #service: Service;
  readonly #session: string;

  constructor(service: Service, session: string) {
    this.#service = service;
    this.#session = session;
  }

  take = () => this.#post("handoff", { action: "take", agent: ANNA });
  type = () => this.#post("handoff", { action: "typing", agent: ANNA });
  resolve = () => this.#post("handoff", { action: "resolve" });
  finishContact = (contact_id: string) => this.#post("handoff", { action: "contact_done", contact_id });
  answer = (text: string) => this.#post("messages", { text, agent: ANNA });

  async #post(path: string, body: object): Promise<void> {
    const { edgeUrl, ownerToken } = this.#service.system;
    const response = await fetch(`${edgeUrl}/api/conversations/${this.#session}/${path}/`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${ownerToken}` },
      body: JSON.stringify(body),
    });
    expect(response.status, await response.text()).toBe(200);
  }
}

/** Returns the public key of a bot whose visitors may ask for a person. */
export async function addHandoffBot(
  { service }: BrowserFixture,
  changes: object = {},
  display: object = {},
): Promise<string> {
  const { slug, publicKey } = await service.addBot(display);
  const { workspaceId } = service.system;
  await service.admin.bots.updateBot({ workspaceId, slug, changes: { handoffEnabled: true, ...changes } });
  return publicKey;
}

/** Opens the widget of such a bot, sends a message and waits for the bot's reply. */
export async function startHandoff(fixture: BrowserFixture, visit: Visit & { readonly message?: string }) {
  const widget = await fixture.visitAndOpen(visit);
  await widget.askAndWait(visit.message ?? "quick question");
  return { widget, agent: agentOf(fixture, widget) };
}

export function agentOf({ service }: BrowserFixture, widget: WidgetPage): HandoffAgent {
  return new HandoffAgent(service, sessionOf(widget));
}

const sessionOf = (widget: WidgetPage) => String(widget.postedBodies("/api/chat/")[0]?.session_id);

/** Ends the visitor's wait for a person, or for the answer of one. */
export async function endWait({ service }: BrowserFixture, widget: WidgetPage): Promise<void> {
  const end =
    "UPDATE conversation.sessions SET handoff_expires_at = now() WHERE session_id = $1 AND handoff_expires_at > now()";
  await queryRows(service.system.databaseUrl, end, [sessionOf(widget)]);
}

export const statusOf = (widget: WidgetPage) => widget.panel.locator(".handoff p").first();
export const askButton = (widget: WidgetPage) => widget.panel.locator(".handoff .link");

/** Sends a message and waits until the service has stored it. */
export async function tell(widget: WidgetPage, text: string): Promise<void> {
  await widget.ask(text);
  await widget.sendButton.and(widget.panel.locator("[data-busy=false]")).waitFor();
}
