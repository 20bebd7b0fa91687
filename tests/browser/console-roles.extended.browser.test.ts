import { queryRows } from "@parley/test-support";
import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation, addQuestionsAndEvaluation } from "./console-bot.ts";
import { type ConsolePage, openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";
import type { Service } from "./service.ts";

const PHONE = { width: 375, height: 812 };
const VIEWER = "demo-viewer";
const AGENT = "demo-agent";
const FORBIDDEN = "Your role does not allow this. Ask an owner of the workspace.";
const FILTERS = ["Search", "Bot", "Visitor's rating", "Owners' review", "Where", "Visitor", "From", "To"];

type Screen = {
  path: string;
  /** A text of the loaded screen. */
  text: string;
  /** The names that findControls returns for a viewer. */
  controls: string[];
};

describeInBrowser("roles in the console", (fixture) => {
  it("shows a viewer every screen, without the controls for actions that the services would refuse", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot);
    const sessionId = await reviewAnswer(fixture.service, bot);
    await addQuestionsAndEvaluation(fixture.service, bot);
    await waitForReplyCounts(fixture.service);
    const { page } = await openConsole(fixture);
    const statuses = recordStatuses(page);
    await page.signInAs(VIEWER);
    await page.heading("Overview").waitFor();
    for (const { path, text, controls } of screensOf(bot, sessionId)) {
      await page.goto(path);
      await page.tab.getByText(text).first().waitFor();
      await eventually(() => page.tab.locator(".loading").count()).toBe(0);
      const readControls = async () => ({ path, controls: new Set(await findControls(page)) });
      await eventually(readControls).toEqual({ path, controls: new Set(controls) });
      expect(await page.findAxeViolations(), path).toEqual([]);
      expect(await page.scrollsSideways(), path).toBe(false);
      await page.savePicture(`viewer${path.split("?")[0]?.replaceAll("/", "-")}`);
    }
    expect(statuses).toEqual(new Set([200]));
    expect(page.problems).toEqual([]);
  }, 180_000);

  it("lets a viewer try a question and talk to the bot with the keyboard, but not add the question to the evaluation", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signInAs(VIEWER, `/knowledge?bot=${bot}`);
    await page.field("Question").waitFor();
    await page.tabTo("Question");
    await page.tab.keyboard.type("When is bread delivered?");
    await page.tab.keyboard.press("Enter");
    await page.tab.getByText("The bot would look for an answer in this passage.").waitFor();
    expect(await page.tab.getByRole("link", { name: "Add to the evaluation" }).count()).toBe(0);
    await page.tabTo(page.preview.locator("textarea"));
    await page.tab.keyboard.type("When is bread delivered?");
    await page.tab.keyboard.press("Enter");
    await page.preview.locator(".assistant .rating").first().waitFor();
    expect(page.problems).toEqual([]);
  });

  it("leaves the audit log and the recipients of e-mail out of a viewer's navigation, and shows whom to ask", async () => {
    const { page } = await openConsole(fixture);
    await page.signInAs(VIEWER, "/audit-log");
    await page.tab.getByText(FORBIDDEN).waitFor();
    const screens = page.tab.getByRole("navigation", { name: "Screens" }).getByRole("link");
    const names = await screens.allInnerTexts();
    expect(names).toContain("Usage");
    expect(names).not.toContain("Audit log");
    expect(names).not.toContain("E-mail");
    await page.tab.getByRole("button", { name: /Demo viewer.*Viewer · console-tests/s }).waitFor();
  });

  it("shows an agent conversations, without the controls for other actions, and no other screen", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot);
    const sessionId = await reviewAnswer(fixture.service, bot);
    const { page } = await openConsole(fixture);
    const statuses = recordStatuses(page);
    await page.signInAs(AGENT);
    await page.heading("Inbox").waitFor();
    await page.openScreen("Conversations");
    await page.tab.getByText("Reviewed as bad").first().waitFor();
    const screens = page.tab.getByRole("navigation", { name: "Screens" }).getByRole("link");
    expect(await screens.allInnerTexts()).toEqual(["Inbox", "Conversations", "Canned replies"]);
    expect(new Set(await findControls(page))).toEqual(new Set(FILTERS.filter((name) => name !== "Bot")));
    await page.tab.getByRole("button", { name: /Demo agent.*Agent · console-tests/s }).waitFor();
    await page.goto(`/conversations/${sessionId}`);
    await page.tab.getByText("Reviewed as bad").first().waitFor();
    const controls = [
      "Conversations",
      "Answer the visitor",
      "Add a private note",
      "1 passage of knowledge",
      "Technical details",
    ];
    expect(await findControls(page)).toEqual(controls);
    expect(await page.findAxeViolations()).toEqual([]);
    const others = screensOf(bot, sessionId).filter(({ path }) => !/^\/(?:conversations|canned-replies)/.test(path));
    for (const { path } of others) {
      await page.goto(path);
      await page.tab.getByText(FORBIDDEN).waitFor();
      expect(await findControls(page), path).toEqual([]);
    }
    await page.goto("/nothing-here");
    await page.tab.getByText("Page not found").first().waitFor();
    expect(await findControls(page)).toEqual(["Conversations"]);
    expect(statuses).toEqual(new Set([200]));
    expect(page.problems).toEqual([]);
  }, 60_000);

  it("on any screen, tells a member without a role how to get one, and sends no request", async () => {
    const { page } = await openConsole(fixture, { viewport: PHONE });
    await page.signInAs("demo-guest", "/conversations");
    await page.heading("No access").waitFor();
    page.takeRequestPaths();
    await page.goto("/keys");
    await page.heading2("Your account has no role in this workspace").waitFor();
    await page.tab.getByText("Ask the person who runs Parley to give you a role.").waitFor();
    await page.waitUntilQuiet();
    expect(page.takeRequestPaths()).toEqual([]);
    expect(await page.tab.getByRole("navigation", { name: "Screens" }).count()).toBe(0);
    expect(await page.findAxeViolations()).toEqual([]);
    expect(await page.scrollsSideways()).toBe(false);
    await page.savePicture("no-role");
    await page.tabTo("Sign out");
    await page.tab.keyboard.press("Enter");
    await page.tab.getByText("You are signed out.").waitFor();
    expect(page.problems).toEqual([]);
  });
});

