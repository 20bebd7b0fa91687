import { SignJWT } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import type { WidgetPage } from "./widget-page.ts";

describeInBrowser("visitor tokens", (fixture) => {
  let kid: string;
  let secret: string;
  beforeAll(async () => {
    const { service } = fixture;
    const { workspaceId } = service.system;
    const created = await service.admin.identityKeys.createIdentityKey({ workspaceId });
    kid = created.key?.kid ?? "";
    secret = created.secret;
  });
  afterAll(async () => {
    const { workspaceId } = fixture.service.system;
    await fixture.service.admin.identityKeys.revokeIdentityKey({ workspaceId, kid });
  });

  const signToken = (sub: string, expiresIn = "1h") =>
    new SignJWT({ sub })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(expiresIn)
      .sign(new TextEncoder().encode(secret));
  const chats = (widget: WidgetPage) => widget.postedBodies("/api/chat/");
  const keys = (widget: WidgetPage) =>
    widget.requests
      .filter((request) => request.method() === "POST" && request.url().endsWith("/api/chat/"))
      .map((request) => request.headers()["idempotency-key"]);

  /** Opens a page whose function returns these tokens, one after the other, and then the last one. Returns how often the page was asked. */
  async function visitWithTokens(tokens: string[]) {
    let asked = 0;
    const widget = await fixture.visit();
    await widget.page.exposeFunction("readToken", () => tokens[Math.min(asked++, tokens.length - 1)]);
    await widget.page.evaluate(() => {
      const { readToken } = window as unknown as { readToken: () => Promise<string> };
      window.Parley?.identify({ visitorId: "A", visitorToken: readToken });
    });
    await widget.open();
    return { widget, countAsked: () => asked };
  }

  it("a token that the page gives is sent with each message, and with a rating", async () => {
    const widget = await fixture.visitAndOpen();
    const visitorToken = await signToken("A");
    await widget.page.evaluate(
      (token) => window.Parley?.identify({ visitorId: "A", visitorToken: token }),
      visitorToken,
    );
    await widget.askAndWait("quick one");
    await widget.ratingControls.first().getByRole("button").first().click();
    await eventually(() => widget.postedBodies("/api/chat/rating/")).toMatchObject([{ visitor_token: visitorToken }]);
    await eventually(() => widget.ratingControls.first().getByRole("button", { pressed: true }).count()).toBe(1);
    await widget.askAndWait("quick two");
    expect(chats(widget).map((body) => body.visitor_token)).toEqual([visitorToken, visitorToken]);
  });

  it("if a token has expired, the page is asked for another one, and the same message is sent again", async () => {
    const tokens = [await signToken("A", "-1m"), await signToken("A")];
    const { widget, countAsked } = await visitWithTokens(tokens);
    await widget.askAndWait("quick question");
    expect(await widget.texts()).toEqual(["quick question", "Done."]);
    expect(chats(widget).map((body) => body.visitor_token)).toEqual(tokens);
    expect(new Set(keys(widget)).size).toBe(1);
    expect(countAsked()).toBe(2);
  });

  it("if the second token is refused too, the visitor can try again", async () => {
    const { widget, countAsked } = await visitWithTokens([await signToken("A", "-1m")]);
    await widget.ask("quick question");
    await eventually(() => widget.notice.innerText()).toMatch(
      /^This page could not confirm who you are\. Please try again, or sign in again\. Try again/,
    );
    expect(countAsked()).toBe(2);
  });

  it("if the page's function fails, nothing is sent; the message stays, also after a reload, and can be sent again", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.page.evaluate(() =>
      window.Parley?.identify({ visitorId: "A", visitorToken: () => Promise.reject(new Error("503")) }),
    );
    await widget.ask("quick question");
    const notice = /^This page could not confirm who you are\. Please try again, or sign in again\. Try again$/;
    await eventually(() => widget.notice.innerText()).toMatch(notice);
    expect(chats(widget)).toEqual([]);
    await widget.page.reload();
    await widget.open();
    await eventually(() => widget.notice.innerText()).toMatch(notice);
    const visitorToken = await signToken("A");
    await widget.page.evaluate(
      (token) => window.Parley?.identify({ visitorId: "A", visitorToken: token }),
      visitorToken,
    );
    await widget.notice.getByRole("button", { name: "Try again" }).click();
    await eventually(() => widget.texts()).toEqual(["quick question", "Done."]);
    expect(chats(widget).map((body) => body.visitor_token)).toEqual([visitorToken]);
    expect(widget.problems).toEqual([]);
  });

  it("if the session has another visitor, the message starts a new session", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.askAndWait("quick one");
    await widget.refuseChat(409, "visitor_mismatch");
    await widget.ask("quick two");
    await eventually(() => widget.texts()).toEqual(["quick two", "Done."]);
    const sessions = chats(widget).map((body) => body.session_id);
    expect(sessions).toHaveLength(3);
    expect(sessions[1]).toBe(sessions[0]);
    expect(sessions[2]).not.toBe(sessions[0]);
  });

  it("a session of a verified visitor is not continued without the token: the message starts a new session", async () => {
    const widget = await fixture.visitAndOpen();
    const visitorToken = await signToken("A");
    await widget.page.evaluate((token) => window.Parley?.identify({ visitorToken: token }), visitorToken);
    await widget.askAndWait("quick secret");
    await widget.page.evaluate(() => window.Parley?.identify({ visitorToken: undefined }));
    await widget.ask("quick new");
    await eventually(() => widget.texts()).toEqual(["quick new", "Done."]);
    const sessions = chats(widget).map((body) => body.session_id);
    expect(new Set(sessions).size).toBe(2);
  });

  it("a reset forgets the token, in every tab", async () => {
    const { widget } = await visitWithTokens([await signToken("A")]);
    await widget.askAndWait("quick one");
    const other = await fixture.visitAndOpen({ sameVisitorAs: widget });
    await other.page.evaluate(() => window.Parley?.reset());
    await eventually(() => widget.texts()).toEqual([]);
    await widget.askAndWait("quick two");
    expect(chats(widget).at(-1)).not.toHaveProperty("visitor_token");
  });
});
