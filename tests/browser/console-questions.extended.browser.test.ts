import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addQuestionsAndEvaluation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

describeInBrowser("questions in the console", (fixture) => {
  it("shows the share of questions for which a search found the expected document, before and after a change of the knowledge", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/evaluation?bot=${bot}`, "Evaluation");
    const add = async (question: string) => {
      await page.field("Question").fill(question);
      await page.button("Add question").click();
      await page.button(`Remove ${question}`).waitFor();
    };
    expect(await page.button("Run").isDisabled()).toBe(true);
    await add("When is bread delivered?");
    await add("Do you have parking spaces?");
    await page.field("Question").fill("When is bread delivered?");
    await page.button("Add question").click();
    await page.tab.getByText("The list has this question already.").waitFor();
    const result = page.tab.getByRole("region", { name: "Result" });
    await page.button("Run").click();
    await result.getByText("50%", { exact: true }).waitFor();
    await page.tab.getByText("Not found").waitFor();
    await page.goto(`/knowledge?bot=${bot}`);
    await page.dropFile(
      "delivery.md",
      "# Delivery\n\nWe deliver bread every morning. Parking spaces are behind the shop.",
    );
    await page.tab.getByText("Added", { exact: true }).waitFor();
    await page.goto(`/evaluation?bot=${bot}`);
    await page.button("Run").click();
    await result.getByText("100%", { exact: true }).waitFor();
    expect((await result.innerText()).replaceAll("\n", " ")).toContain(
      "Found in the last run 100% In the run before 50%",
    );
    await page.tab.getByText("Found at place 1 · before: not found").waitFor();
    await page.button("Remove Do you have parking spaces?").click();
    await eventually(() => page.announcement.innerText()).toBe("The question was removed.");
    expect(page.problems).toEqual([]);
  });

  it("shows the empty states, and an error with a retry button if a search is refused", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/questions?bot=${bot}`, "Unanswered questions");
    await page.tab.getByText("No unanswered question").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    const partial = { repliesRead: 500, partial: true, hasKnowledge: true };
    const showAll = await page.replaceResponses({ body: partial }, "ListUnanswered");
    await page.field("Period").selectOption("7 days");
    await page.tab.getByText("None was found among the latest answers. Older ones were not searched.").waitFor();
    await showAll();
    await page.openScreen("Evaluation");
    await page.tab.getByText("No question yet").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.goto(`/knowledge?bot=${bot}&question=Oslo`);
    await page.tab.getByText("Nothing was found. An answer would not be based on a document.").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    const refused = { status: 429, code: "searches_overloaded", body: { code: "resource_exhausted" } };
    const acceptSearches = await page.replaceResponses(refused, "CheckQuestion");
    await page.field("Question").fill("Bergen");
    await page.button("Search").click();
    await page.tab.getByText("The workspace has searched a lot. Try again in a minute.").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await acceptSearches();
    await page.field("Question").fill("bread");
    await page.button("Try again").click();
    await page.tab.getByText("Nothing was found.").waitFor();
  });

  it("reports that the search found passages but none fits into the prompt", async () => {
    const botSlug = await addBot(fixture.service);
    // With its heading, the passage is larger than the prompt's room for knowledge.
    const content = Buffer.from(`# ${"Parking ".repeat(1_600)}\n\nThere are ten parking spaces.`);
    const bot = { workspaceId: CONSOLE_WORKSPACE, botSlug };
    await fixture.service.admin.knowledge.addSource({ ...bot, name: "parking.md", format: "md", content });
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${botSlug}&question=parking`, "Knowledge");
    await page.tab.getByText("does not fit into the prompt").waitFor();
    await page.tab
      .getByText("No passage fits into the prompt. An answer would not be based on a document.", { exact: true })
      .waitFor({ timeout: 5_000 });
  });

  it("shows the earlier question and its passages again when the owner goes back", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    const search = async (question: string, verdict: RegExp) => {
      await page.field("Question").fill(question);
      await page.button("Search").click();
      await page.tab.getByText(verdict).waitFor();
    };
    await search("When is bread delivered?", /^The bot would look for an answer in/);
    await search("Oslo", /^Nothing was found/);
    await page.tab.goBack();
    await page.tab.getByText(/^The bot would look for an answer in/).waitFor();
    expect(await page.field("Question").inputValue()).toBe("When is bread delivered?");
    await page.tab.goBack();
    await eventually(() => page.field("Question").inputValue()).toBe("");
    await page.tab.goForward();
    await eventually(() => page.field("Question").inputValue()).toBe("When is bread delivered?");
    expect(page.problems).toEqual([]);
  });

  it("keeps the unsaved text of a document when the owner runs a search", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}&title=Gift+vouchers`, "Knowledge");
    await page.field("Text").fill("Gift vouchers are sold");
    await page.field("Question").fill("When is bread delivered?");
    await page.button("Search").click();
    await page.tab.getByText(/^The bot would look for an answer in/).waitFor();
    expect(await page.field("Title").inputValue()).toBe("Gift vouchers");
    expect(await page.field("Text").inputValue()).toBe("Gift vouchers are sold");
    expect(page.problems).toEqual([]);
  });

  it("marks a question that the last run did not search, and a question that no run has searched", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const cases = ["1", "2"].map((id) => ({ id, question: `Question ${id}?`, document: "delivery.md" }));
    const run = { ranAt: new Date().toISOString(), cases: 1, documents: 1 };
    const runs = [
      { ...run, id: "2", searched: 0, found: 0, results: [] },
      { ...run, id: "1", searched: 1, found: 1, results: [{ caseId: "1", rank: 2 }] },
    ];
    await page.replaceResponses({ body: { cases, runs } }, "GetEvaluation");
    await page.signIn(`/evaluation?bot=${bot}`, "Evaluation");
    const rows = page.tab.getByRole("list", { name: "Questions of the evaluation" }).getByRole("listitem");
    await rows.first().waitFor();
    expect((await rows.allInnerTexts()).map((text) => text.split("\n").at(-1))).toEqual([
      "Not searched in the last run · before: found at place 2 · Try",
      "Not run yet · Try",
    ]);
  });

  it("puts the selected period into the URL, and opens the conversation of a question", async () => {
    const bot = await addBot(fixture.service);
    await addQuestionsAndEvaluation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    await page.signIn(`/questions?bot=${bot}`, "Unanswered questions");
    await page.field("Period").selectOption("7 days");
    await page.tab.waitForURL(/period=week/);
    await page.tab.getByRole("link", { name: "Read the conversation: Where can I park?" }).click();
    await page.tab.getByText("Where can I park?").first().waitFor();
    await page.tab.waitForURL(/\/conversations\//);
    expect(page.problems).toEqual([]);
  });
});
