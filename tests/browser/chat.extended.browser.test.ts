import { expect, it } from "vitest";
import { describeInBrowserBeforeRelease, eventually } from "./fixture.ts";

describeInBrowserBeforeRelease("chat", (fixture) => {
  it("keeps the DOM elements of a reply while it grows, and renders the same HTML as after a reload", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("markdown");
    await widget.ask("list 20");
    const firstItem = await widget.log.getByRole("listitem").filter({ hasText: "Item 1" }).first().elementHandle();
    await widget.ratingControls.nth(1).waitFor();
    expect(await firstItem?.evaluate((item) => [item.isConnected, item.parentElement?.children.length])).toEqual([
      true,
      20,
    ]);
    const readHtml = () => widget.answers.locator(".bubble").evaluateAll((all) => all.map((each) => each.innerHTML));
    const grown = await readHtml();
    await widget.page.reload();
    await widget.open();
    await widget.ratingControls.nth(1).waitFor();
    expect(await readHtml()).toEqual(grown);
  });

  it("clears a rating that is not accepted within 10 s, and sends the next rating", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick");
    await widget.page.route("**/api/chat/rating/", () => undefined, { times: 1 });
    const up = widget.panel.getByRole("button", { name: "Good answer" });
    await up.click();
    await eventually(() => up.getAttribute("aria-pressed")).toBe("true");
    await eventually(() => up.getAttribute("aria-pressed"), 20_000).toBe("false");
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    await widget.panel.getByRole("button", { name: "Bad answer" }).click();
    await eventually(() => fixture.service.readTranscriptField(session_id, "rating")).toEqual(["", "down"]);
  });

  it("asks the model again when Try again is pressed after a stop", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.ask("slow 100");
    await eventually(() => widget.answers.innerText()).toContain("word3");
    await widget.sendButton.click();
    await widget.log.getByRole("button", { name: "Try again" }).click();
    await widget.ratingControls.waitFor();
    expect((await widget.texts())[1]).toMatch(/word100$/);
    const [{ session_id } = {}] = widget.postedBodies("/api/chat/");
    const statuses = await fixture.service.readTranscriptField(session_id, "status");
    expect(statuses).toEqual(["done", "cancelled", "done", "done"]);
  });

  it("scrolls with a long answer until the question is at the top, and follows the end after a click until the reader scrolls up", async () => {
    const widget = await fixture.visitAndOpen();
    const distanceToEndPx = () => widget.log.evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight);
    const newestButton = widget.panel.getByRole("button", { name: "Newest message" });
    await widget.askAndWait("tall 300");
    // The answer is so long that it still grows when the reader scrolls, even on a busy machine.
    await widget.ask("long 1800");
    await eventually(distanceToEndPx).toBeGreaterThan(300);
    const question = widget.log.getByText("long 1800");
    const [logBox, questionBox] = [await widget.log.boundingBox(), await question.boundingBox()];
    expect((questionBox?.y ?? 0) - (logBox?.y ?? 0)).toBeGreaterThanOrEqual(0);
    expect((questionBox?.y ?? 0) - (logBox?.y ?? 0)).toBeLessThan(40);
    await newestButton.click();
    await eventually(distanceToEndPx).toBeLessThan(60);
    const height = () => widget.log.evaluate((log) => log.scrollHeight);
    const heightBefore = await height();
    await eventually(height).toBeGreaterThan(heightBefore + 100);
    expect(await distanceToEndPx()).toBeLessThan(60);
    expect(await newestButton.isVisible()).toBe(false);
    await widget.log.hover();
    await widget.page.mouse.wheel(0, -300);
    await newestButton.waitFor();
    // Waits until smooth scrolling has ended. On a busy machine two frames may be far apart, so one unchanged position does not suffice.
    const position = () => widget.log.evaluate((log) => log.scrollTop);
    let top = Number.NaN;
    let equalPositions = 0;
    await eventually(async () => {
      const before = top;
      top = await position();
      equalPositions = top === before ? equalPositions + 1 : 0;
      return equalPositions;
    }).toBeGreaterThanOrEqual(8);
    await eventually(distanceToEndPx).toBeGreaterThan(600);
    expect(await widget.log.evaluate((log) => log.scrollTop)).toBe(top);
    await newestButton.click();
    await eventually(distanceToEndPx).toBeLessThan(60);
    await eventually(() => newestButton.isVisible()).toBe(false);
  });

  it("counts the answers that arrive while the panel is closed", async () => {
    const widget = await fixture.visitAndOpen();
    // The panel must be closed before the answer is complete.
    await widget.ask("slow 100");
    await widget.launcher.click();
    await eventually(() => widget.launcher.getAttribute("aria-label"), 30_000).toBe(
      "Chat: Sample Shop. New messages: 1",
    );
    expect(await widget.launcher.locator(".badge").innerText()).toBe("1");
    await widget.open();
    expect(await widget.launcher.getAttribute("aria-label")).toBe("Chat: Sample Shop");
    expect(await widget.launcher.locator(".badge").isVisible()).toBe(false);
  });

  it("shows all lines of a draft after a reply ended while the panel was closed", async () => {
    const widget = await fixture.visitAndOpen();
    // The panel must be closed before the answer is complete.
    await widget.ask("slow 100");
    await widget.input.fill("1\n2\n3");
    const draft = await widget.input.boundingBox();
    await widget.launcher.click();
    await eventually(() => widget.launcher.getAttribute("aria-label"), 30_000).toBe(
      "Chat: Sample Shop. New messages: 1",
    );
    await widget.open();
    await widget.waitForAnimations();
    expect((await widget.input.boundingBox())?.height).toBe(draft?.height);
  });
});
