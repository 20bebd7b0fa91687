import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CompatData, Identifier, SimpleSupportStatement } from "@mdn/browser-compat-data";
import { expect, it } from "vitest";
import { describeInBrowser, eventually } from "./fixture.ts";

/** The oldest browsers that docs/embed.md names. */
const OLDEST = { chrome: 109, firefox: 115, safari: 16.4 } as const;

const DATA = JSON.parse(
  readFileSync(fileURLToPath(import.meta.resolve("@mdn/browser-compat-data")), "utf8"),
) as CompatData;

/** The APIs that one of the oldest browsers lacks: `Popover`, static members such as `AbortSignal.any`, and others such as `Element#ariaBusy`. */
function listMissingApis(): string[] {
  const list = (interfaces: Identifier, forms: (owner: string, member: string) => string[]) =>
    Object.entries(interfaces).flatMap(([owner, each]) => [
      ...(isMissing(each as Identifier) ? [owner] : []),
      ...Object.entries(each)
        .filter(([member, data]) => member !== "__compat" && isMissing(data as Identifier))
        .flatMap(([member]) => forms(owner, member)),
    ]);
  return [
    ...list(DATA.api as Identifier, (owner, member) => [
      member.endsWith("_static") ? `${owner}.${member.replace("_static", "")}` : `${owner}#${member}`,
    ]),
    // The data does not tell which members of JavaScript's own objects are static.
    ...list(DATA.javascript.builtins as Identifier, (owner, member) => [`${owner}.${member}`, `${owner}#${member}`]),
  ];
}

function isMissing({ __compat: compat }: Identifier): boolean {
  return Object.entries(OLDEST).some(([browser, oldest]) => {
    const support = [compat?.support[browser as keyof typeof OLDEST] ?? []].flat() as SimpleSupportStatement[];
    const isIn = ({ version_added, version_removed, flags, alternative_name, prefix }: SimpleSupportStatement) =>
      typeof version_added === "string" &&
      toNumber(version_added) <= oldest &&
      (version_removed === undefined || toNumber(String(version_removed)) > oldest) &&
      !(flags || alternative_name || prefix);
    return support.length > 0 && !support.some(isIn);
  });
}

const toNumber = (version: string) => Number.parseFloat(version.replace("≤", ""));

/** Runs in the page: removes the APIs. */
function removeApis(names: readonly string[]): void {
  const globals = globalThis as unknown as Record<string, { prototype?: object } | undefined>;
  for (const name of names) {
    const [owner = "", member = owner] = name.split(/[.#]/);
    const holder = member === owner ? globalThis : name.includes("#") ? globals[owner]?.prototype : globals[owner];
    if (holder && Object.hasOwn(holder, member)) delete holder[member as keyof typeof holder];
  }
}

/** Runs in the page: the browser ignores modulepreload links, like Safari before 17. */
function ignoreModulePreload(): void {
  const { supports } = DOMTokenList.prototype;
  DOMTokenList.prototype.supports = function (token) {
    return token !== "modulepreload" && supports.call(this, token);
  };
  Object.defineProperty(HTMLLinkElement.prototype, "rel", { set: () => undefined });
}

describeInBrowser("in the oldest supported browsers", (fixture) => {
  const missingApis = listMissingApis();

  it("the widget chats, stops, resumes after a reload and moves the focus", async () => {
    expect(missingApis).toEqual(
      expect.arrayContaining(["AbortSignal.any", "Array#toReversed", "String#toWellFormed", "Element#ariaExpanded"]),
    );
    const logged: string[] = [];
    const widget = await fixture.visit({
      prepare: async (page) => {
        page.on("console", (message) => logged.push(message.text()));
        await page.addInitScript(removeApis, missingApis);
        await page.addInitScript(ignoreModulePreload);
      },
    });
    expect(await widget.page.evaluate(() => "any" in AbortSignal || "popover" in document.body)).toBe(false);
    await widget.open();
    await widget.askAndWait("markdown");
    await widget.ratingControls.getByRole("button", { name: "Good answer" }).click();
    await widget.ask("slow 200");
    await eventually(() => widget.answers.last().innerText()).toContain("word3");
    await widget.sendButton.click();
    await eventually(() => widget.notice.innerText()).toBe("Stopped. Try again");
    await widget.page.evaluate(() => window.Parley?.send("slow 60 \ud800"));
    await eventually(() => widget.answers.last().innerText()).toContain("word3");
    await widget.page.reload();
    await widget.open();
    await widget.ratingControls.nth(1).waitFor();
    expect(await widget.answers.last().locator(".bubble").innerText()).toContain("word60");
    await widget.input.focus();
    await widget.tabTo("New conversation");
    await widget.page.keyboard.press("Escape");
    await eventually(() => widget.panel.isVisible()).toBe(false);
    await widget.page.evaluate(() => window.Parley?.on("open", () => undefined)());
    await widget.page.evaluate(() => window.Parley?.destroy());
    expect([...logged, ...widget.problems]).toEqual([]);
  });

  it("reports an error at once if the browser is older", async () => {
    const logged: string[] = [];
    const widget = await fixture.visit({
      prepare: async (page) => {
        page.on("console", (message) => logged.push(message.text()));
        await page.addInitScript(() => {
          Object.defineProperty(window, "CSSStyleSheet", {
            value: class {
              constructor() {
                throw new TypeError("Illegal constructor");
              }
            },
          });
        });
      },
    });
    await eventually(() => logged).toContain("Parley: Illegal constructor");
    expect(await widget.host.count()).toBe(0);
  });
});
