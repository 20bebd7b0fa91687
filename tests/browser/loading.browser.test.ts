import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Manifest } from "@parley/widget";
import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./stage.ts";
import { recordViolations } from "./violations.ts";
import type { WidgetPage } from "./widget-page.ts";

describeInBrowser("loading", (stage) => {
  const manifest = async () =>
    JSON.parse(await readFile(join(stage.service.system.widgetDir, "manifest.json"), "utf8")) as Manifest;
  const files = (widget: WidgetPage) => widget.paths().filter((path) => !path.startsWith("/api/"));

  it("asks for the launcher and one configuration before the visitor opens it, and sets no cookie", async () => {
    const widget = await stage.visit();
    await widget.launcher.waitFor();
    await widget.page.waitForLoadState("networkidle");
    expect(widget.paths()).toEqual(["/widget.js", "/api/widget/config/"]);
    const own = new Set([stage.service.url, stage.site.origin, "null"]);
    expect(
      widget.requests.map((request) => new URL(request.url()).origin).filter((origin) => !own.has(origin)),
    ).toEqual([]);
    expect(await widget.page.context().cookies()).toEqual([]);
    expect(widget.problems).toEqual([]);
  });

  it("asks for the panel once, when it is opened", async () => {
    const widget = await stage.visitAndOpen();
    await widget.launcher.click();
    await widget.open();
    expect(files(widget)).toEqual(["/widget.js", `/widget/${(await manifest()).panel[0]}`]);
    expect(await widget.page.context().cookies()).toEqual([]);
    expect(widget.problems).toEqual([]);
  });

  it("works under a policy that names the service's origin alone, and is reported by nothing", async () => {
    const { url } = stage.service;
    const policy = `script-src ${url}; style-src 'self'; connect-src ${url}; require-trusted-types-for 'script'; trusted-types 'none'`;
    const violations: string[] = [];
    const widget = await stage.visit({
      headers: { "Content-Security-Policy": policy },
      attributes: { "data-lang": "de" },
      body: `<h1>A strict page</h1>`,
      prepare: (page) => recordViolations(page, violations),
    });
    await widget.open();
    await widget.askAndWait("markdown");
    await widget.ratable.getByRole("button").first().click();
    await widget.panel.getByRole("button", { name: "Neue Unterhaltung" }).click();
    await widget.launcher.click();
    expect(violations).toEqual([]);
    expect(widget.problems).toEqual([]);
    // The policy is in force, and this is how a violation would show.
    await widget.page.addScriptTag({ url: `${stage.site.origin}/x.js` }).catch(() => undefined);
    await eventually(() => violations.length).toBeGreaterThan(0);
  });

  it("does not run a panel that is not the one it was built with", async () => {
    const widget = await stage.visit({
      prepare: (page) =>
        page.route("**/widget/panel.*", async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, body: `document.title = "taken over";${await response.text()}` });
        }),
    });
    await widget.launcher.click();
    await eventually(() => widget.host.getByRole("alert").innerText()).toBe("Please try again.");
    expect(await widget.page.title()).toBe("A customer's page");
    expect(await widget.panel.count()).toBe(0);
  });

  it("opens on the next try when the panel could not be fetched", async () => {
    const widget = await stage.visit({ attributes: { "data-lang": "fr" } });
    await widget.launcher.waitFor();
    await widget.page.context().setOffline(true);
    await widget.launcher.click();
    await eventually(() => widget.host.getByRole("alert").innerText()).toBe("Veuillez réessayer.");
    expect(await widget.violations()).toEqual([]);
    await widget.page.context().setOffline(false);
    await widget.open();
    expect(await widget.host.getByRole("alert").count()).toBe(0);
    expect(widget.problems).toEqual([]);
  });

  it("opens the panel of today on a page that was open before an upgrade", async () => {
    const widget = await stage.visit({
      prepare: (page) =>
        page.route("**/widget.js", async (route) => {
          const response = await route.fetch();
          const launcher = (await response.text()).replace(/panel\.[\da-f]{10}\.js/, "panel.0123456789.js");
          await route.fulfill({ response, body: launcher });
        }),
    });
    await widget.open();
    expect(files(widget)).toEqual([
      "/widget.js",
      "/widget/panel.0123456789.js",
      "/widget/manifest.json",
      `/widget/${(await manifest()).panel[0]}`,
    ]);
  });

  it("shows nothing where the key is not accepted, and tells the page's author why", async () => {
    const said: string[] = [];
    const widget = await stage.visit({
      publicKey: "svc_pk_unknown",
      prepare: async (page) => page.on("console", (message) => said.push(message.text())),
    });
    await eventually(() => said).toContain("Parley: invalid_api_key");
    expect(await widget.host.count()).toBe(0);
    expect(widget.problems).toEqual([]);
  });

  it("asks for the configuration again when the service says to wait", async () => {
    const widget = await stage.visit({
      prepare: (page) =>
        page.route(
          "**/api/widget/config/**",
          (route) =>
            route.fulfill({
              status: 503,
              headers: {
                "Access-Control-Allow-Origin": "*",
                "Access-Control-Expose-Headers": "Retry-After",
                "Retry-After": "1",
              },
              contentType: "application/json",
              body: '{"error":"unavailable"}',
            }),
          { times: 1 },
        ),
    });
    await widget.launcher.waitFor();
    expect(widget.paths().filter((path) => path === "/api/widget/config/")).toHaveLength(2);
  });
});
