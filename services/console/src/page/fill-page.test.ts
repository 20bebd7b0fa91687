import { describe, expect, it } from "vitest";
import { fillPage } from "./fill-page.ts";

const HTML = '<meta content="{{session}}"><meta content="{{edge url}}"><script nonce="{{nonce}}"></script>';

describe("fillPage", () => {
  it("writes the session into the page as JSON, or null if there is no session", () => {
    const values = { nonce: "n", edgeUrl: "https://chat.example" };
    const session = { user: "Ada", agent_id: "u1", workspace_id: "w", expires_at: "2030-01-01T00:00:00.000Z" };
    expect(fillPage(HTML, { ...values, session })).toBe(
      `<meta content="${JSON.stringify(session).replaceAll('"', "&quot;")}"><meta content="https://chat.example"><script nonce="n"></script>`,
    );
    expect(fillPage(HTML, { ...values, session: undefined })).toContain('<meta content="null">');
  });

  it("treats HTML, placeholders and replacement patterns in a user's name as text", () => {
    const session = {
      user: `"><script>alert(1)</script>{{nonce}}$'&lt;`,
      agent_id: "u1",
      workspace_id: "w",
      expires_at: "",
    };
    const html = fillPage(HTML, { nonce: "secret", edgeUrl: "", session });
    const [, content = ""] =
      /^<meta content="([^"]*)"><meta content=""><script nonce="secret"><\/script>$/.exec(html) ?? [];
    expect(content).not.toContain("secret");
    const text = content.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&");
    expect(JSON.parse(text)).toEqual(session);
  });
});
