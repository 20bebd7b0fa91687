import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

const PARKING = { questions: ["Where can I park?", "Is there a car park?"], answer: "Behind the **shop**." };

describeInBrowser("the console's screen Answers", (fixture) => {
  const workspaceId = CONSOLE_WORKSPACE;
  const answers = () => fixture.service.admin.answers;

  it("adds, tries, changes and removes an answer with the keyboard alone, and announces each change", async () => {
    const botSlug = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/answers?bot=${botSlug}`, "Answers");
    await page.tab.getByText("No answer yet").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo("New answer");
    await keyboard.press("Enter");
    await eventually(() => page.focusedName()).toBe("Questions");
    await keyboard.type("Where can I park?\n\n Is there a car park? ");
    await page.tabTo("Answer");
    await keyboard.type("Behind the shop.");
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("new-answer");
    await page.tabTo("Save answer");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toBe(
      "The answer was saved. The bot gives it within seconds.",
    );
    const row = page.tab.getByRole("list", { name: "Answers" }).getByRole("listitem");
    await row.first().waitFor();
    expect(await row.innerText()).toMatch(/^Where can I park\?\s*More questions: 1\s*Behind the shop\.\s*Edit$/);
    // The button that opened the dialog was below "No answer yet", and has gone.
    await eventually(() => page.focusedName()).toBe("MAIN");

    await page.tabTo("Message");
    await keyboard.type("is there a CAR PARK");
    await page.tab.getByText("The bot gives this answer, because the message asks Is there a car park?:").waitFor();
    await page.retype("Is there a park for dogs?");
    await page.tab.getByText(/^The bot gives none of these answers\. The nearest question is/).waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.retype("Bananas!");
    await page.tab.getByText("The bot gives none of these answers: no question has a word of the message.").waitFor();

    await page.tabTo(/^Edit .*Where can I park\?/, "Shift+Tab");
    await keyboard.press("Enter");
    await page.tabTo("Answer");
    await page.retype("Behind the garage.");
    await page.tabTo("Save answer");
    await keyboard.press("Enter");
    await page.tab.getByText("Behind the garage.").first().waitFor();
    await eventually(() => page.focusedName()).toMatch(/^Edit .*Where can I park\?/);
    await page.tabTo(/^Remove .*Where can I park\?/);
    await keyboard.press("Enter");
    await page.button("Remove").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The answer was removed.");
    await page.tab.getByText("No answer yet").waitFor();
    await eventually(() => page.focusedName()).toBe("MAIN");
    expect(page.problems).toEqual([]);
  });

  it("searches questions and texts without regard to accents, and shows 25 answers at a time", async () => {
    const botSlug = await addBot(fixture.service);
    for (let number = 1; number <= 27; number++)
      await answers().addAnswer({
        workspaceId,
        botSlug,
        questions: [`Question ${number}?`],
        answer: `Réponse ${number}.`,
      });
    const { page } = await openConsole(fixture, { viewport: { width: 320, height: 640 } });
    await page.signIn(`/answers?bot=${botSlug}`, "Answers");
    const rows = page.tab.getByRole("list", { name: "Answers" }).getByRole("listitem");
    await eventually(() => rows.count()).toBe(25);
    expect(await page.scrollsSideways()).toBe(false);
    await page.button("Show more").press("Enter");
    await eventually(() => rows.nth(25).evaluate((row) => row === document.activeElement)).toBe(true);
    expect(await rows.count()).toBe(27);
    await page.field("Search").fill("REPONSE 27");
    await eventually(() => rows.count()).toBe(1);
    await page.tab.getByText("Answers found: 1").waitFor();
    await page.field("Search").fill("bicycle");
    await page.tab.getByText("No answer matches").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  });

  it("is opened from an unanswered question, which leaves the list of open ones as soon as its answer is saved", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot, { message: "Do you sell gift vouchers?" });
    await addConversation(fixture.service, bot, { message: "Where can I park?" });
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/questions?bot=${bot}`, "Unanswered questions");
    await page.tabTo("Write the answer: Where can I park?");
    await keyboard.press("Enter");
    await eventually(() => page.focusedName()).toBe("Questions");
    expect(await page.field("Questions").inputValue()).toBe("Where can I park?");
    await page.tabTo("Answer");
    await keyboard.type("Behind the shop.");
    await page.tabTo("Save answer");
    await keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toContain("The answer was saved.");
    const rows = page.tab.getByRole("list", { name: "Unanswered questions" }).getByRole("listitem");
    await eventually(() => rows.count()).toBe(1);
    await eventually(() => page.focusedName()).toBe("Write the answer: Do you sell gift vouchers?");
    await page.tab.getByText("Questions shown: 1").waitFor();
    await page.field("Status").selectOption("Answered since");
    await page.tab.getByRole("link", { name: "Answered since by an answer of yours" }).waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.field("Status").selectOption("All");
    await eventually(() => rows.count()).toBe(2);
    expect((await answers().listAnswers({ workspaceId, botSlug: bot })).answers).toMatchObject([
      { questions: ["Where can I park?"], answer: "Behind the shop." },
    ]);
    expect(page.problems).toEqual([]);
  });

  it("keeps what was typed when the network fails or the service refuses it", async () => {
    const botSlug = await addBot(fixture.service);
    const { page, context } = await openConsole(fixture);
    await page.signIn(`/answers?bot=${botSlug}`, "Answers");
    await page.button("New answer").click();
    await page.field("Questions").fill("?");
    await page.field("Answer").fill(PARKING.answer);
    await page.button("Save answer").click();
    await page.tab.getByText("Questions must each have a word.").waitFor();
    await page.field("Questions").fill(PARKING.questions.join("\n"));
    await context.setOffline(true);
    await page.button("Save answer").click();
    await page.tab.getByText("You are offline.").first().waitFor();
    expect(await page.field("Answer").inputValue()).toBe(PARKING.answer);
    await context.setOffline(false);
    await eventually(async () => (await answers().listAnswers({ workspaceId, botSlug })).answers).toMatchObject([
      PARKING,
    ]);
  });

  it("keeps what was typed for a question that somebody asks again meanwhile, and for an answer that is removed meanwhile", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot, { message: "Where can I park?" });
    const { page, context } = await openConsole(fixture);
    let clockMs = Date.now();
    const readAgain = async (method: string) => {
      // Until then, what was read counts as fresh.
      clockMs += 60_000;
      await page.tab.clock.setSystemTime(clockMs);
      const response = page.tab.waitForResponse((each) => each.url().endsWith(method));
      // The page reads its lists again when the connection is back.
      await context.setOffline(true);
      await context.setOffline(false);
      await response;
    };
    await page.signIn(`/questions?bot=${bot}`, "Unanswered questions");
    await page.button("Write the answer: Where can I park?").click();
    await page.field("Answer").fill(PARKING.answer);
    await addConversation(fixture.service, bot, { message: "where can I PARK" });
    await readAgain("ListUnanswered");
    await page.tab.locator(".row.question", { hasText: /where can I PARK/ }).waitFor();
    expect(await page.field("Answer").inputValue()).toBe(PARKING.answer);
    await page.button("Save answer").click();
    await page.tab.getByText("No unanswered question").waitFor();

    await page.goto(`/answers?bot=${bot}`);
    await page.tab.getByRole("button", { name: /^Edit .*Where can I park/ }).click();
    await page.field("Answer").fill("Behind the garage.");
    const [answer] = (await answers().listAnswers({ workspaceId, botSlug: bot })).answers;
    await answers().removeAnswer({ workspaceId, botSlug: bot, id: answer?.id ?? 0n });
    await readAgain("ListAnswers");
    await page.tab.getByText("No answer yet").waitFor();
    await page.button("Save answer").click();
    await page.tab.getByText("This answer no longer exists. Reload the page.").waitFor();
    expect(await page.field("Answer").inputValue()).toBe("Behind the garage.");
    expect(page.problems).toEqual([]);
  });

  it("is part of an evaluation: the bot gives the answer in place of a document", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/evaluation?bot=${bot}`, "Evaluation");
    await page.field("Question").fill("Where can I park?");
    await page.field("What answers it").selectOption("An answer of yours");
    await page.button("Add question").click();
    await page.button("Remove Where can I park?").waitFor();
    await page.button("Run").click();
    await page.tab.getByText("Not found").waitFor();
    await answers().addAnswer({ workspaceId, botSlug: bot, ...PARKING });
    await page.button("Run").click();
    await page.tab.getByText("Your answer is given · before: not found").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  });
});
