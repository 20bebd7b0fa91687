import { expect, it } from "vitest";
import { describeInBrowser, eventually, type Visit } from "./fixture.ts";
import { recordCspViolations } from "./violations.ts";
import type { WidgetPage } from "./widget-page.ts";

describeInBrowser("a key with a challenge", (fixture) => {
  /** Opens a page whose key asks for challenges. */
  async function visitWithChallenge(visit: Visit = {}): Promise<WidgetPage> {
    const { publicKey } = await fixture.service.addBot({});
    await fixture.service.admin.keys.updateKey({ publicKey, challenge: "always" });
    return fixture.visitAndOpen({ publicKey, ...visit });
  }
  const passes = (widget: WidgetPage) => widget.postedBodies("/api/chat/").map((body) => body.challenge_pass);
  const countSolutions = (widget: WidgetPage) => widget.postedBodies("/api/chat/challenge/").length;

  it("a page with a strict Content-Security-Policy solves the challenge, and later messages use the pass", async () => {
    const { url } = fixture.service;
    const policy = `default-src 'none'; img-src data:; script-src ${url}; style-src 'self'; connect-src ${url}; require-trusted-types-for 'script'; trusted-types 'none'`;
    const violations: string[] = [];
    const widget = await visitWithChallenge({
      headers: { "Content-Security-Policy": policy },
      prepare: (page) => recordCspViolations(page, violations),
    });
    const announcements = await widget.recordAnnouncements();
    await widget.askAndWait("quick one");
    await widget.askAndWait("quick two");
    expect(await widget.texts()).toEqual(["quick one", "Done.", "quick two", "Done."]);
    const [none, pass, again, ...more] = passes(widget);
    expect([none, typeof pass, again, more]).toEqual([undefined, "string", pass, []]);
    expect(countSolutions(widget)).toBe(1);
    expect((await announcements()).filter((text) => /security check/.test(text))).toEqual([]);
    expect([violations, widget.problems]).toEqual([[], []]);

    // The session keeps its pass.
    const reloaded = await fixture.visitAndOpen({
      publicKey: String(widget.postedBodies("/api/chat/")[0]?.public_key),
      sameVisitorAs: widget,
    });
    await reloaded.askAndWait("quick three");
    expect(passes(reloaded)).toEqual([pass]);
  });

  it("a page over plain HTTP, without crypto.subtle, solves the challenge and can still be used meanwhile", async () => {
    const widget = await visitWithChallenge({
      prepare: (page) =>
        page.addInitScript(() => Object.defineProperty(Crypto.prototype, "subtle", { value: undefined })),
    });
    await widget.page.evaluate(() => {
      const gaps = window as unknown as { longestGapMs: number };
      let last = performance.now();
      gaps.longestGapMs = 0;
      const measure = () => {
        const now = performance.now();
        gaps.longestGapMs = Math.max(gaps.longestGapMs, now - last);
        last = now;
        setTimeout(measure);
      };
      measure();
    });
    await widget.askAndWait("quick one");
    expect(await widget.texts()).toEqual(["quick one", "Done."]);
    const longestGapMs = await widget.page.evaluate(() => (window as unknown as { longestGapMs: number }).longestGapMs);
    // A slice of 8 ms, and much room for a busy machine. Without slices, the page would stand still for the whole solution.
    expect(longestGapMs).toBeLessThan(400);
    expect(widget.problems).toEqual([]);
  });

  it("if the pass is used up, or belongs to an earlier address, the widget gets another one", async () => {
    const widget = await visitWithChallenge();
    await widget.askAndWait("quick one");
    fixture.service.nextVisitor();
    await widget.askAndWait("quick two");
    expect(await widget.texts()).toEqual(["quick one", "Done.", "quick two", "Done."]);
    const [, first, , second] = passes(widget);
    expect(second).not.toBe(first);
    expect(countSolutions(widget)).toBe(2);
    expect(widget.problems).toEqual([]);
  });

  it("if the challenge cannot be solved, the visitor can try again", async () => {
    const widget = await visitWithChallenge();
    await widget.page.route("**/api/chat/challenge/", (route) => route.abort());
    await widget.ask("quick one");
    await eventually(() => widget.notice.innerText()).toMatch(/Try again/);
    await widget.page.unroute("**/api/chat/challenge/");
    await widget.notice.getByRole("button").click();
    await eventually(() => widget.texts()).toEqual(["quick one", "Done."]);
  });
});
