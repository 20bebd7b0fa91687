import { queryRows } from "@parley/test-support";
import { beforeAll, expect, it } from "vitest";
import { describeInBrowser, eventually, type Visit } from "./fixture.ts";
import type { TestBot } from "./service.ts";

const PAGE = "https://shop.example.com/delivery";
const DOCUMENTS = { [PAGE]: "# Delivery\n\nBread takes two days.", "دليل الأسعار.txt": "Bread costs four euros." };

describeInBrowser("the sources of a reply", (fixture) => {
  let bot: TestBot;
  beforeAll(async () => {
    const { service } = fixture;
    const { workspaceId, databaseUrl } = service.system;
    bot = await service.addBot({});
    await service.admin.bots.updateBot({ workspaceId, slug: bot.slug, changes: { showSources: "all" } });
    for (const [name, text] of Object.entries(DOCUMENTS)) {
      const document = { name, format: "md", content: Buffer.from(text) };
      await service.admin.knowledge.addSource({ workspaceId, botSlug: bot.slug, ...document });
    }
    // No test can fetch a public page.
    const mark = "UPDATE conversation.knowledge_sources SET url = name WHERE workspace_id = $1 AND name = $2";
    await queryRows(databaseUrl, mark, [workspaceId, PAGE]);
  });

  /** Opens the panel and asks. The provider repeats the question, so that it cites the passages that the question names. */
  async function ask(question: string, visit: Visit = {}) {
    const widget = await fixture.visitAndOpen({ publicKey: bot.publicKey, ...visit });
    await widget.ask(question);
    const list = widget.answers.last().locator(".sources");
    await list.waitFor();
    const name = async (number: number) => (await list.locator(`li[value="${number}"]`).innerText()).trim();
    return { widget, list, answer: widget.answers.last(), names: [await name(1), await name(2)] };
  }

  it("are footnotes and a list, can be used with the keyboard, and stay after a reload", async () => {
    const { widget, list, answer, names } = await ask("Bread [1] and [2], `a[1]`, [1] or [7]?");
    expect(names.toSorted((a, b) => a.localeCompare(b))).toEqual(["Delivery", "دليل الأسعار.txt"]);
    expect(await answer.locator(".bubble").innerText()).toBe("You asked: Bread [1] and [2], a[1], [1] or?");
    const footnotes = answer.locator(".footnote");
    const labels = () => footnotes.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")));
    expect(await labels()).toEqual([1, 2, 1].map((number) => `Source ${number}: ${names[number - 1]}`));
    expect(await list.getByRole("listitem").count()).toBe(2);
    expect(await answer.getByRole("group", { name: "Sources" }).count()).toBe(1);
    const pages = answer.locator("a");
    for (const page of await pages.all()) {
      expect([await page.getAttribute("href"), await page.getAttribute("target")]).toEqual([PAGE, "_blank"]);
      expect(await page.getAttribute("rel")).toContain("noopener");
    }
    expect(await widget.findAxeViolations()).toEqual([]);

    // A document without a link: its footnote leads to its title.
    const file = names.indexOf("دليل الأسعار.txt") + 1;
    await widget.tabTo(`Source ${file}: دليل الأسعار.txt`, "Shift+Tab");
    await widget.page.keyboard.press("Enter");
    expect(await list.locator(`li[value="${file}"]`).evaluate((item) => item.matches(":focus"))).toBe(true);

    await widget.page.reload();
    await eventually(() => footnotes.count()).toBe(3);
    expect(await labels()).toEqual([1, 2, 1].map((number) => `Source ${number}: ${names[number - 1]}`));
    expect(await answer.locator(".sources").count()).toBe(1);
    expect(widget.problems).toEqual([]);
  });

  it("are in the visitor's language, and read from right to left", async () => {
    const { widget, list } = await ask("Bread [1] [2]", { htmlAttributes: 'lang="ar" dir="rtl"' });
    expect(await list.getAttribute("aria-label")).toBe("المصادر");
    expect(await list.evaluate((element) => getComputedStyle(element).direction)).toBe("rtl");
    expect(await widget.findAxeViolations()).toEqual([]);
  });

  it("are not there if the reply cites nothing", async () => {
    const widget = await fixture.visitAndOpen({ publicKey: bot.publicKey });
    await widget.ask("Bread [9] and `[1]`");
    await widget.ratingControls.first().waitFor();
    expect(await widget.answers.last().locator(".bubble").innerText()).toBe("You asked: Bread and [1]");
    expect(await widget.answers.last().locator(".sources, .footnote").count()).toBe(0);
  });
});
