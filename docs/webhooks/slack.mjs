// Writes a message to a Slack channel when a visitor rates a reply down, or a message is blocked. SLACK_URL is the URL of an incoming webhook of Slack.
import { env } from "node:process";
import { post, receive } from "./receive.mjs";

receive(async ({ type, data }) => {
  if (type === "message.rated" && data.rating === "down")
    await post(env.SLACK_URL, {
      text: `A reply of ${data.bot_slug} was rated down: session ${data.session_id}`,
    });
  if (type === "message.blocked")
    await post(env.SLACK_URL, { text: `${data.bot_slug} blocked a message (${data.reason})` });
});
