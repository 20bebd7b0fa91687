import { setTimeout as sleep } from "node:timers/promises";
import type { Request } from "playwright-core";
import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("chat", (fixture) => {
  it("sends only the public key, the session id and the message, and shows the answer as it arrives", async () => {
    const widget = await fixture.visitAndOpen();
    // The page records the lengths of the answer's text, because polling from the test could miss most of them.
    const shownLengths = await widget.log.evaluateHandle((log) => {
      const lengths = new Set<number>();
      const record = () => lengths.add(log.querySelector(".messages > .assistant")?.textContent.length ?? 0);
      new MutationObserver(record).observe(log, { childList: true, characterData: true, subtree: true });
      return lengths;
    });
    await widget.askAndWait("slow 30");
    expect(await shownLengths.evaluate((lengths) => lengths.size)).toBeGreaterThan(5);
    expect((await widget.texts())[1]).toMatch(/^word1 .* word30 ?$/);
    expect(widget.postedBodies("/api/chat/")).toEqual([
      {
        public_key: fixture.service.bot.publicKey,
        session_id: expect.stringMatching(/^[\da-f-]{36}$/),
        message: "slow 30",
      },
    ]);
  });

  it("uses the same session for every turn", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick one");
    await widget.askAndWait("quick two");
    const sessions = widget.postedBodies("/api/chat/").map(({ session_id }) => session_id);
    expect(sessions).toHaveLength(2);
    expect(new Set(sessions).size).toBe(1);
  });

  it("shows a typing indicator before the first word, and none after the answer", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("late");
    await widget.log.getByText("Sample Shop is writing").waitFor({ state: "attached" });
    expect(await widget.log.locator(".dots").isVisible()).toBe(true);
    await widget.ratingControls.waitFor();
    expect(await widget.log.locator(".dots").isVisible()).toBe(false);
  });

  it("renders a table while it arrives, scrolls it inside the message, and links to pages of the site, calls and emails", async () => {
    const widget = await fixture.visitAndOpen();
    const rowCounts = await widget.log.evaluateHandle((log) => {
      const counts = new Set<number>();
      let table: Element | null = null;
      new MutationObserver(() => {
        const current = log.querySelector(".messages table");
        // The table keeps its element while it grows.
        counts.add(table && table !== current ? -1 : (current?.querySelectorAll("tr").length ?? 0));
        table = current;
      }).observe(log, { childList: true, characterData: true, subtree: true });
      return counts;
    });
    await widget.askAndWait("table");
    const counts = await rowCounts.evaluate((all) => [...all]);
    expect(counts).not.toContain(-1);
    expect(counts.length).toBeGreaterThan(2);
    const table = widget.answers.getByRole("table");
    expect(await table.getByRole("columnheader").allInnerTexts()).toEqual([
      "Plan",
      "Messages",
      "Price a month",
      "Support",
      "Regions",
    ]);
    const read = (name: string) =>
      table.getByRole("cell", { name, exact: true }).evaluate((cell) => getComputedStyle(cell).textAlign);
    expect([await read("100"), await read("99 €"), await read("Free")]).toEqual([
      expect.stringContaining("right"),
      expect.stringContaining("center"),
      expect.stringContaining("left"),
    ]);
    expect(await table.getByRole("cell", { name: "19 €" }).innerText()).toBe("19 €\n(190 € a year)");
    for (const box of [widget.answers.getByRole("group", { name: "Plan, Messages" }), widget.answers.locator("pre")]) {
      await box.focus();
      await widget.page.keyboard.press("ArrowRight");
      await eventually(() => box.evaluate((element) => element.scrollLeft)).toBeGreaterThan(0);
    }
    expect(await widget.log.evaluate((log) => log.scrollWidth - log.clientWidth)).toBe(0);
    const links = widget.answers.getByRole("link");
    expect(
      await links.evaluateAll((all) =>
        all.map((a) => [a.textContent, (a as HTMLAnchorElement).href, a.getAttribute("target")]),
      ),
    ).toEqual([
      ["Forum", `${fixture.site.origin}/forum`, "_blank"],
      ["Email", "mailto:help@shop.example", null],
      ["Phone", "tel:+49301234", null],
      ["The plans", "https://shop.example/plans.png", "_blank"],
      ["https://shop.example/plans", "https://shop.example/plans", "_blank"],
    ]);
    expect(await widget.answers.locator("del").innerText()).toBe("two");
    expect(await widget.findAxeViolations()).toEqual([]);
    expect(widget.problems).toEqual([]);
  });

  it("renders only the safe subset of Markdown", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("markdown");
    const bubble = widget.answers.locator(".bubble");
    const tags = await bubble.evaluate((element) => [
      ...new Set([...element.querySelectorAll("*")].map(({ tagName }) => tagName)),
    ]);
    expect(tags.toSorted()).toEqual(["A", "BLOCKQUOTE", "CODE", "DIV", "EM", "LI", "OL", "P", "PRE", "STRONG", "UL"]);
    const links = await bubble
      .getByRole("link")
      .evaluateAll((all) => all.map((a) => [a.getAttribute("href"), a.getAttribute("rel"), a.getAttribute("target")]));
    expect(links).toEqual([
      ["https://shop.example/returns", "noopener noreferrer nofollow ugc", "_blank"],
      ["https://shop.example/help", "noopener noreferrer nofollow ugc", "_blank"],
    ]);
    expect(await bubble.innerText()).toContain(`<img src=x onerror="document.title='broken'">`);
    expect(await widget.page.title()).toBe("A customer's page");
  });

  it("shows visitors' messages as plain text", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.input.fill("**not bold**");
    await widget.input.press("Shift+Enter");
    await widget.input.pressSequentially("<b>line</b>");
    await widget.input.press("Enter");
    await widget.ratingControls.waitFor();
    expect((await widget.texts())[0]).toBe("**not bold**\n<b>line</b>");
  });

  it("stops an answer, which gets the status cancelled, and keeps the received part", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 200");
    await eventually(() => widget.answers.innerText()).toContain("word3");
    await widget.sendButton.click();
    await eventually(() => widget.notice.innerText()).toBe("Stopped. Try again");
    const text = (await widget.texts())[1];
    expect(text).toMatch(/^word1 /);
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    await eventually(() => fixture.service.readTranscriptField(session_id, "status")).toEqual(["done", "cancelled"]);
    await widget.page.waitForTimeout(200);
    expect((await widget.texts())[1]).toBe(text);
    await widget.askAndWait("quick");
    expect(await widget.texts()).toHaveLength(4);
  });

  it("shows a stored reply again, without another reply of the model, if the reply was complete before it was stopped", async () => {
    const widget = await fixture.visitAndOpen();
    const isComplete = Promise.withResolvers<void>();
    // The service completes the reply, but the visitor's browser does not receive it.
    await widget.page.route(
      "**/api/chat/",
      async (route) => {
        await route.fetch();
        isComplete.resolve();
      },
      { times: 1 },
    );
    await widget.ask("quick");
    await isComplete.promise;
    const stopped = widget.page.waitForResponse("**/api/chat/stop/");
    await widget.sendButton.click();
    expect((await stopped).status()).toBe(200);
    await widget.log.getByRole("button", { name: "Try again" }).click();
    await widget.ratingControls.waitFor();
    expect(await widget.texts()).toEqual(["quick", "Done."]);
    const keys = widget.requests
      .filter((request) => request.method() === "POST" && request.url().endsWith("/api/chat/"))
      .map((request) => request.headers()["idempotency-key"]);
    expect(keys).toEqual([keys[0], keys[0]]);
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    expect(await fixture.service.readTranscriptField(session_id, "status")).toEqual(["done", "done"]);
  });

  it("shows and announces that the model is thinking if there is no event for 3 s, before and within the text", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("think");
    const thinking = widget.answers.getByText("Looking that up…");
    await widget.answers.locator(".typing").waitFor();
    await widget.page.waitForTimeout(1_000);
    expect(await thinking.isVisible()).toBe(false);
    await thinking.waitFor();
    expect(await widget.status.innerText()).toBe("Looking that up…");
    expect(await widget.texts()).toEqual(["think"]);
    await widget.ratingControls.waitFor();
    expect(await thinking.isVisible()).toBe(false);
    expect(await widget.texts()).toEqual(["think", "Done."]);
  });

  it("replaces the text of a reply that the model refuses to finish by the bot's fallback", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("refuse");
    await eventually(() => widget.answers.innerText()).toContain("word3");
    await eventually(() => widget.texts()).toEqual(["refuse", "I'm sorry, I can't help with that."]);
    expect(await widget.ratingControls.count()).toBe(0);
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    expect(await fixture.service.readTranscriptField(session_id, "status")).toEqual(["done", "blocked"]);
    expect(await fixture.service.readTranscriptField(session_id, "content")).toEqual([
      "refuse",
      "I'm sorry, I can't help with that.",
    ]);
  });

  it("stops an answer with Escape, and closes the panel with the next Escape", async () => {
    const widget = await fixture.visitAndOpen();
    const stopped = widget.page.waitForResponse("**/api/chat/stop/");
    await widget.ask("slow 200");
    await eventually(() => widget.answers.innerText()).toContain("word3");
    await widget.page.keyboard.press("Escape");
    expect((await stopped).status()).toBe(200);
    expect(await widget.notice.innerText()).toBe("Stopped. Try again");
    await widget.page.keyboard.press("Escape");
    await eventually(() => widget.panel.isVisible()).toBe(false);
  });

  it("sets, changes and clears a rating", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    const up = widget.panel.getByRole("button", { name: "Good answer" });
    const down = widget.panel.getByRole("button", { name: "Bad answer" });
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    for (const [thumb, rating] of [
      [up, "up"],
      [down, "down"],
      [down, ""],
    ] as const) {
      await thumb.click();
      await eventually(() => fixture.service.readTranscriptField(session_id, "rating")).toEqual(["", rating]);
      expect(await up.getAttribute("aria-pressed")).toBe(String(rating === "up"));
      expect(await down.getAttribute("aria-pressed")).toBe(String(rating === "down"));
    }
  });

  it.each(["accepted", "lost"])("keeps the second of two ratings when the first is slow and %s", async (first) => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    await widget.page.route(
      "**/api/chat/rating/",
      async (route) => {
        await sleep(500);
        await (first === "lost" ? route.abort() : route.continue());
      },
      { times: 1 },
    );
    const ended: Request[] = [];
    for (const event of ["requestfinished", "requestfailed"] as const) {
      widget.page.on(event as "requestfinished", (request) => ended.push(request));
    }
    const up = widget.panel.getByRole("button", { name: "Good answer" });
    const down = widget.panel.getByRole("button", { name: "Bad answer" });
    await up.click();
    await down.click();
    await eventually(() => ended.filter((request) => request.url().endsWith("/rating/"))).toHaveLength(2);
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    expect(await fixture.service.readTranscriptField(session_id, "rating")).toEqual(["", "down"]);
    expect(await up.getAttribute("aria-pressed")).toBe("false");
    expect(await down.getAttribute("aria-pressed")).toBe("true");
  });

  it("clears a rating that could not be saved and shows an error", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    await widget.page.route("**/api/chat/rating/", (route) => route.abort());
    const up = widget.panel.getByRole("button", { name: "Good answer" });
    await up.click();
    await eventually(() => widget.status.innerText()).toBe("The rating could not be saved.");
    expect(await up.getAttribute("aria-pressed")).toBe("false");
  });

  it("does not send a message that is blank, too long or still being composed with an IME", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("   \n ");
    await widget.ask("😀".repeat(4001));
    expect(await widget.panel.locator(".excess", { hasText: "Excess characters: 1" }).isVisible()).toBe(true);
    await widget.sendButton.click({ force: true });
    await widget.input.fill("composing");
    await widget.input.dispatchEvent("keydown", { key: "Enter", isComposing: true });
    // Safari ends the composition before it reports the key that ended it.
    await widget.input.dispatchEvent("keydown", { key: "Enter", keyCode: 229 });
    await widget.input.dispatchEvent("keydown", { key: "Escape", isComposing: true, keyCode: 229 });
    expect(await widget.input.inputValue()).toBe("composing");
    expect(await widget.panel.isVisible()).toBe(true);
    expect(widget.postedBodies("/api/chat/")).toEqual([]);
    await widget.ask("😀".repeat(4000));
    await eventually(() => widget.postedBodies("/api/chat/")).toHaveLength(1);
  });
});
