import type { Page, Route } from "playwright-core";
import type { WidgetPage } from "./widget-page.ts";

const MINUTE_MS = 60_000;
const START = Date.parse("2026-11-21T09:30:00Z");
const timeAt = (minutes: number) => new Date(START + minutes * MINUTE_MS).toISOString();

/** Titles of past conversations, in several languages and lengths. */
const TITLES = [
  "Where is my order?",
  "",
  "هل يمكنني إرجاع الطلب؟",
  `A very long question about ${"deliveries and ".repeat(4)}`,
];

const SESSIONS = Array.from({ length: 25 }, (_, at) => ({
  id: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
  title: TITLES[at] ?? `Conversation ${at + 1}`,
  started_at: timeAt(-at * 100),
  last_activity_at: timeAt(-at * 100 + 5),
}));

const MESSAGES = Array.from({ length: 30 }, (_, turn) => [
  { id: String(turn * 2 + 1), role: "user", content: `Question ${turn + 1}`, created_at: timeAt(turn) },
  {
    ...{ id: String(turn * 2 + 2), role: "assistant", content: `Answer **${turn + 1}**`, created_at: timeAt(turn) },
    ...{ finish_reason: turn === 28 ? "cancelled" : "stop", rating: turn === 29 ? "up" : "" },
  },
]).flat();

/** A stand-in for the service's history: 25 conversations with 60 messages each, in pages of 20 and 50. Or it has no conversations. */
export class FakeHistory {
  readonly authorizations: (string | undefined)[] = [];
  /** The responses to the next requests. */
  readonly refusals: { status: number; code: string }[] = [];
  /** Whether the last reply of each conversation is running. */
  isReplying: boolean = false;
  readonly #sessions: typeof SESSIONS;

  constructor({ isEmpty = false } = {}) {
    this.#sessions = isEmpty ? [] : SESSIONS;
  }

  /** The parameter `prepare` of a visit. */
  readonly prepare = (page: Page) => page.route("**/api/chat/sessions/**", (route) => this.#respond(route));

  #respond(route: Route): Promise<void> {
    const request = route.request();
    this.authorizations.push(request.headers().authorization);
    const refusal = this.refusals.shift();
    return route.fulfill({
      status: refusal?.status ?? 200,
      headers: { "Access-Control-Allow-Origin": "*" },
      json: refusal ? { error: refusal.code } : this.#read(new URL(request.url())),
    });
  }

  #read({ pathname, searchParams }: URL): unknown {
    if (pathname.endsWith("/messages/")) {
      const end = Number(searchParams.get("before") ?? MESSAGES.length);
      const start = Math.max(0, end - 50);
      const messages = MESSAGES.slice(start, end).map((message, at) => {
        const { finish_reason, ...running } = { finish_reason: undefined, ...message };
        return this.isReplying && start + at === MESSAGES.length - 1 ? { ...running, content: "" } : message;
      });
      return { messages, next_before: start > 0 ? String(start) : null };
    }
    const start = Number(searchParams.get("cursor") ?? 0);
    const end = start + 20;
    return {
      sessions: this.#sessions.slice(start, end),
      next_cursor: end < this.#sessions.length ? String(end) : null,
    };
  }
}

/** The past conversations in the widget. */
export class HistoryView {
  readonly #widget: WidgetPage;

  constructor(widget: WidgetPage) {
    this.#widget = widget;
  }

  /** Names a verified visitor. */
  identify(visitorToken = "token-1"): Promise<void> {
    return this.#widget.page.evaluate(
      (token) => window.Parley?.identify({ visitorId: "A", visitorToken: token }),
      visitorToken,
    );
  }
  get opener() {
    return this.#widget.panel.locator("header button").first();
  }
  get section() {
    return this.#widget.panel.locator(".history");
  }
  get conversations() {
    return this.section.getByRole("listitem").getByRole("button");
  }
  get messages() {
    return this.section.locator(".message");
  }
  /** Returns how far the end of the conversation is below what is shown, in CSS pixels. */
  distanceToEnd(): Promise<number> {
    return this.section
      .locator(".conversation .history-body")
      .evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);
  }
}
