import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { Visitor } from "../../packages/widget/src/shared/types.ts";
import { type BrowserFixture, describeInBrowser, eventually, type Visit } from "./fixture.ts";
import { slowReply } from "./replies.ts";
import type { WidgetPage } from "./widget-page.ts";

const A = { attributes: { "data-visitor-id": "A", "data-visitor-metadata": '{"plan":"gold"}' } };
const B = { attributes: { "data-visitor-id": "B" } };
const EMPTY: string[] = [];
const OLD = ["quick secret", "Done."];

const bodies = (widget: WidgetPage) => widget.postedBodies("/api/chat/");
const sessions = (...widgets: WidgetPage[]) => new Set(widgets.flatMap(bodies).map(({ session_id }) => session_id));
const identify = (widget: WidgetPage, ...visitor: [Visitor?]) =>
  widget.page.evaluate((given) => window.Parley?.identify(...given), visitor);
const reset = (widget: WidgetPage) => widget.page.evaluate(() => window.Parley?.reset());
const stored = (widget: WidgetPage) => widget.page.evaluate(() => JSON.stringify(localStorage));

/** Visits a page as visitor A and asks one question. */
async function askAsA(fixture: BrowserFixture, visit: Visit = A): Promise<WidgetPage> {
  const widget = await fixture.visitAndOpen(visit);
  await widget.askAndWait("quick secret");
  expect(await widget.texts()).toEqual(OLD);
  return widget;
}

/** Expects a new session, of the visitor with this id, in which nothing of the earlier session is left. */
async function expectNewSession(widget: WidgetPage, visitorId?: string): Promise<void> {
  await eventually(() => widget.texts()).toEqual(EMPTY);
  expect(await stored(widget)).not.toContain("secret");
  await widget.askAndWait("quick new");
  expect(await widget.texts()).toEqual(["quick new", "Done."]);
  const body = bodies(widget).at(-1);
  expect(body?.visitor_id).toBe(visitorId);
  expect(body).not.toHaveProperty("visitor_metadata");
  await widget.page.reload();
  await widget.open();
  expect(await widget.texts()).toEqual(["quick new", "Done."]);
}

