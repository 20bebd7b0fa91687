import { randomUUID } from "node:crypto";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import type { Service } from "./service.ts";

/** Creates a bot with a document, a key, a moderation pattern and a tool. Returns its slug. */
export async function addBot({ admin }: Service, name = "Bakery guide"): Promise<string> {
  const [workspaceId, slug] = [CONSOLE_WORKSPACE, `bakery-${randomUUID().slice(0, 8)}`];
  const { bots, knowledge, keys, moderation, tools } = admin;
  await bots.createBot({
    workspaceId,
    slug,
    changes: {
      model: "openai:default",
      name,
      welcomeMessage: "Hello! Ask me about our bread and cakes.",
      systemPrompt: "You answer questions about a bakery, briefly and kindly.",
      primaryColor: "#b4541a",
      quickReplies: { values: ["When do you open?", "Do you bake without gluten?"] },
    },
  });
  const content = Buffer.from("# Delivery\n\nWe deliver bread every morning before seven.");
  await knowledge.addSource({ workspaceId, botSlug: slug, name: "delivery.md", format: "md", content });
  await keys.createKey({ workspaceId, botSlug: slug, domains: ["bakery.example"] });
  await moderation.addPattern({ workspaceId, botSlug: slug, pattern: "refund", fallback: "Please call us." });
  const orderLookup = {
    description: "Returns the state of an order.",
    method: "GET",
    url: "https://bakery.example/orders",
    parameters: '{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}',
  };
  await tools.putTool({
    workspaceId,
    botSlug: slug,
    tool: { name: "look_up_order", kind: { case: "http", value: orderLookup } },
  });
  return slug;
}

type Question = { message?: string; rating?: "up" | "down"; visitorId?: string; consentVersion?: string };

/** Sends a visitor's question with a new key of the bot, and rates the answer. Returns the visitor's id. */
export async function addConversation(
  { admin, url }: Service,
  botSlug: string,
  {
    message = "When is the delivery of bread in the morning?",
    rating = "up",
    visitorId = `visitor-${randomUUID().slice(0, 8)}`,
    consentVersion,
  }: Question = {},
): Promise<string> {
  const host = "bakery.example";
  const { key } = await admin.keys.createKey({ workspaceId: CONSOLE_WORKSPACE, botSlug, domains: [host] });
  const visitor = { public_key: key?.publicKey, session_id: randomUUID() };
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", origin: `https://${host}`, referer: `https://${host}/bread` },
      body: JSON.stringify(body),
    });
  const reply = await post("/api/chat/", {
    ...visitor,
    message,
    visitor_id: visitorId,
    visitor_metadata: { plan: "regular" },
    consent_version: consentVersion,
  });
  const [, messageId] = /"message_id":(\d+)/.exec(await reply.text()) ?? [];
  const rated = await post("/api/chat/rating/", { ...visitor, message_id: Number(messageId), rating });
  if (!rated.ok) throw new Error(`the rating was refused: ${rated.status}`);
  return visitorId;
}

/** Sends questions for which the bot finds no passage. Adds an evaluation with two cases and runs it twice. */
export async function addQuestionsAndEvaluation(service: Service, botSlug: string): Promise<void> {
  await addConversation(service, botSlug, { message: "Do you sell gift vouchers?", rating: "down" });
  await addConversation(service, botSlug, { message: "gift vouchers, do you sell them?" });
  await addConversation(service, botSlug, { message: "Where can I park?" });
  const { evaluations } = service.admin;
  const bot = { workspaceId: CONSOLE_WORKSPACE, botSlug };
  await evaluations.addCase({ ...bot, question: "When is bread delivered?", document: "delivery.md" });
  await evaluations.addCase({ ...bot, question: "Where can I park?", document: "delivery.md" });
  for (let runs = 0; runs < 2; runs++) await evaluations.runEvaluation(bot);
}