function screensOf(bot: string, sessionId: string): Screen[] {
  const questions = ["gift vouchers, do you sell them?", "Where can I park?"];
  return [
    { path: "/bots", text: "Bakery guide", controls: [] },
    { path: `/bots/${bot}`, text: "You answer questions about a bakery", controls: ["Bot", "Bots"] },
    {
      path: `/knowledge/document?bot=${bot}&name=delivery.md`,
      text: "We deliver bread every morning",
      controls: ["Knowledge"],
    },
    { path: `/knowledge?bot=${bot}`, text: "delivery.md", controls: ["Bot", "delivery.md", "Question", "Search"] },
    {
      path: `/knowledge?bot=${bot}&question=When+is+bread+delivered%3F&title=Gift+vouchers`,
      text: "The bot would look for an answer in this passage.",
      controls: ["Bot", "delivery.md", "Question", "Search"],
    },
    {
      path: `/knowledge?bot=${bot}&question=Oslo`,
      text: "Nothing was found.",
      controls: ["Bot", "delivery.md", "Question", "Search"],
    },
    {
      path: `/questions?bot=${bot}`,
      text: "Where can I park?",
      controls: [
        ...["Bot", "Status", "Period"],
        ...questions.flatMap((each) => [`Try this question: ${each}`, `Read the conversation: ${each}`]),
      ],
    },
    {
      path: `/evaluation?bot=${bot}`,
      text: "Found at place 1",
      controls: ["Bot", "The last 2 runs", "Try: When is bread delivered?", "Try: Where can I park?"],
    },
    { path: "/keys", text: "bakery.example", controls: ["Embed"] },
    { path: "/visitors", text: "Token optional", controls: ["Language of your backend", "Copy the code"] },
    { path: `/answers?bot=${bot}`, text: "An owner of the workspace can add one.", controls: ["Bot"] },
    { path: `/moderation?bot=${bot}`, text: "Please call us.", controls: ["Bot"] },
    {
      path: "/overview",
      text: "Messages a day",
      controls: ["Show as a table", "Read the questions", "Read the bad ones"],
    },
    {
      path: `/conversations?bot=${bot}`,
      text: "Reviewed as bad",
      controls: [...FILTERS, "Export", "Remove all filters"],
    },
    {
      path: `/conversations/${sessionId}`,
      text: "Reviewed as bad",
      controls: ["Conversations", "1 passage of knowledge", "Technical details"],
    },
    { path: `/tools?bot=${bot}`, text: "look_up_order", controls: ["Bot"] },
    {
      path: `/playground?bot=${bot}`,
      text: "Read what was said here",
      controls: ["Bot", "Read what was said here with the passages, the tools and the duration of each answer."],
    },
    { path: "/canned-replies", text: "type / in the field to answer", controls: [] },
    { path: "/usage", text: "By month", controls: ["Download CSV", "Month"] },
    { path: "/emails", text: FORBIDDEN, controls: [] },
    { path: "/audit-log", text: FORBIDDEN, controls: [] },
  ];
}