describeInBrowser("visitors", (fixture) => {
  it.each<[string, [Visitor?], string | undefined]>([
    ["another id", [{ visitorId: "B" }], "B"],
    ["no visitor", [], undefined],
    ["the id null", [{ visitorId: null }], undefined],
    ["an empty id", [{ visitorId: "" }], undefined],
    ["an id that the API would refuse", [{ visitorId: ["A"] as unknown as string }], undefined],
  ])("identify with %s starts a new session", async (_, visitor, visitorId) => {
    const widget = await askAsA(fixture, {});
    await identify(widget, { visitorId: "A", metadata: { plan: "gold" } });
    await identify(widget, ...visitor);
    await expectNewSession(widget, visitorId);
    expect(sessions(widget).size).toBe(2);
  });

  it.each<[string, Visit, [Visitor?][], string | undefined]>([
    ["the first id", {}, [[{ visitorId: "A" }]], "A"],
    ["the same id as a number", { attributes: { "data-visitor-id": "42" } }, [[{ visitorId: 42 }]], "42"],
    ["metadata only", A, [[{ metadata: { cart: 1 } }]], "A"],
    ["an id that is not known yet, and then the id", {}, [[{ visitorId: undefined }], [{ visitorId: "A" }]], "A"],
    ["no visitor before the first id", {}, [[]], undefined],
  ])("identify with %s continues the session, also after a reload", async (_, visit, visitors, visitorId) => {
    const widget = await askAsA(fixture, visit);
    for (const visitor of visitors) await identify(widget, ...visitor);
    await widget.askAndWait("quick again");
    expect(await widget.texts()).toEqual([...OLD, "quick again", "Done."]);
    await widget.page.reload();
    await widget.open();
    expect(await widget.texts()).toHaveLength(4);
    expect(sessions(widget).size).toBe(1);
    expect(bodies(widget).at(-1)?.visitor_id).toBe(visitorId);
  });

  it.each<[string, Visit, string[]]>([
    ["another id", B, EMPTY],
    ["the same id", A, OLD],
    ["no id", {}, OLD],
    ["an empty id", { attributes: { "data-visitor-id": "" } }, OLD],
  ])("a page with %s, after a page with an id, shows what belongs to its visitor", async (_, visit, texts) => {
    const first = await askAsA(fixture);
    await first.page.close();
    const widget = await fixture.visitAndOpen({ ...visit, sameVisitorAs: first });
    expect(await widget.texts()).toEqual(texts);
    await widget.askAndWait("quick again");
    expect(sessions(first, widget).size).toBe(texts === OLD ? 1 : 2);
  });

  it.each<[string, (widget: WidgetPage) => Promise<unknown>]>([
    ["reset", reset],
    ["identify with null", (widget) => identify(widget, { visitorId: null })],
    [
      "identify with one id and then another",
      async (widget) => {
        await identify(widget, { visitorId: "A" });
        await identify(widget, { visitorId: "B" });
      },
    ],
    [
      "identify with an id and then without one",
      async (widget) => {
        await identify(widget, { visitorId: "A" });
        await identify(widget);
      },
    ],
  ])("%s forgets the session even if the panel is not loaded and the page is left at once", async (_, forget) => {
    const first = await askAsA(fixture);
    const widget = await fixture.visit({ sameVisitorAs: first });
    await widget.launcher.waitFor();
    await forget(widget);
    expect(await stored(widget)).not.toContain("secret");
    const next = await fixture.visitAndOpen({ sameVisitorAs: first });
    expect(await next.texts()).toEqual(EMPTY);
    await next.askAndWait("quick new");
    expect(bodies(next).at(-1)).not.toHaveProperty("visitor_id");
    expect(sessions(first, next).size).toBe(2);
    await eventually(() => first.texts()).toEqual(["quick new", "Done."]);
  });

  it("identify before the configuration is loaded applies to the first message", async () => {
    const first = await askAsA(fixture);
    const widget = await fixture.visit({
      sameVisitorAs: first,
      prepare: (page) =>
        page.route("**/api/widget/config/**", async (route) => {
          await new Promise((resolve) => setTimeout(resolve, 300));
          await route.continue();
        }),
    });
    await eventually(() => widget.page.evaluate(() => typeof window.Parley)).toBe("object");
    await identify(widget, { visitorId: "B" });
    await widget.open();
    await expectNewSession(widget, "B");
  });

  it("reset stops the reply, removes the draft and the id, and reports the event new", async () => {
    const widget = await fixture.visitAndOpen(A);
    await widget.page.evaluate(() => {
      for (const name of ["new", "message", "error"])
        document.addEventListener(`parley:${name}`, () => {
          document.title += ` ${name}`;
        });
    });
    await widget.ask("slow 100");
    await eventually(() => widget.answers.innerText()).toContain("word2");
    await widget.input.fill("a secret draft");
    await reset(widget);
    expect(await widget.texts()).toEqual(EMPTY);
    expect(await widget.input.inputValue()).toBe("");
    const [{ session_id } = {}] = bodies(widget);
    await eventually(() => fixture.service.readTranscriptField(session_id, "status")).toEqual(["done", "cancelled"]);
    await expectNewSession(widget);
    expect(await widget.page.title()).not.toContain("secret");
  });

  it("reset while the panel is closed leaves no badge and no notice", async () => {
    const widget = await fixture.visitAndOpen(A);
    await widget.ask("slow 20");
    await eventually(() => widget.answers.innerText()).toContain("word2");
    await widget.launcher.click();
    await eventually(() => widget.panel.isVisible()).toBe(false);
    await reset(widget);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await widget.host.locator(".badge").isVisible()).toBe(false);
    expect(await widget.host.locator(".sr[role=status]").allTextContents()).toEqual(["", ""]);
    await widget.open();
    await expectNewSession(widget);
  });

  it.each<[string, (widget: WidgetPage) => Promise<unknown>, string | undefined]>([
    ["reset", reset, undefined],
    ["identify with another id", (widget) => identify(widget, { visitorId: "B" }), "B"],
  ])(
    "%s in one tab also forgets the session, the draft, the id and a running reply in the others",
    async (_, forget, visitorId) => {
      const first = await askAsA(fixture);
      const second = await fixture.visitAndOpen({ ...A, sameVisitorAs: first });
      const third = await fixture.visit({ ...A, sameVisitorAs: first });
      await third.launcher.waitFor();
      await second.ask("slow 100");
      await eventually(() => second.answers.last().innerText()).toContain("word2");
      await second.input.fill("a secret draft");
      await forget(first);
      await eventually(() => second.texts()).toEqual(EMPTY);
      expect(await second.input.inputValue()).toBe("");
      await first.askAndWait("quick new");
      await eventually(() => second.texts()).toEqual(["quick new", "Done."]);
      await second.askAndWait("quick from the second");
      await third.open();
      await third.askAndWait("quick from the third");
      await eventually(async () => (await first.texts()).length).toBe(6);
      const sent = [first, second, third].map((widget) => bodies(widget).at(-1));
      expect(sent.map((body) => body?.visitor_id)).toEqual([visitorId, undefined, undefined]);
      expect(sent.map((body) => body?.visitor_metadata)).toEqual([undefined, undefined, undefined]);
      expect(new Set(sent.map((body) => body?.session_id)).size).toBe(1);
      expect(JSON.stringify(await fixture.service.readTranscriptField(sent[0]?.session_id, "content"))).not.toContain(
        "secret",
      );
    },
  );

  it("a new conversation in one tab keeps the visitor and the draft in the others", async () => {
    const first = await askAsA(fixture);
    const second = await fixture.visitAndOpen({ ...A, sameVisitorAs: first });
    await second.input.fill("a draft");
    await first.panel.getByRole("button", { name: "New conversation" }).click();
    await eventually(() => second.texts()).toEqual(EMPTY);
    expect(await second.input.inputValue()).toBe("a draft");
    await second.askAndWait("quick");
    expect(bodies(second).at(-1)).toMatchObject({ visitor_id: "A" });
  });

  it.each<[string, boolean]>([
    ["with the panel", true],
    ["without the panel", false],
  ])(
    "a page %s that the browser restores from its cache after a reset shows and sends nothing of the earlier visitor",
    async (_, isOpen) => {
      // A page in the cache receives no storage events.
      const prepare = (page: Page) =>
        page.addInitScript(() => addEventListener("storage", (event) => event.stopImmediatePropagation(), true));
      const asking = await askAsA(fixture);
      const cached = await fixture.visit({ ...A, sameVisitorAs: asking, prepare });
      if (isOpen) {
        await cached.open();
        await cached.input.fill("a secret draft");
      }
      await reset(asking);
      await asking.askAndWait("quick new");
      if (isOpen) expect(await cached.texts()).toEqual(OLD);
      await cached.page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
      if (!isOpen) await cached.open();
      expect(await cached.texts()).toEqual(["quick new", "Done."]);
      expect(await cached.input.inputValue()).toBe("");
      await cached.askAndWait("quick again");
      expect(bodies(cached).at(-1)).not.toHaveProperty("visitor_id");
      expect(sessions(cached)).toEqual(new Set([bodies(asking).at(-1)?.session_id]));
    },
  );

  it("a refused localStorage: identify and reset forget the session of their tab", async () => {
    const prepare = (page: Page) =>
      page.addInitScript(() =>
        Object.defineProperty(window, "localStorage", {
          get() {
            throw new DOMException("refused", "SecurityError");
          },
        }),
      );
    const widget = await askAsA(fixture, { ...A, prepare });
    await identify(widget, { visitorId: "B" });
    expect(await widget.texts()).toEqual(EMPTY);
    await widget.askAndWait("quick new");
    await reset(widget);
    expect(await widget.texts()).toEqual(EMPTY);
    await widget.askAndWait("quick new");
    expect(sessions(widget).size).toBe(3);
    expect(bodies(widget).map(({ visitor_id }) => visitor_id)).toEqual(["A", "B", undefined]);
    expect(widget.problems).toEqual([]);
  });

  it("a page that clears localStorage starts a new session of the same visitor", async () => {
    const first = await askAsA(fixture);
    const second = await fixture.visitAndOpen({ ...A, sameVisitorAs: first });
    await first.page.evaluate(() => localStorage.clear());
    await eventually(() => second.texts()).toEqual(EMPTY);
    await second.askAndWait("quick");
    expect(bodies(second).at(-1)).toMatchObject({ visitor_id: "A" });
    expect(sessions(first, second).size).toBe(2);
  });

  it("a widget that was removed and started again with another id starts a new session", async () => {
    const widget = await askAsA(fixture);
    await widget.ask("slow 60");
    await eventually(() => widget.answers.last().innerText()).toContain("word2");
    await widget.page.evaluate(() => {
      window.Parley?.destroy();
      const old = document.querySelector("script[data-public-key]") as HTMLScriptElement;
      const script = document.createElement("script");
      Object.assign(script.dataset, old.dataset, { visitorId: "B", visitorMetadata: "" });
      script.src = old.src;
      old.replaceWith(script);
    });
    await widget.open();
    expect(await widget.texts()).toEqual(EMPTY);
    expect(await stored(widget)).not.toContain(slowReply(2));
    await widget.askAndWait("quick new");
    expect(bodies(widget).at(-1)).toMatchObject({ visitor_id: "B" });
  });

  it("a script element that a framework inserts again names the page's visitor", async () => {
    const widget = await askAsA(fixture);
    const insertAgain = (visitorId: string | undefined) =>
      widget.page.evaluate(async (id) => {
        const old = document.querySelector("script[data-public-key]") as HTMLScriptElement;
        const script = document.createElement("script");
        script.dataset.publicKey = old.dataset.publicKey;
        if (id !== undefined) script.dataset.visitorId = id;
        script.src = old.src;
        await new Promise((resolve) => {
          script.onload = resolve;
          old.replaceWith(script);
        });
      }, visitorId);
    for (const same of ["A", undefined, ""]) await insertAgain(same);
    expect(await widget.texts()).toEqual(OLD);
    await widget.askAndWait("quick again");
    expect(bodies(widget).at(-1)).toMatchObject({ visitor_id: "A", visitor_metadata: { plan: "gold" } });
    await insertAgain("B");
    expect(await widget.texts()).toEqual(EMPTY);
    await widget.askAndWait("quick new");
    expect(bodies(widget).at(-1)).toMatchObject({ visitor_id: "B" });
    expect(bodies(widget).at(-1)).not.toHaveProperty("visitor_metadata");
    expect(sessions(widget).size).toBe(2);
  });

  it("sends a message without the optional fields that the API would refuse, and warns once about each", async () => {
    const warnings: string[] = [];
    const widget = await fixture.visitAndOpen({
      attributes: { "data-visitor-id": "v".repeat(1_025), "data-visitor-metadata": "[1]" },
      prepare: async (page) =>
        page.on("console", (message) => message.type() === "warning" && warnings.push(message.text())),
    });
    await widget.askAndWait("quick");
    await widget.page.evaluate(() => {
      const cyclic: Record<string, unknown> = {};
      cyclic.self = cyclic;
      window.Parley?.identify({ visitorId: 2 ** 53, metadata: cyclic });
    });
    await widget.askAndWait("quick");
    await widget.page.evaluate(() => {
      const id = Symbol("A") as unknown as string;
      window.Parley?.identify({ visitorId: id, metadata: { big: 1n } });
      window.Parley?.identify("A" as Visitor);
    });
    await widget.askAndWait("quick");
    await identify(widget, { visitorId: 42, metadata: { plan: "gold" } });
    await widget.askAndWait("quick");
    const sent = bodies(widget).map(({ visitor_id, visitor_metadata }) => [visitor_id, visitor_metadata]);
    expect(sent).toEqual([...Array.from({ length: 3 }, () => [undefined, undefined]), ["42", { plan: "gold" }]]);
    const texts = warnings.filter((text) => text.startsWith("Parley:"));
    expect(texts).toEqual([expect.stringContaining("visitorId"), expect.stringContaining("metadata")]);
    expect(widget.problems).toEqual([]);
  });
});
