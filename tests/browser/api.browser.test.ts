import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("window.Parley", (fixture) => {
  it("opens, closes and toggles the panel", async () => {
    const widget = await fixture.visit();
    await widget.launcher.waitFor();
    const call = (name: "open" | "close" | "toggle") =>
      widget.page.evaluate((method) => window.Parley?.[method](), name);
    await call("open");
    await widget.input.waitFor();
    await call("open");
    await call("close");
    await eventually(() => widget.panel.isVisible()).toBe(false);
    await call("close");
    await call("toggle");
    await widget.input.waitFor();
    await call("toggle");
    await eventually(() => widget.panel.isVisible()).toBe(false);
    expect(widget.problems).toEqual([]);
  });

  it("accepts calls before the configuration is loaded", async () => {
    const widget = await fixture.visit({
      prepare: (page) =>
        page.route("**/api/widget/config/**", async (route) => {
          await new Promise((resolve) => setTimeout(resolve, 500));
          await route.continue();
        }),
    });
    await eventually(() => widget.page.evaluate(() => typeof window.Parley)).toBe("object");
    await widget.page.evaluate(() => window.Parley?.send("quick early"));
    await eventually(() => widget.texts()).toEqual(["quick early", "Done."]);
  });

  it("sends messages one after another, replaces lone surrogates and skips blank messages", async () => {
    const widget = await fixture.visit();
    await widget.launcher.waitFor();
    await widget.page.evaluate(() => {
      window.Parley?.send("slow 5");
      window.Parley?.send(" \0 ");
      window.Parley?.send("quick \ud800second\0 ");
    });
    await widget.ratingControls.nth(1).waitFor();
    expect(widget.postedBodies("/api/chat/").map(({ message }) => message)).toEqual(["slow 5", "quick \ufffdsecond"]);
  });

  it("reports events until the listener is removed", async () => {
    const widget = await fixture.visit();
    const reportedEvents: unknown[] = [];
    await widget.page.exposeFunction("reportEvent", (name: string, detail: unknown) =>
      reportedEvents.push([name, detail]),
    );
    await eventually(() => widget.page.evaluate(() => typeof window.Parley)).toBe("object");
    await widget.page.evaluate(() => {
      const report = (window as unknown as { reportEvent(name: string, detail: unknown): void }).reportEvent;
      for (const name of ["open", "message", "new", "close"] as const) {
        const off = window.Parley?.on(name, (detail) => report(name, detail));
        window.Parley?.on("close", () => off?.());
      }
    });
    await widget.open();
    await widget.askAndWait("quick");
    await widget.panel.getByRole("button", { name: "New conversation" }).click();
    await widget.launcher.click();
    await widget.open();
    await eventually(() => reportedEvents).toEqual([
      ["open", {}],
      ["message", { role: "user", text: "quick" }],
      ["message", { role: "assistant", text: "Done." }],
      ["new", {}],
      ["close", {}],
    ]);
  });

  it("dispatches one open event after three fast clicks while the panel loads", async () => {
    const load = Promise.withResolvers<void>();
    const widget = await fixture.visit({
      prepare: (page) =>
        page.route("**/widget/panel.*", async (route) => {
          await load.promise;
          await route.continue();
        }),
    });
    await widget.launcher.waitFor();
    await widget.page.evaluate(() => {
      for (const name of ["open", "close"])
        document.addEventListener(`parley:${name}`, () => {
          document.title += ` ${name}`;
        });
    });
    for (let clicks = 0; clicks < 3; clicks++) await widget.launcher.click();
    load.resolve();
    await widget.input.waitFor();
    expect(await widget.page.title()).toBe("A customer's page open");
    await widget.launcher.click();
    await widget.open();
    expect(await widget.page.title()).toBe("A customer's page open close open");
  });

  it("keeps working when a page's listener throws", async () => {
    const widget = await fixture.visit();
    await widget.launcher.waitFor();
    await widget.page.evaluate(() => {
      window.Parley?.on("message", () => {
        throw new Error("page error");
      });
    });
    await widget.open();
    await widget.askAndWait("quick");
    expect(new Set(widget.problems)).toEqual(new Set(["page error"]));
  });

  it("sends the visitor id and metadata from the attributes and from identify", async () => {
    const widget = await fixture.visitAndOpen({
      attributes: { "data-visitor-id": "u-1", "data-visitor-metadata": '{"plan":"gold"}' },
    });
    await widget.askAndWait("quick");
    await widget.page.evaluate(() => window.Parley?.identify({ visitorId: "u-2", metadata: { cart: [1] } }));
    await widget.askAndWait("quick");
    expect(widget.postedBodies("/api/chat/")).toEqual([
      expect.objectContaining({ visitor_id: "u-1", visitor_metadata: { plan: "gold" } }),
      expect.objectContaining({ visitor_id: "u-2", visitor_metadata: { cart: [1] } }),
    ]);
  });

  it("omits metadata that is not JSON", async () => {
    const widget = await fixture.visitAndOpen({ attributes: { "data-visitor-metadata": "{plan}" } });
    await widget.askAndWait("quick");
    expect(widget.postedBodies("/api/chat/")[0]).not.toHaveProperty("visitor_metadata");
  });

  it('handles clicks on elements with data-parley and data-parley-send, and ignores data-parley="destroy"', async () => {
    const widget = await fixture.visit({
      body: `<h1>x</h1><button data-parley="toggle">Toggle</button><button data-parley="destroy">No</button>
        <p data-parley-send="quick ask"><span>Ask this</span></p>`,
    });
    await widget.launcher.waitFor();
    await widget.page.getByText("Toggle").click();
    await widget.input.waitFor();
    await widget.page.getByText("Toggle").click();
    await eventually(() => widget.panel.isVisible()).toBe(false);
    await widget.page.getByText("No", { exact: true }).click();
    await widget.page.getByText("Ask this").click();
    await eventually(() => widget.texts()).toEqual(["quick ask", "Done."]);
  });

  it("opens on load without taking the focus if data-open is set, and stays closed if data-open is false", async () => {
    const widget = await fixture.visit({ attributes: { "data-open": "" } });
    await widget.input.waitFor();
    expect(await widget.focusedName()).not.toBe("Your message");
    const closed = await fixture.visit({ attributes: { "data-open": "false" } });
    await closed.launcher.waitFor();
    // If the panel opened, the launcher would be busy until the panel is loaded, and then expanded.
    expect(await closed.launcher.getAttribute("aria-busy")).toBeNull();
    expect(await closed.launcher.getAttribute("aria-expanded")).toBe("false");
  });

  it("removes the widget and the global on destroy, and continues the reply when the widget is started again", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 60");
    await eventually(() => widget.answers.innerText()).toContain("word2");
    await widget.page.evaluate(() => window.Parley?.destroy());
    expect(await widget.host.count()).toBe(0);
    expect(await widget.page.evaluate(() => "Parley" in window)).toBe(false);
    await widget.page.evaluate(() => {
      const old = document.querySelector("script[data-public-key]") as HTMLScriptElement;
      const script = document.createElement("script");
      Object.assign(script.dataset, old.dataset);
      script.src = old.src;
      old.replaceWith(script);
    });
    await widget.open();
    await widget.ratingControls.waitFor();
    expect((await widget.texts())[1]).toMatch(/^word1 .* word60$/);
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    expect(await fixture.service.readTranscriptField(session_id, "status")).toEqual(["done", "done"]);
    expect(widget.problems).toEqual([]);
  });
});
