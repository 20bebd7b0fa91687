// Adds each answered message to a CRM as a note. CRM_URL is the URL that takes notes, CRM_TOKEN its token. Needs a webhook with --include-content.
import { env } from "node:process";
import { post, receive } from "./receive.mjs";

receive(async ({ id, type, timestamp, data }) => {
  if (type !== "message.completed") return;
  const note = {
    // A CRM that knows this id ignores a note that it has.
    external_id: id,
    conversation: data.session_id,
    created_at: timestamp,
    text: `Visitor: ${data.message}\n\n${data.bot_slug}: ${data.reply}`,
  };
  await post(env.CRM_URL, note, { authorization: `Bearer ${env.CRM_TOKEN}` });
});
