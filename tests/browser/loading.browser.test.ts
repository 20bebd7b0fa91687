import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Manifest } from "@parley/widget";
import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";
import { recordCspViolations } from "./violations.ts";
import type { WidgetPage } from "./widget-page.ts";

describeInBrowser("loading", (fixture) => {
  const manifest = async () =>
    JSON.parse(await readFile(join(fixture.service.system.widgetDir, "manifest.json"), "utf8")) as Manifest;
  const fileOf = async (module: string) => (await manifest()).modules[module]?.[0];
  const files = (widget: WidgetPage) => widget.requestedPaths().filter((path) => !path.startsWith("/api/"));

  it("requests only the launcher and the configuration until the panel is opened, and sets no cookie", async () => {
    const widget = await fixture.visit();
    await widget.launcher.waitFor();
    await widget.page.waitForLoadState("networkidle");
    expect(widget.requestedPaths()).toEqual(["/widget.js", "/api/widget/config/"]);
    const expectedOrigins = new Set([fixture.service.url, fixture.site.origin, "null"]);
    expect(
      widget.requests.map((request) => new URL(request.url()).origin).filter((origin) => !expectedOrigins.has(origin)),
    ).toEqual([]);
    expect(await widget.page.context().cookies()).toEqual([]);
    expect(widget.problems).toEqual([]);
  });

  it("requests the panel once, when it is opened", async () => {
    const widget = await fixture.visitAndOpen();
    await widget.launcher.click();
    await widget.open();
    expect(files(widget)).toEqual(["/widget.js", `/widget/${await fileOf("panel")}`]);
    expect(await widget.page.context().cookies()).toEqual([]);
    expect(widget.problems).toEqual([]);
  });

  it("requests the controls below replies once, after the first complete reply, and again after a failure", async () => {
    const widget = await fixture.visitAndOpen({
      prepare: (page) => page.route("**/widget/tools.*", (route) => route.abort(), { times: 1 }),
    });
    const requests = () => files(widget).filter((path) => path.startsWith("/widget/tools."));
    await widget.ask("slow 20");
    await eventually(() => widget.answers.innerText()).toContain("word2");
    expect(requests()).toEqual([]);
    await eventually(requests).toHaveLength(1);
    await eventually(() => widget.answers.innerText()).toContain("word20");
    expect(await widget.ratingControls.count()).toBe(0);
    await widget.ask("quick");
    await eventually(() => widget.ratingControls.count()).toBe(2);
    await widget.askAndWait("quick");
    const chunk = `/widget/${await fileOf("tools")}`;
    expect(requests()).toEqual([chunk, chunk]);
    expect(widget.problems).toEqual([]);
  });

  it("works on a page whose Content Security Policy limits scripts and connections to the service's origin", async () => {
    const { url } = fixture.service;
    const policy = `script-src ${url}; style-src 'self'; connect-src ${url}; require-trusted-types-for 'script'; trusted-types 'none'`;
    const violations: string[] = [];
    const widget = await fixture.visit({
      headers: { "Content-Security-Policy": policy },
      attributes: { "data-lang": "de" },
      body: `<h1>A strict page</h1>`,
      prepare: (page) => recordCspViolations(page, violations),
    });
    await widget.open();
    await widget.askAndWait("markdown");
    await widget.ratingControls.getByRole("button").first().click();
    await widget.panel.getByRole("button", { name: "Neue Unterhaltung" }).click();
    await widget.launcher.click();
    expect(violations).toEqual([]);
    expect(widget.problems).toEqual([]);
    // Loads a forbidden script, to check that the policy is in force and that violations are recorded.
    await widget.page.addScriptTag({ url: `${fixture.site.origin}/x.js` }).catch(() => undefined);
    await eventually(() => violations.length).toBeGreaterThan(0);
  });

  it("does not run a panel that does not match its checksum", async () => {
    const widget = await fixture.visit({
      prepare: (page) =>
        page.route("**/widget/panel.*", async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, body: `document.title = "taken over";${await response.text()}` });
        }),
    });
    await widget.launcher.click();
    await eventually(() => widget.host.getByRole("alert").innerText()).toBe(
      "The chat could not be loaded. Please try again.",
    );
    expect(await widget.page.title()).toBe("A customer's page");
    expect(await widget.panel.count()).toBe(0);
  });

  it("opens the panel on the next click after a fetch of the panel failed", async () => {
    const widget = await fixture.visit({ attributes: { "data-lang": "fr" } });
    await widget.launcher.waitFor();
    await widget.page.route("**/widget/panel.*", (route) => route.abort());
    await widget.launcher.click();
    await eventually(() => widget.host.getByRole("alert").innerText()).toBe(
      "Le chat n’a pas pu être chargé. Veuillez réessayer.",
    );
    expect(await widget.findAxeViolations()).toEqual([]);
    await widget.page.context().setOffline(true);
    await widget.launcher.click();
    await eventually(() => widget.host.getByRole("alert").innerText()).toBe(
      "The chat could not be loaded. Please try again.",
    );
    await widget.page.unroute("**/widget/panel.*");
    await widget.page.context().setOffline(false);
    await widget.open();
    expect(await widget.host.getByRole("alert").count()).toBe(0);
    expect(widget.problems).toEqual([]);
  });

  it("opens the current panel on a page that was loaded before an upgrade", async () => {
    const widget = await fixture.visit({
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
      `/widget/${await fileOf("panel")}`,
    ]);
  });

  it("loads the current files of what is needed later, on a page whose panel was loaded before an upgrade", async () => {
    const { modules } = await manifest();
    const renamed = Object.entries(modules).map(([name, [, hash]]) => [name, [`${name}.0123456789.js`, hash]] as const);
    const widget = await fixture.visitAndOpen({
      prepare: async (page) => {
        await page.route("**/widget/manifest.json", (route) =>
          route.fulfill({
            headers: { "Access-Control-Allow-Origin": "*" },
            json: { modules: Object.fromEntries(renamed) },
          }),
        );
        // The upgrade has replaced the files of the open page.
        await page.route(/widget\/(tools|notices)\.(?!0123456789)[\da-f]{10}\.js/, (route) =>
          route.fulfill({ status: 404, headers: { "Access-Control-Allow-Origin": "*" } }),
        );
        await page.route("**/widget/*.0123456789.js", async (route) => {
          const name = new URL(route.request().url()).pathname.split(/[/.]/)[2] ?? "";
          const url = `${fixture.service.url}/widget/${modules[name]?.[0]}`;
          await route.fulfill({ response: await route.fetch({ url }) });
        });
      },
    });
    await widget.askAndWait("quick");
    await widget.refuseChat(400, "message_too_long");
    await widget.ask("quick again");
    await eventually(() => widget.notice.innerText()).toContain("This message is too long.");
    expect(files(widget).slice(2)).toEqual([
      `/widget/${modules.tools?.[0]}`,
      "/widget/manifest.json",
      "/widget/tools.0123456789.js",
      `/widget/${modules.notices?.[0]}`,
      "/widget/manifest.json",
      "/widget/notices.0123456789.js",
    ]);
    expect(widget.problems).toEqual([]);
  });

  it("shows nothing if the key is refused, and logs the error code to the browser's console", async () => {
    const logged: string[] = [];
    const widget = await fixture.visit({
      publicKey: "svc_pk_unknown",
      prepare: async (page) => page.on("console", (message) => logged.push(message.text())),
    });
    await eventually(() => logged).toContain("Parley: invalid_api_key");
    expect(await widget.host.count()).toBe(0);
    expect(widget.problems).toEqual([]);
  });

  it("does not repeat a request that a proxy refuses with an HTML page, and logs the status to the browser's console", async () => {
    const logged: string[] = [];
    const refusal = {
      status: 403,
      headers: { "Access-Control-Allow-Origin": "*" },
      contentType: "text/html",
      body: "<h1>No</h1>",
    };
    const widget = await fixture.visit({
      prepare: async (page) => {
        page.on("console", (message) => logged.push(message.text()));
        await page.route("**/api/widget/config/**", (route) => route.fulfill(refusal));
      },
    });
    await eventually(() => logged).toContain("Parley: 403");
    expect(widget.requestedPaths().filter((path) => path === "/api/widget/config/")).toHaveLength(1);
  });

  it("requests the configuration again after a 503 with Retry-After", async () => {
    const widget = await fixture.visit({
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
    expect(widget.requestedPaths().filter((path) => path === "/api/widget/config/")).toHaveLength(2);
  });
});
