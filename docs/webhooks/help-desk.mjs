// Connects a help desk: a visitor who asks for a person becomes a ticket, and what agents answer in the ticket reaches the visitor. A message that a
// visitor left because nobody was there becomes a ticket that agents answer by e-mail to `reply_to`.
//
// DESK_URL takes what happens in a conversation, DESK_TOKEN its token. The desk posts what agents do to DESK_PORT, with DESK_SECRET: an answer
// {conversation, id, agent: {id, name}, text}, or {conversation, closed: true}, or {conversation, closed: true, contact_id} for a message that was left.
// PARLEY_URL is the edge, PARLEY_TOKEN an access token with the role owner. Needs a webhook with --include-content and
// --types handoff.requested,handoff.message,handoff.resolved,handoff.contact.
import { createServer } from "node:http";
import { env } from "node:process";
import { post, receive } from "./receive.mjs";

const NOTES = {
  "handoff.requested": ({ reason }) => `The visitor waits for a person (${reason}).`,
  "handoff.message": ({ message = "" }) => message,
  "handoff.contact": ({ message = "" }) => message,
  "handoff.resolved": ({ reason }) =>
    reason === "resolved" ? "Closed." : `Nobody came or wrote (${reason}). The bot answers again.`,
};

// From Parley to the desk.
receive(async ({ id, type, data }) => {
  const note = NOTES[type];
  if (note === undefined) return;
  // A desk that knows this id ignores a note that it has.
  const { session_id: conversation, email: reply_to, contact_id } = data;
  const entry = { external_id: id, conversation, type, text: note(data), reply_to, contact_id };
  await post(env.DESK_URL, entry, { authorization: `Bearer ${env.DESK_TOKEN}` });
});

/** Calls the owner API. Returns the status, and throws if the desk must send the answer again. */
async function callParley(conversation, path, body) {
  const response = await fetch(`${env.PARLEY_URL}/api/conversations/${conversation}/${path}/`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${env.PARLEY_TOKEN}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  if (response.status === 429 || response.status >= 500) throw new Error(`Parley answered ${response.status}`);
  return response.status;
}

// From the desk to Parley. `id` is a UUID of the answer, so that an answer that the desk sends twice reaches the visitor once.
async function handleDesk({ conversation, id, agent, text, closed, contact_id }) {
  if (closed && contact_id) return callParley(conversation, "handoff", { action: "contact_done", contact_id });
  if (closed) return callParley(conversation, "handoff", { action: "resolve" });
  const answer = { text, agent, request_id: id };
  const status = await callParley(conversation, "messages", answer);
  if (status !== 409) return status;
  // The first answer of an agent takes the conversation over from the bot, or from another agent of the ticket.
  await callParley(conversation, "handoff", { action: "assign", agent });
  return callParley(conversation, "messages", answer);
}

createServer(async (request, response) => {
  if (request.headers.authorization !== `Bearer ${env.DESK_SECRET}`) return response.writeHead(401).end();
  try {
    const body = Buffer.concat(await request.toArray()).toString();
    response.writeHead(await handleDesk(JSON.parse(body))).end();
  } catch (error) {
    response.writeHead(502).end(error.message);
  }
}).listen(env.DESK_PORT ?? 3001);
