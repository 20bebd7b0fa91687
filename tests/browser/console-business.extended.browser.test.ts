import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

const DOCUMENTS = {
  "opening-hours.md":
    "# Opening hours\n\nHarbour Kayaks opens at 9 in the morning and closes at 6 in the evening. We are closed on Mondays.",
  "prices.csv": "Boat;Price for an hour\nSingle kayak;12 euros\nDouble kayak;18 euros\nPaddle board;15 euros\n",
  "safety.txt":
    "Everybody wears a life jacket, which is free. Children under ten years sit in a double kayak with an adult.",
  "directions.md":
    "# How to find us\n\nOur pier is at Lighthouse Road 7. The bus 12 stops there. Parking costs 3 euros a day.",
};
const COURSES = "A beginners' course lasts two hours and costs 40 euros. It takes place every Saturday at 10.";
/** Each with a part of its answer. */
const QUESTIONS = [
  ["When do you open?", "9 in the morning"],
  ["Are you closed on Mondays?", "closed on Mondays"],
  ["What does a double kayak cost?", "18 euros"],
  ["How much is a paddle board?", "15 euros"],
  ["Is the life jacket free?", "free"],
  ["Where can children under ten sit?", "with an adult"],
  ["Which bus stops at the pier?", "12"],
  ["What does parking cost?", "3 euros"],
  ["How long does the beginners' course last?", "two hours"],
] as const;
const UNANSWERED = "Can I bring my dog?";
const ANSWER = "Yes, dogs are welcome in our double kayaks.";

describeInBrowser("an owner with a new business", (fixture) => {
  it("gets from an empty bot to answers on a page, and writes the answer to a question without one, in the console alone", async () => {
    const slug = `kayaks-${randomUUID().slice(0, 8)}`;
    const startedAtMs = performance.now();
    const steps: string[] = [];
    const finish = (step: string) => steps.push(`${step} ${Math.round((performance.now() - startedAtMs) / 1_000)} s`);
    const { page } = await openConsole(fixture);
    await page.signIn("/bots", "Bots");
    await page.button("New bot").first().click();
    await page.field("Name").fill("Harbour Kayaks");
    await page.field("Short name").fill(slug);
    await page.button("Create bot").click();
    await page.heading("Harbour Kayaks").waitFor();
    finish("bot");
    // The model of `start`. The tests' plan has only models of a provider.
    const changes = { model: "builtin:extractive" };
    await fixture.service.admin.bots.updateBot({ workspaceId: CONSOLE_WORKSPACE, slug, changes });

    await page.openScreen("Knowledge");
    await page.dropFiles(DOCUMENTS);
    for (const name of Object.keys(DOCUMENTS)) await page.button(`Remove ${name}`).waitFor({ timeout: 60_000 });
    await page.tab.getByText("Write a text").click();
    await page.field("Title").fill("Courses");
    await page.field("Text").fill(COURSES);
    await page.button("Add text").click();
    await page.button("Remove Courses").waitFor();
    finish("documents");

    await page.openScreen("Keys");
    await page.button("New key").first().click();
    await page.field("Domains").fill("localhost");
    await page.button("Create key").click();
    const snippet = await page.tab
      .getByRole("dialog", { name: "Put the bot on your site" })
      .locator("pre code")
      .innerText();
    const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Harbour Kayaks</title>${snippet}</head><body><h1>Harbour Kayaks</h1></body></html>`;
    const visitor = await fixture.visitAndOpen({ html });
    finish("page");

    for (const [question, part] of QUESTIONS) {
      await visitor.askAndWait(question);
      expect((await visitor.texts()).at(-1), question).toContain(part);
    }
    await visitor.askAndWait(UNANSWERED);
    finish("ten questions");

    await page.goto(`/questions?bot=${slug}`);
    await page.button(`Write the answer: ${UNANSWERED}`).click();
    await page.field("Answer").fill(ANSWER);
    await page.button("Save answer").click();
    await page.tab.getByText("No unanswered question").waitFor();
    // The bot gives a new answer after at most 5 s.
    await eventually(async () => {
      await visitor.askAndWait(UNANSWERED);
      return (await visitor.texts()).at(-1);
    }, 30_000).toContain(ANSWER);
    finish("answer");
    console.log(steps.join(", "));
    expect(page.problems).toEqual([]);
  }, 300_000);
});
