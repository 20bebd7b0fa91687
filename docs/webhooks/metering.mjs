// Sends each reply as a CloudEvent to a metering system, such as OpenMeter. METERING_URL is the URL that takes events, METERING_TOKEN its token. The
// metering system counts an event of one source and id once.
import { env } from "node:process";
import { post, receive } from "./receive.mjs";

receive(async ({ id, type, timestamp, workspace_id, data }) => {
  if (type !== "message.completed") return;
  const { model, tokens_in, tokens_out, bot_slug } = data;
  const event = {
    specversion: "1.0",
    id,
    source: "parley",
    type: "message",
    subject: workspace_id,
    time: timestamp,
    datacontenttype: "application/json",
    data: { messages: 1, model, tokens_in, tokens_out, bot_slug },
  };
  const headers = {
    "content-type": "application/cloudevents+json",
    authorization: `Bearer ${env.METERING_TOKEN}`,
  };
  await post(env.METERING_URL, event, headers);
});