/** Waits until the overview counts replies without a passage. */
async function waitForReplyCounts({ admin, system }: Service): Promise<void> {
  const countUngrounded = async () => {
    // A worker counts the replies every minute. The UPDATE makes the worker's next run due.
    await queryRows(
      system.databaseUrl,
      "UPDATE conversation.task_leases SET due_at = now() WHERE task = 'count_replies'",
    );
    const { days } = await admin.turns.getStatistics({ workspaceId: CONSOLE_WORKSPACE });
    return days.reduce((sum, { ungrounded }) => sum + ungrounded, 0);
  };
  await expect.poll(countUngrounded, { timeout: 90_000, interval: 500 }).toBeGreaterThan(0);
}

/** Reviews the only answer of a bot as bad. Returns the session's id. */
async function reviewAnswer({ admin }: Service, bot: string): Promise<string> {
  const workspaceId = CONSOLE_WORKSPACE;
  const { sessions } = await admin.sessions.listSessions({ workspaceId, botSlug: bot });
  const { id: sessionId = "" } = sessions[0] ?? {};
  const { turns } = await admin.turns.listTurns({ workspaceId, sessionId });
  const messageId = turns[0]?.turn?.messageId ?? 0n;
  await admin.sessions.reviewMessage({ workspaceId, sessionId, messageId, review: "bad" });
  return sessionId;
}

/** Returns a set that collects the status of every call that the page sends from now on. */
function recordStatuses({ tab }: ConsolePage): Set<number> {
  const statuses = new Set<number>();
  tab.on("response", (response) => {
    if (response.url().includes("/api/rpc/")) statuses.add(response.status());
  });
  return statuses;
}

/**
 * Returns the names of the screen's buttons, fields and links. Omits the links that are bot cards or conversation rows, and shortens
 * `Embed <bot>` to `Embed`.
 */
async function findControls({ tab }: ConsolePage): Promise<string[]> {
  const names = await tab
    .locator("main :is(a:not(.card, .row), button, input, select, textarea, summary):visible")
    .evaluateAll((elements) =>
      elements.map((element) => {
        const label = (element as HTMLInputElement).labels?.[0]?.textContent;
        return (element.ariaLabel ?? label ?? element.textContent ?? "").trim();
      }),
    );
  return [...new Set(names.map((name) => name.replace(/^Embed .*/, "Embed")))];
}
