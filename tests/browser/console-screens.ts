import { expect } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation, addQuestionsAndEvaluation } from "./console-bot.ts";
import type { ConsolePage } from "./console-page.ts";
import { eventually } from "./fixture.ts";
import type { Service } from "./service.ts";

export type ConsoleScreen = {
  path: string;
  heading: string;
  /** The link of the navigation that leads to this screen or to its list. Undefined for an address without a screen. */
  link?: string;
  /** A text of the loaded screen. */
  text: string;
};

/** Creates a bot with something on every screen. Returns all screens of the console. */
export async function addScreens(service: Service): Promise<ConsoleScreen[]> {
  const bot = await addBot(service);
  const visitorId = await addConversation(service, bot);
  const { sessions } = await service.admin.sessions.listSessions({ workspaceId: CONSOLE_WORKSPACE, botSlug: bot });
  const [session] = sessions;
  await addQuestionsAndEvaluation(service, bot);
  await service.admin.answers.addAnswer({
    workspaceId: CONSOLE_WORKSPACE,
    botSlug: bot,
    questions: ["Do you bake cakes to order?", "Can I order a cake?"],
    answer: "Yes, two days before.",
  });
  await service.admin.sites.putSite({ workspaceId: CONSOLE_WORKSPACE, botSlug: bot, url: `https://${bot}.example/` });
  await service.admin.emails.addRecipient({ workspaceId: CONSOLE_WORKSPACE, address: `${bot}@example.com` });
  const reply = { name: `Opening hours of ${bot}`, text: "We are here from **9 to 17**." };
  await service.admin.cannedReplies.addCannedReply({ workspaceId: CONSOLE_WORKSPACE, ...reply });
  const { endpoint } = await service.admin.webhooks.createEndpoint({
    workspaceId: CONSOLE_WORKSPACE,
    changes: { url: `https://${bot}.example/events` },
  });
  return [
    { path: "/overview", heading: "Overview", link: "Overview", text: "Messages a day" },
    { path: "/inbox", heading: "Inbox", link: "Inbox", text: "Visitors who wait for a person" },
    {
      path: `/inbox/${session?.id}`,
      heading: visitorId,
      link: "Inbox",
      text: "When is the delivery of bread",
    },
    { path: `/conversations?bot=${bot}`, heading: "Conversations", link: "Conversations", text: visitorId },
    {
      path: `/conversations/${session?.id}`,
      heading: visitorId,
      link: "Conversations",
      text: "When is the delivery of bread",
    },
    { path: "/canned-replies", heading: "Canned replies", link: "Canned replies", text: reply.name },
    {
      path: `/questions?bot=${bot}`,
      heading: "Unanswered questions",
      link: "Unanswered questions",
      text: "Where can I park?",
    },
    { path: "/bots", heading: "Bots", link: "Bots", text: "Bakery guide" },
    { path: `/bots/${bot}`, heading: "Bakery guide", link: "Bots", text: "What visitors read" },
    { path: `/knowledge?bot=${bot}&question=bread`, heading: "Knowledge", link: "Knowledge", text: `${bot}.example` },
    {
      path: `/knowledge/document?bot=${bot}&name=delivery.md`,
      heading: "delivery.md",
      link: "Knowledge",
      text: "We deliver bread every morning before seven.",
    },
    { path: `/answers?bot=${bot}`, heading: "Answers", link: "Answers", text: "Do you bake cakes to order?" },
    { path: `/moderation?bot=${bot}`, heading: "Moderation", link: "Moderation", text: "refund" },
    { path: `/tools?bot=${bot}`, heading: "Tools", link: "Tools", text: "look_up_order" },
    { path: `/playground?bot=${bot}`, heading: "Playground", link: "Playground", text: "Read what was said here" },
    { path: `/evaluation?bot=${bot}`, heading: "Evaluation", link: "Evaluation", text: "Found at place 1" },
    { path: "/keys", heading: "Keys", link: "Keys", text: "bakery.example" },
    { path: "/visitors", heading: "Visitors", link: "Visitors", text: "Token optional" },
    { path: "/webhooks", heading: "Webhooks", link: "Webhooks", text: `${bot}.example/events` },
    { path: `/webhooks/${endpoint?.id}`, heading: `${bot}.example/events`, link: "Webhooks", text: "All events" },
    { path: "/emails", heading: "E-mail", link: "E-mail", text: `${bot}@example.com` },
    { path: "/usage", heading: "Usage", link: "Usage", text: "By month" },
    { path: "/audit-log", heading: "Audit log", link: "Audit log", text: "Added the" },
    { path: "/no-such-page", heading: "Page not found", text: "It may be misspelt." },
    { path: "/bots/no-such-bot", heading: "Bot not found", link: "Bots", text: "no bot with the short name" },
    {
      path: "/conversations/00000000-0000-4000-8000-000000000000",
      heading: "Conversation",
      link: "Conversations",
      text: "This conversation no longer exists.",
    },
  ];
}

/** Opens a screen and waits until it is loaded. The user must be signed in. */
export async function openScreen(page: ConsolePage, { path, heading, text }: ConsoleScreen): Promise<void> {
  await page.goto(path);
  await page.heading(heading).waitFor();
  await page.tab.getByRole("main").getByText(text).first().waitFor();
  await eventually(() => page.tab.locator(".loading").count()).toBe(0);
  expect(page.problems, path).toEqual([]);
}
